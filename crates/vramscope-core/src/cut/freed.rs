//! A snapshot without what came and went: `filter_alloc_free_pairs` of torch (FORMAT.md 4.8), mended.
//!
//! What stays is what explains the memory at the end: allocations that outlive the recording, those from before it
//! with their frees, and everything that is neither. torch's filter also takes away the completion of every free
//! whose alloc it does not know, and the alloc of what is still pending free at the end; so what had
//! ended lives on, and what was made seems to be older than the recording. Here an allocation's events stay
//! or go together, by the pairing that everything else works with.

use crate::Snapshot;
use crate::analysis::history::{History, NEVER};
use crate::ids::EventId;
use crate::model::EventTable;

/// `snapshot` without the events of allocations that both began and ended while it was recorded. All else,
/// the final state too, is the same.
#[must_use]
pub fn without_freed(snapshot: &Snapshot) -> Snapshot {
    let mut events = EventTable {
        other_actions: snapshot.events.other_actions.clone(),
        ..EventTable::default()
    };
    let mut traces = Vec::with_capacity(snapshot.traces.len());
    for (device, rows) in (0..).zip(&snapshot.traces) {
        let first = events.len() as u32;
        if !rows.is_empty() {
            let history = History::of(snapshot, device);
            let kept = (0..history.event_count).filter(|&place| !is_of_freed(&history, place));
            kept.for_each(|place| events.push(snapshot.events.get(EventId(rows.start + place))));
        }
        traces.push(first..events.len() as u32);
    }
    let first = events.len() as u32;
    let host = snapshot.host_trace.clone();
    host.for_each(|row| events.push(snapshot.events.get(EventId(row))));
    let host_trace = first..events.len() as u32;
    Snapshot {
        events,
        traces,
        host_trace,
        ..snapshot.clone()
    }
}

/// Whether an event, counted from the device's first, is about an allocation that both began and ended
/// while it was recorded.
#[must_use]
pub fn is_of_freed(history: &History, event: u32) -> bool {
    let row = history.allocation_of_event.get(event as usize);
    row.is_some_and(|&row| {
        let died = history.allocations.died.get(row as usize);
        row >= history.before_recording && died.is_some_and(|&died| died != NEVER)
    })
}
