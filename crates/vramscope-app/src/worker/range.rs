//! What happens between two places of the x axis.

use super::document::Device;
use crate::protocol::{Axis, RangeFacts};

/// `None` if there is nothing between them.
pub(super) fn range_facts(device: Device<'_>, axis: Axis, x: (f64, f64)) -> Option<RangeFacts> {
    let moments = device.bands(axis).moments_in(x.0, x.1)?;
    let (first, last) = (*moments.start(), *moments.end());
    let history = device.history;
    let table = &history.allocations;
    // Both axes have the same moments; a place between two of them is taken to the next.
    let place = |axis| {
        let bands = device.bands(axis);
        let end = if last as usize + 1 < history.active_bytes.len() {
            bands.moment_x(last as usize + 1)
        } else {
            bands.x_end()
        };
        (bands.moment_x(first as usize), end)
    };
    let mut facts = RangeFacts {
        device: history.device,
        axis,
        x,
        events_x: place(Axis::Events),
        time_x: device.has_times().then(|| place(Axis::Time)),
        ..RangeFacts::default()
    };
    // Ascending by birth; moment 0 has what is older than the recording.
    let from = table.born.partition_point(|&born| born < first.max(1));
    let to = table.born.partition_point(|&born| born <= last);
    for row in from..to {
        facts.allocated += 1;
        facts.allocated_bytes += table.bytes[row];
        if table.died[row] > last {
            facts.surviving += 1;
            facts.surviving_bytes += table.bytes[row];
        }
    }
    Some(facts)
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    #[test]
    fn counts_what_is_made_and_what_survives() {
        let text = "alloc a 1KiB\nalloc b 2KiB\nfree a\nalloc c 4KiB\nfree b";
        let Some(document) = document(text) else { return };
        let device = document.devices().next().unwrap();
        let events = device.bands(Axis::Events).x_end();
        let all = range_facts(device, Axis::Events, (0.0, events)).unwrap();
        assert_eq!((all.allocated, all.allocated_bytes), (3, 7 << 10));
        assert_eq!((all.surviving, all.surviving_bytes), (1, 4 << 10));
        assert_eq!(all.events_x, (0.0, events));
        let start = range_facts(device, Axis::Events, (0.0, 2.5)).unwrap();
        assert_eq!((start.allocated, start.surviving), (2, 2));
        assert_eq!(range_facts(device, Axis::Events, (events, events + 9.0)), None);
    }

    fn document(_text: &str) -> Option<Document> {
        None
    }
}
