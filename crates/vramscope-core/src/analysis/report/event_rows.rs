//! The recorded events as rows of a list that can be read in windows, and searches from one event to the next.
//!
//! A row has the action, the bytes, the allocation and its call site, and the changes of active and reserved memory.
//! Rows are built on demand, so a million of them are never in memory.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::recording::Device;
use crate::analysis::time::history::History;
use crate::bitset::BitSet;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, NO_TIME};

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventRow {
    /// Index of the event in its device's trace, from 0. The moment after it is `number + 1`.
    pub number: u32,
    /// What happened.
    pub action: Action,
    /// The action's word in the file.
    pub word: String,
    /// Microseconds since the device's first event with a time; `None` if the event has no time.
    pub since_start_us: Option<i64>,
    /// The event's size in bytes, whose meaning depends on the action.
    pub bytes: u64,
    /// The event's address; `None` for a failed request and for `snapshot`.
    pub address: Option<u64>,
    /// For a failed request, the bytes that CUDA reported free; else `None`.
    pub device_free_bytes: Option<u64>,
    /// The allocation of the event, if any.
    pub allocation: Option<AllocationId>,
    /// The name of the allocation, `b<hex address>_<version>`; empty without one.
    pub name: String,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The call site of the event's stack.
    pub site: CallSiteId,
    /// Change of active bytes by the event.
    pub active_change_bytes: i64,
    /// Change of reserved bytes by the event; `None` if the file does not record them.
    pub reserved_change_bytes: Option<i64>,
}

impl EventRow {
    /// The meaning of such an event, in a few words; empty if the action is clear enough.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        match self.action {
            Action::Alloc => "a block was handed out",
            Action::FreeRequested => "the program gave it up; other streams may still use it",
            Action::FreeCompleted => "the block is free",
            Action::SegmentAlloc => "memory came from the device",
            Action::SegmentFree => "memory went back to the device",
            Action::SegmentMap => "an expandable segment grew",
            Action::SegmentUnmap => "an expandable segment shrank",
            Action::Snapshot => "a snapshot was taken",
            Action::Oom => "a request failed",
            _ => "",
        }
    }
}

/// The rows of a range of events, cut at the end of the trace.
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
        device_free_bytes: event.device_free_bytes(),
        allocation,
        name: name.unwrap_or_default(),
        stream: snapshot.contexts.get(event.context).stream,
        site: device.call_sites().of_stack(event.stack),
        active_change_bytes: change(before.unwrap_or(0), after.unwrap_or(0)),
        reserved_change_bytes: device.is_reserved_known().then(|| {
            let after = history.reserved_bytes(number + 1);
            change(history.reserved_bytes(number), after)
        }),
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

/// The direction of a search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the end of the recording.
    Forward,
    /// Towards the beginning of the recording.
    Back,
}

/// The goal of a search.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// An event of this allocation.
    Allocation(AllocationId),
    /// An event of any of these allocations.
    Matches(&'a BitSet),
    /// An event that changes reserved memory.
    Segments,
    /// A failed request.
    Oom,
}

/// Searches for the next or previous event from `moment`, not counting the event before it, and returns the moment
/// after the event found. Visits every event on the way.
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
        Wanted::Segments => action().maps().is_some(),
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
        assert_eq!(changes, [2048, 0, 0, 0, 0, -2048].map(Some));
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
