//! Drops allocations that both began and ended during the recording: torch's `filter_alloc_free_pairs` (FORMAT.md 4.8)
//! without its mistakes.
//!
//! The rest explains the memory at the end: allocations that outlive the recording, frees of older allocations, and
//! all other events. torch's filter also drops the completion of every free whose alloc it does not know, so that such an
//! allocation seems to live on. And it drops the alloc of a block that is pending free at the end, which then seems older
//! than the recording. Here the events of an allocation stay or go together, by the pairing that all analyses use.

use crate::Snapshot;
use crate::analysis::time::history::{History, NEVER};
use crate::ids::EventId;
use crate::model::EventTable;

/// `snapshot` without the events of allocations that both began and ended during the recording. Everything else,
/// including the final state, is unchanged.
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

/// Whether an event, counted from the device's first, belongs to an allocation that both began and ended
/// during the recording.
#[must_use]
pub fn is_of_freed(history: &History, event: u32) -> bool {
    let row = history.allocation_of_event.get(event as usize);
    row.is_some_and(|&row| {
        let died = history.allocations.died.get(row as usize);
        row >= history.before_recording && died.is_some_and(|&died| died != NEVER)
    })
}
