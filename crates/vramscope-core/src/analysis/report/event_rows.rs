//! The recorded events as rows of a list, a window at a time, and ways from one event to another.
//!
//! A row is what stands in one line: what happened, to how many bytes of which allocation, by whose code,
//! and how active and reserved memory changed. Rows are gathered when they are looked at; a million of them
//! are never held at once.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;
use crate::bitset::BitSet;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, NO_TIME};

/// One event in one line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventRow {
    /// Its number in its device's trace, from 0; the moment after it is one more.
    pub number: u32,
    /// What happened.
    pub action: Action,
    /// The same as the file has it.
    pub word: String,
    /// Microseconds since the first event with a time on this device.
    pub since_start_us: Option<i64>,
    /// Bytes; what they count depends on the action.
    pub bytes: u64,
    /// The address it is about; `None` for a failed allocation and a snapshot, which are about none.
    pub address: Option<u64>,
    /// Bytes that CUDA reported free, for a failed allocation.
    pub device_free_bytes: Option<u64>,
    /// The allocation it is about.
    pub allocation: Option<AllocationId>,
    /// That allocation's name, `b<hex address>_<version>`; else empty.
    pub name: String,
    /// The `cudaStream_t` as a number.
    pub stream: i64,
    /// Where in the code it was recorded.
    pub site: CallSiteId,
    /// By how much requested bytes of live allocations changed.
    pub active_change_bytes: i64,
    /// By how much bytes held from CUDA changed.
    pub reserved_change_bytes: i64,
}

/// The rows of the events `window`, as far as there are any.
#[must_use]
pub fn event_rows(device: Device<'_>, window: Range<u32>) -> Vec<EventRow> {
    let window = window.start..window.end.min(device.history.event_count);
    window.map(|number| row(device, number)).collect()
}

fn row(device: Device<'_>, number: u32) -> EventRow {
    let (snapshot, history) = (device.snapshot(), device.history);
    let id = EventId(history.first_event + number);
    let event = snapshot.events.get(id);
    let allocation = allocation_of(history, number);
    let name = allocation.map(|id| {
        let version = history.allocations.version[id.index()];
        format!("b{:x}_{version}", event.addr)
    });
    let is_placed = !matches!(event.action, Action::Oom | Action::Snapshot);
    let time_us = (event.time_us != NO_TIME).then_some(event.time_us);
    let active = |moment: u32| history.active_bytes.get(moment as usize).copied();
    let (before, after) = (active(number), active(number + 1));
    EventRow {
        number,
        action: event.action,
        word: snapshot.action_name(id).to_owned(),
        since_start_us: time_us.and_then(|time| device.since_start_us(time)),
        bytes: event.size,
        address: is_placed.then_some(event.addr),
        device_free_bytes: (event.action == Action::Oom).then_some(event.addr),
        allocation,
        name: name.unwrap_or_default(),
        stream: snapshot.contexts.get(event.context).stream,
        site: device.call_sites().of_stack(event.stack),
        active_change_bytes: change(before.unwrap_or(0), after.unwrap_or(0)),
        reserved_change_bytes: change(
            history.reserved_bytes(number),
            history.reserved_bytes(number + 1),
        ),
    }
}

fn allocation_of(history: &History, number: u32) -> Option<AllocationId> {
    let row = history.allocation_of_event.get(number as usize).copied()?;
    (row != u32::MAX).then_some(AllocationId(row))
}

fn change(before: u64, after: u64) -> i64 {
    let change = i128::from(after) - i128::from(before);
    change.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Which way to look for an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the end of the recording.
    Forward,
    /// Towards its beginning.
    Back,
}

/// What to look for among the events.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// An event about this allocation.
    Allocation(AllocationId),
    /// An event about any of these.
    Matches(&'a BitSet),
    /// A change of what is held from CUDA.
    Segments,
    /// A failed allocation.
    Oom,
}

/// The moment after the next (or the one before) such event: counted from `moment`, whose own event is left
/// out. Looks at every event on the way.
#[must_use]
pub fn find_event(
    device: Device<'_>,
    moment: u32,
    direction: Direction,
    wanted: Wanted<'_>,
) -> Option<u32> {
    let events = device.history.event_count;
    let moment = moment.min(events);
    let fits = |number: &u32| fits(device, *number, wanted);
    let found = match direction {
        Direction::Forward => (moment..events).find(fits),
        Direction::Back => (0..moment.saturating_sub(1)).rev().find(fits),
    };
    found.map(|number| number + 1)
}

fn fits(device: Device<'_>, number: u32, wanted: Wanted<'_>) -> bool {
    let history = device.history;
    let action = || device.snapshot().events.action[(history.first_event + number) as usize];
    let allocation = || history.allocation_of_event[number as usize];
    match wanted {
        Wanted::Allocation(id) => allocation() == id.0,
        Wanted::Matches(set) => set.contains(allocation() as usize),
        Wanted::Segments => matches!(
            action(),
            Action::SegmentAlloc | Action::SegmentFree | Action::SegmentMap | Action::SegmentUnmap
        ),
        Wanted::Oom => action() == Action::Oom,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 7, "time_us": 100},
        {"action": "alloc", "addr": 4096, "size": 600, "stream": 7, "time_us": 110,
         "frames": [{"name": "step", "filename": "train.py", "line": 9}]},
        {"action": "oom", "device_free": 99, "size": 4096, "stream": 7, "time_us": 120},
        {"action": "free_requested", "addr": 4096, "size": 600, "stream": 7},
        {"action": "free_completed", "addr": 4096, "size": 600, "stream": 7, "time_us": 150},
        {"action": "segment_free", "addr": 4096, "size": 2048, "stream": 7, "time_us": 160}]]}"#;

    fn read() -> Recording {
        Recording::of(decode(FILE.as_bytes()).unwrap())
    }

    #[test]
    fn a_window_of_rows() {
        let recording = read();
        let device = recording.device(0).unwrap();
        let rows = event_rows(device, 1..3);
        let [alloc, oom] = &rows[..] else {
            panic!("{rows:?}")
        };
        assert_eq!((alloc.number, alloc.word.as_str()), (1, "alloc"));
        assert_eq!((alloc.bytes, alloc.active_change_bytes), (600, 600));
        assert_eq!(alloc.name, "b1000_0");
        assert_eq!(alloc.since_start_us, Some(10));
        let site = recording.call_sites().get(alloc.site);
        assert_eq!(site.label, "train.py:9 step");
        assert_eq!((oom.address, oom.device_free_bytes), (None, Some(99)));
        let all = event_rows(device, 0..u32::MAX);
        assert_eq!(all.len(), 6);
        assert_eq!(all[3].since_start_us, None);
        let changes: Vec<_> = all.iter().map(|row| row.reserved_change_bytes).collect();
        assert_eq!(changes, [2048, 0, 0, 0, 0, -2048]);
    }

    #[test]
    fn ways_between_events() {
        let recording = read();
        let device = recording.device(0).unwrap();
        let find = |moment, direction, wanted| find_event(device, moment, direction, wanted);
        let allocation = Wanted::Allocation(AllocationId(0));
        assert_eq!(find(0, Direction::Forward, allocation), Some(2));
        assert_eq!(find(2, Direction::Forward, allocation), Some(4));
        assert_eq!(find(5, Direction::Forward, allocation), None);
        assert_eq!(find(5, Direction::Back, allocation), Some(4));
        assert_eq!(find(2, Direction::Back, allocation), None);
        assert_eq!(find(0, Direction::Back, Wanted::Segments), None);
        assert_eq!(find(6, Direction::Back, Wanted::Segments), Some(1));
        assert_eq!(find(9, Direction::Back, Wanted::Oom), Some(3));
        let matches = BitSet::from_fn(1, |_| true);
        assert_eq!(
            find(4, Direction::Forward, Wanted::Matches(&matches)),
            Some(5)
        );
    }
}
