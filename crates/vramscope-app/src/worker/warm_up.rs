//! Work on a tiny snapshot while a worker waits for its file.
//!
//! Browsers first run a module with code that was compiled in a hurry. They compile a function well only after it has
//! run for a while, which is longer than reading and drawing a small file takes. So the spare worker reads and draws a
//! tiny snapshot over and over for a short time. The compiled code serves all workers with the same module. In the end it
//! opens that snapshot, so that the page can warm up too.

use std::ops::ControlFlow;

use vramscope_core::Snapshot;
use vramscope_core::open::{Options, decode_pickle};

use super::answer;
use super::document::Document;
use super::opened;
use super::painter::Painter;
use crate::protocol::{Axis, DrawRequest, HitOf, Look, Opened, Viewport};

/// A snapshot of a few dozen events with stacks, as torch 2.10 writes them.
pub(super) const SNAPSHOT: &[u8] =
    include_bytes!("../../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

/// Duration of the whole work, in ms.
const DURATION_MS: f64 = 300.0;
/// Snapshots read per picture drawn, so that both take about the same time.
const READS: u32 = 20;
/// How often the events of the snapshot that is drawn are doubled. A function of which one call goes through all events
/// is only ever run as it was compiled before that call. So it must have seen many events by then.
const DOUBLINGS: u32 = 5;

/// The work that is left.
pub(super) struct WarmUp {
    end_ms: f64,
    painter: Painter,
}

impl WarmUp {
    pub(super) fn new(now_ms: f64) -> Self {
        Self {
            end_ms: now_ms + DURATION_MS,
            painter: Painter::default(),
        }
    }

    /// Works for a few ms. Ends with the snapshot and the facts about it once the time is over.
    pub(super) fn round(mut self, now_ms: f64) -> ControlFlow<Option<(Document, Opened)>, Self> {
        let drawn = self.read_and_draw();
        if drawn.is_some() && now_ms < self.end_ms {
            return ControlFlow::Continue(self);
        }
        ControlFlow::Break(drawn.and_then(|()| read()).map(opened_document))
    }

    fn read_and_draw(&mut self) -> Option<()> {
        for _ in 1..READS {
            read()?;
        }
        let (document, _) = opened_document(long(read()?));
        document.prepare();
        for axis in [Axis::Events, Axis::Time] {
            let first = document.devices().next()?;
            let viewport = Viewport::fit_all(&first.bounds(axis), 1_024, 256);
            let look = Look {
                device: first.history.device,
                axis,
                ..Look::default()
            };
            let draw = DrawRequest { look, viewport };
            self.painter.draw(&document, &draw)?;
            let at_px = (9.0, 255.0);
            answer::hit(&document, &mut self.painter, &HitOf { draw, at_px });
        }
        Some(())
    }
}

fn read() -> Option<Snapshot> {
    decode_pickle(SNAPSHOT, Options::default()).ok()
}

fn opened_document(snapshot: Snapshot) -> (Document, Opened) {
    let document = Document::new(snapshot);
    let opened = opened::opened(&document, "", 0, 0.0);
    (document, opened)
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
    fn it_works_and_ends() {
        let ControlFlow::Continue(warm_up) = WarmUp::new(0.0).round(0.0) else {
            panic!("it ends at once");
        };
        let ended = warm_up.round(DURATION_MS);
        assert!(matches!(ended, ControlFlow::Break(Some(_))));
    }
}
