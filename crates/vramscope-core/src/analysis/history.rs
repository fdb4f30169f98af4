//! One device's memory over its recorded events: every allocation's life, and the total at every moment.

mod pairing;

use std::ops::Range;

use super::byte_steps::{bytes_at, most_bytes};
use crate::Snapshot;
use crate::ids::{AllocationId, BlockId, EventId, StackId};
use crate::model::{Action, DeviceIndex, NO_TIME};

/// The moment that never comes: a free that was not recorded.
pub const NEVER: u32 = u32::MAX;

/// Allocations as columns, in stacking order: those from before recording first, then by birth.
///
/// An allocation is live in the moments `born .. died`.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct AllocationTable {
    /// Start address.
    pub address: Vec<u64>,
    /// Requested bytes.
    pub bytes: Vec<u64>,
    /// First moment at which it is live; 0 = since before recording began.
    pub born: Vec<u32>,
    /// Moment from which it is pending free; [`NEVER`] = not, or not recorded.
    pub free_requested: Vec<u32>,
    /// First moment at which it is gone; [`NEVER`] = still live at the end.
    pub died: Vec<u32>,
    /// How many tenancies of the same address were completed before it.
    pub version: Vec<u32>,
}

impl AllocationTable {
    /// Number of allocations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the device never had any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// What did not fit together while pairing events: counted, for [`facts`](super::facts).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Mismatches {
    /// Allocs at an address where an allocation was still live; the older one ends there.
    pub alloc_at_live_address: u64,
    /// Allocations live at the end of the trace without an active block in the final state: events
    /// between copying the trace and walking the segments, or a damaged file.
    pub live_without_block: u64,
    /// Allocations whose requested size is not that of their block in the final state.
    pub block_size_differs: u64,
    /// Frees that had been requested before the recording began or whose request was not recorded.
    pub completed_without_request: u64,
    /// Frees that were requested but never completed, and are not pending in the final state either:
    /// recorded with `free_completed` skipped. They end where they were requested.
    pub requested_without_completion: u64,
}

/// One device's recorded life.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// The device.
    pub device: DeviceIndex,
    /// Row of its first event in [`Snapshot::events`](crate::Snapshot); moment `m > 0` follows event row
    /// `first_event + m - 1`.
    pub first_event: u32,
    /// Number of recorded events; there is one moment more.
    pub event_count: u32,
    /// Every allocation.
    pub allocations: AllocationTable,
    /// How many of them, the first ones, are from before the recording.
    pub before_recording: u32,
    /// Event (counted from `first_event`) → the allocation it concerns, or `u32::MAX`.
    pub allocation_of_event: Vec<u32>,
    /// Moment → requested bytes of all live allocations, pending ones included. `event_count + 1` long.
    pub active_bytes: Vec<u64>,
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// Moment → microseconds since the Unix epoch at which it begins, non-decreasing; moment 0 begins
    /// with moment 1. Empty when the trace has no times.
    pub moment_start_us: Vec<i64>,
    /// The final state's blocks by allocation, for those that were live at the end; ascending.
    pub final_blocks: Vec<(AllocationId, BlockId)>,
    /// The first moment of the highest `active_bytes`.
    pub peak_moment: u32,
    /// What did not fit together.
    pub mismatches: Mismatches,
}

impl History {
    /// The life of one device's memory; empty columns and one moment for a device without events.
    #[must_use]
    pub fn of(snapshot: &Snapshot, device: DeviceIndex) -> Self {
        let rows = snapshot.trace(device);
        let mut history = pairing::pair(snapshot, device, rows.clone());
        history.active_bytes = totals(&history.allocations, history.event_count);
        history.peak_moment = first_highest(&history.active_bytes);
        history.reserved_steps = reserved_steps(snapshot, device, rows.clone());
        history.moment_start_us = moment_starts(snapshot, rows);
        history
    }

    /// Requested bytes of all live allocations at a moment; 0 beyond the last one.
    #[must_use]
    pub fn active_bytes_at(&self, moment: u32) -> u64 {
        self.active_bytes.get(moment as usize).copied().unwrap_or(0)
    }

    /// Bytes of all segments at a moment.
    #[must_use]
    pub fn reserved_bytes(&self, moment: u32) -> u64 {
        bytes_at(&self.reserved_steps, moment)
    }

    /// The most bytes that all segments had; 0 where nothing is known of them.
    #[must_use]
    pub fn most_reserved_bytes(&self) -> u64 {
        most_bytes(&self.reserved_steps)
    }

    /// Whether an allocation is live at a moment.
    #[must_use]
    pub fn is_live(&self, id: AllocationId, moment: u32) -> bool {
        let row = id.index();
        self.allocations.born[row] <= moment && moment < self.allocations.died[row]
    }

    /// The event that created an allocation; `None` if it is older than the recording.
    #[must_use]
    pub fn alloc_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.born[id.index()])
    }

    /// The event by which the program freed an allocation, if it was recorded.
    #[must_use]
    pub fn free_requested_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.free_requested[id.index()])
    }

    /// The event that ended an allocation, if it was recorded.
    #[must_use]
    pub fn free_completed_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.died[id.index()])
    }

    /// The block of the final state in which an allocation lives, if it is still live.
    #[must_use]
    pub fn final_block(&self, id: AllocationId) -> Option<BlockId> {
        let row = self
            .final_blocks
            .binary_search_by_key(&id, |&(allocation, _)| allocation)
            .ok()?;
        Some(self.final_blocks[row].1)
    }

    /// The stack that allocated: the alloc event's, else the block's, else the stack of the free
    /// (`is_of_free` in [`StackSource`]), which is all there is for an allocation from before the recording.
    #[must_use]
    pub fn stack(&self, snapshot: &Snapshot, id: AllocationId) -> (StackId, StackSource) {
        if let Some(event) = self.alloc_event(id) {
            return (snapshot.events.stack[event.index()], StackSource::Alloc);
        }
        if let Some(block) = self.final_block(id) {
            return (
                snapshot.blocks.stack(snapshot.blocks.get(block)),
                StackSource::Block,
            );
        }
        match self
            .free_requested_event(id)
            .or(self.free_completed_event(id))
        {
            Some(event) => (snapshot.events.stack[event.index()], StackSource::Free),
            None => (StackId::ABSENT, StackSource::Free),
        }
    }

    /// The event after which a moment begins.
    pub(super) fn event_before(&self, moment: u32) -> Option<EventId> {
        (1..=self.event_count)
            .contains(&moment)
            .then(|| EventId(self.first_event + moment - 1))
    }
}

/// Where the stack of an allocation was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSource {
    /// With its alloc event.
    Alloc,
    /// With its block in the final state; the alloc event was not recorded.
    Block,
    /// With the event that freed it; neither of the others was recorded.
    Free,
}

/// Live bytes at every moment, from births and deaths.
fn totals(allocations: &AllocationTable, event_count: u32) -> Vec<u64> {
    let moments = event_count as usize + 1;
    // Differences first, then their running sum, in place. Wrapping: a difference may be negative.
    let mut bytes = vec![0_u64; moments];
    for ((&born, &died), &size) in allocations
        .born
        .iter()
        .zip(&allocations.died)
        .zip(&allocations.bytes)
    {
        if let Some(total) = bytes.get_mut(born as usize) {
            *total = total.wrapping_add(size);
        }
        if let Some(total) = bytes.get_mut(died as usize) {
            *total = total.wrapping_sub(size);
        }
    }
    let mut total = 0_u64;
    for difference in &mut bytes {
        total = total.wrapping_add(*difference);
        *difference = total;
    }
    bytes
}

/// The first index of the largest value.
fn first_highest(values: &[u64]) -> u32 {
    let mut highest = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[highest] {
            highest = index;
        }
    }
    highest as u32
}

/// Bytes of all segments over time: the final state's sum with the recorded changes undone. Where the
/// changes do not lead to it (no segments in the file, a damaged one) the curve is lifted so that it
/// nowhere falls below zero.
fn reserved_steps(snapshot: &Snapshot, device: DeviceIndex, rows: Range<u32>) -> Vec<(u32, u64)> {
    let events = &snapshot.events;
    let mut steps: Vec<(u32, i128)> = vec![(0, 0)];
    let (mut net, mut lowest) = (0_i128, 0_i128);
    for (moment, row) in (1..).zip(rows) {
        let size = i128::from(events.size[row as usize]);
        net += match events.action[row as usize] {
            Action::SegmentAlloc | Action::SegmentMap => size,
            Action::SegmentFree | Action::SegmentUnmap => -size,
            _ => continue,
        };
        lowest = lowest.min(net);
        steps.push((moment, net));
    }
    let own = snapshot
        .segments
        .rows
        .iter()
        .filter(|segment| u32::try_from(segment.device) == Ok(device));
    let end: i128 = own.map(|segment| i128::from(segment.total_size)).sum();
    let start = (end - net).max(-lowest);
    let absolute = |net: i128| u64::try_from(start + net).unwrap_or(u64::MAX);
    steps
        .into_iter()
        .map(|(moment, net)| (moment, absolute(net)))
        .collect()
}

/// When each moment begins, made non-decreasing.
fn moment_starts(snapshot: &Snapshot, rows: Range<u32>) -> Vec<i64> {
    let times = snapshot
        .events
        .time_us
        .get(rows.start as usize..rows.end as usize)
        .unwrap_or(&[]);
    let Some(&first) = times.iter().find(|&&time| time != NO_TIME) else {
        return Vec::new();
    };
    let mut starts = Vec::with_capacity(times.len() + 1);
    starts.push(first);
    let mut latest = first;
    starts.extend(times.iter().map(|&time| {
        latest = latest.max(time);
        latest
    }));
    starts
}
