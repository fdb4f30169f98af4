//! The allocations made between two places of the x axis.

use super::document::Document;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_protocol::{Axis, RangeFacts, RangeOf};

/// The facts of a range; `None` if it lies outside of the recording, or there is no such device.
pub(super) fn range_facts(document: &Document, asked: &RangeOf) -> Option<RangeFacts> {
    let RangeOf { device, axis, x } = *asked;
    let device = document.device(device)?;
    let moments = device.bands(axis).moments_in(x.0, x.1)?;
    let (first, last) = (*moments.start(), *moments.end());
    let history = device.history;
    let table = &history.allocations;
    // Both axes have the same moments, so the range is carried over by its first and last moment.
    let place = |axis| {
        let bands = device.bands(axis);
        (
            bands.moment_x(first as usize),
            bands.moment_x(last as usize + 1),
        )
    };
    let mut facts = RangeFacts {
        device: history.device,
        axis,
        x,
        moments: (first.max(1) - 1, last),
        events_x: place(Axis::Events),
        time_x: device.has_times().then(|| place(Axis::Time)),
        ..RangeFacts::default()
    };
    // Rows ascend by birth. Allocations from before the recording are born at moment 0.
    let from = table.born.partition_point(|&born| born < first.max(1));
    let to = table.born.partition_point(|&born| born <= last);
    for row in from..to {
        facts.allocated += 1;
        facts.allocated_bytes = facts.allocated_bytes.saturating_add(table.bytes[row]);
        if table.died[row] > last {
            facts.surviving += 1;
            facts.surviving_bytes = facts.surviving_bytes.saturating_add(table.bytes[row]);
        }
    }
    let moments = facts.moments;
    let lives = table.born.iter().zip(&table.died).zip(&table.bytes);
    let freed = lives.filter(|((born, died), _)| Selection::FreedIn(moments).holds(**born, **died));
    for (_, &bytes) in freed {
        facts.freed += 1;
        facts.freed_bytes = facts.freed_bytes.saturating_add(bytes);
    }
    Some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::recording::Recording;
    use vramscope_core::analysis::time::history::NEVER;

    const FIXTURE: &[u8] = include_bytes!("../../../tests/fixtures/synth/torch-2.10-py-p4.pickle");

    /// The facts of a range of the first device.
    fn of(document: &Document, axis: Axis, x: (f64, f64)) -> Option<RangeFacts> {
        let device = document.histories[0].device;
        range_facts(document, &RangeOf { device, axis, x })
    }

    #[test]
    fn sizes_beyond_all_memory_do_not_wrap() {
        let mut recording = Recording::by_peak(vramscope_core::decode(FIXTURE).unwrap());
        recording.histories[0]
            .allocations
            .bytes
            .fill(u64::MAX / 2 + 1);
        let document = Document::of(recording);
        let device = document.devices().next().unwrap();
        let end = device.bands(Axis::Events).x_end();
        let facts = of(&document, Axis::Events, (0.0, end)).unwrap();
        assert_eq!(facts.allocated_bytes, u64::MAX);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let document = Document::new(vramscope_core::decode(FIXTURE).unwrap());
        let device = document.devices().next().unwrap();
        for axis in [Axis::Events, Axis::Time] {
            let end = device.bands(axis).x_end();
            let whole = of(&document, axis, (0.0, end)).unwrap();
            let events = device.bands(Axis::Events).x_end();
            assert_eq!(whole.events_x, (0.0, events));
            let born = device
                .history
                .allocations
                .born
                .iter()
                .filter(|&&born| born > 0)
                .count();
            assert_eq!(whole.allocated as usize, born);
            assert!(
                whole.surviving <= whole.allocated
                    && whole.surviving_bytes <= whole.allocated_bytes
            );

            let lives = &device.history.allocations;
            let freed = lives.died.iter().filter(|&&died| died != NEVER).count();
            assert_eq!(whole.freed as usize, freed);

            let middle = device
                .bands(axis)
                .moment_x(device.history.active_bytes.len() / 2);
            let parts = [(0.0, middle), (middle, end)].map(|x| of(&document, axis, x).unwrap());
            assert_eq!(
                parts.iter().map(|part| part.allocated_bytes).sum::<u64>(),
                whole.allocated_bytes
            );
            assert_eq!(of(&document, axis, (end + 1.0, end + 2.0)), None);
        }
    }
}
