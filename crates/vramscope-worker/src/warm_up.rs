//! Work on a tiny snapshot while a worker waits for its file.
//!
//! Browsers first run a program with code that was compiled in a hurry. They compile a function well only after it has
//! run for a while, which is longer than it takes to read and draw a small file. So a worker that waits reads and draws a
//! tiny snapshot over and over, a few milliseconds at a time, until a request comes or its time is over. The compiled code serves all workers.

use vramscope_core::Snapshot;
use vramscope_core::open::{Options, decode_pickle};
use vramscope_protocol::{Axis, DrawRequest, Look, Viewport};

use super::document::Document;
use super::opened;
use super::painter::Painter;

/// A few dozen events with stacks, as torch 2.10 writes them.
const SNAPSHOT: &[u8] = include_bytes!("../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

/// Duration of the whole work, in ms.
pub(super) const DURATION_MS: f64 = 300.0;
/// Snapshots read for each picture drawn, so that both take about the same time.
const READS: u32 = 20;
/// How often the events of the snapshot that is drawn are doubled. A function of which one call goes through all events
/// only ever runs as it was compiled before that call, so it must have seen many events by then.
const DOUBLINGS: u32 = 5;

/// Reads and draws once, in a few ms; `None` if that fails.
pub(super) fn round(painter: &mut Painter) -> Option<()> {
    let read = || decode_pickle(SNAPSHOT, Options::default()).ok();
    for _ in 1..READS {
        read()?;
    }
    let document = Document::new(long(read()?));
    let _facts = opened::opened(&document, "", 0, 0.0);
    document.prepare();
    let first = document.devices().next()?;
    for axis in [Axis::Events, Axis::Time] {
        let viewport = Viewport::fit_all(&first.bounds(axis), 1_024, 256);
        let look = Look {
            device: first.history.device,
            axis,
            ..Look::default()
        };
        painter.draw(&document, &DrawRequest { look, viewport })?;
    }
    Some(())
}

/// A snapshot whose last device did the same over and over.
fn long(mut snapshot: Snapshot) -> Snapshot {
    let events = &mut snapshot.events;
    for _ in 0..DOUBLINGS {
        events.action.extend_from_within(..);
        events.addr.extend_from_within(..);
        events.size.extend_from_within(..);
        events.context.extend_from_within(..);
        events.stack.extend_from_within(..);
    }
    let len = events.len() as u32;
    events.time_us = (0..len).map(i64::from).collect();
    if let Some(last) = snapshot.traces.last_mut() {
        last.end = len;
    }
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_reads_and_draws() {
        assert!(round(&mut Painter::default()).is_some());
    }
}
