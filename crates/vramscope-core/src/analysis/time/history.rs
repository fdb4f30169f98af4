//! The memory of one device over its recorded events: the life of every allocation, and the total at every moment.

mod pairing;

use std::ops::Range;

use super::byte_steps::{Life, bytes_at, live_bytes, most_bytes};
use super::moment_times::MomentTimes;
use crate::Snapshot;
use crate::ids::{AllocationId, BlockId, EventId, StackId};
use crate::known_ranges::KnownRanges;
use crate::model::DeviceIndex;

/// Stands for the moment of a free that was not recorded.
pub const NEVER: u32 = u32::MAX;

/// Allocations as columns, in stacking order: those older than the recording first, then the others by birth.
///
/// An allocation is live in the moments `born .. died`.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct AllocationTable {
    /// Start address.
    pub address: Vec<u64>,
    /// Requested bytes.
    pub bytes: Vec<u64>,
    /// First moment at which it is live; 0 = since before the recording.
    pub born: Vec<u32>,
    /// First moment at which its free is pending; [`NEVER`] = never, or not recorded.
    pub free_requested: Vec<u32>,
    /// First moment at which it is no longer live; [`NEVER`] = live at the end.
    pub died: Vec<u32>,
    /// Number of earlier allocations at the same address.
    pub version: Vec<u32>,
}

impl AllocationTable {
    /// Number of allocations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no allocations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn life(&self, row: usize) -> Life {
        (self.born[row], self.died[row], self.bytes[row])
    }

    pub(crate) fn lives(&self) -> impl Iterator<Item = Life> + Clone {
        (0..self.len()).map(|row| self.life(row))
    }

    /// Number and requested bytes of allocations from before the recording.
    #[must_use]
    pub fn before_recording(&self) -> (u64, u64) {
        let rows = self.born.iter().zip(&self.bytes);
        let before = rows.filter(|&(&born, _)| born == 0);
        before.fold((0, 0), |(count, sum), (_, &bytes)| {
            (count + 1, u64::saturating_add(sum, bytes))
        })
    }
}

/// Counts of inconsistencies found while pairing events, for [`facts`](crate::analysis::report::facts).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Mismatches {
    /// Allocs at an address whose allocation was still live; the older allocation ends there.
    pub alloc_at_live_address: u64,
    /// Allocations live at the end of the trace without an active block in the final state. Causes are events
    /// between copying the trace and walking the segments, and damaged files.
    pub live_without_block: u64,
    /// Allocations whose requested size differs from their block's in the final state.
    pub block_size_differs: u64,
    /// Completed frees without a recorded request, for example because it was made before the recording.
    pub completed_without_request: u64,
    /// Frees that were requested but never completed, because `free_completed` was not recorded, and that are not
    /// pending in the final state. They count as completed when requested.
    pub requested_without_completion: u64,
}

/// The recorded history of one device.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// The device.
    pub device: DeviceIndex,
    /// Row of its first event in [`Snapshot::events`](crate::Snapshot). Moment `m > 0` follows event row
    /// `first_event + m - 1`.
    pub first_event: u32,
    /// Number of recorded events. There is one more moment than events.
    pub event_count: u32,
    /// All allocations.
    pub allocations: AllocationTable,
    /// Number of allocations older than the recording; they are the first rows.
    pub before_recording: u32,
    /// By event, counted from `first_event`: the row of its allocation, or `u32::MAX`.
    pub allocation_of_event: Vec<u32>,
    /// By moment: requested bytes of all live allocations, pending frees included; saturating. `event_count + 1` long.
    pub active_bytes: Vec<u64>,
    /// Bytes of all segments as steps of (first moment, bytes from then on), ascending; the first is at moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// By moment: the time at which it begins.
    pub moment_start_us: MomentTimes,
    /// The final state's blocks for allocations live at the end, sorted by allocation.
    pub final_blocks: Vec<(AllocationId, BlockId)>,
    /// The first moment of the highest `active_bytes`.
    pub peak_moment: u32,
    /// Inconsistencies found while pairing events.
    pub mismatches: Mismatches,
}

/// Whether reserved memory was recorded. Live memory lies in segments, so no reserved bytes beside live bytes means
/// that segments were not recorded.
#[must_use]
pub fn is_reserved_known(most_reserved_bytes: u64, peak_live_bytes: u64) -> bool {
    most_reserved_bytes > 0 || peak_live_bytes == 0
}

impl History {
    /// The history of one device. A device without events has empty columns and one moment.
    #[must_use]
    pub fn of(snapshot: &Snapshot, device: DeviceIndex) -> Self {
        let rows = snapshot.trace(device);
        let mut history = pairing::pair(snapshot, device, rows.clone());
        let moments = history.event_count as usize + 1;
        history.active_bytes = live_bytes(history.allocations.lives(), moments);
        history.peak_moment = first_highest(&history.active_bytes);
        history.reserved_steps = reserved_steps(snapshot, device, rows.clone());
        history.moment_start_us = MomentTimes::of(&snapshot.events.time_us, rows);
        history
    }

    /// Whether the file has more than the final state. A trace with a single event was recorded with `enabled="state"`.
    #[must_use]
    pub fn has_trace(&self) -> bool {
        self.event_count > 1
    }

    /// Requested bytes of all live allocations at a moment; 0 beyond the last one.
    #[must_use]
    pub fn active_bytes_at(&self, moment: u32) -> u64 {
        self.active_bytes.get(moment as usize).copied().unwrap_or(0)
    }

    /// Requested bytes of all live allocations at the peak.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.active_bytes_at(self.peak_moment)
    }

    /// Bytes of all segments at a moment.
    #[must_use]
    pub fn reserved_bytes(&self, moment: u32) -> u64 {
        bytes_at(&self.reserved_steps, moment)
    }

    /// Peak of the bytes of all segments; 0 if the file has no segments.
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

    /// The event that completed the free of an allocation, if it was recorded.
    #[must_use]
    pub fn free_completed_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.died[id.index()])
    }

    /// The block of an allocation in the final state, if it is still live.
    #[must_use]
    pub fn final_block(&self, id: AllocationId) -> Option<BlockId> {
        let row = self
            .final_blocks
            .binary_search_by_key(&id, |&(allocation, _)| allocation)
            .ok()?;
        Some(self.final_blocks[row].1)
    }

    /// The stack of an allocation, from its alloc event, else its block, else its free. An allocation older than the
    /// recording often has only a stack of its free.
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

    /// The event after which a moment begins; `None` for moment 0, and beyond the last.
    #[must_use]
    pub fn event_before(&self, moment: u32) -> Option<EventId> {
        (1..=self.event_count)
            .contains(&moment)
            .then(|| EventId(self.first_event + moment - 1))
    }
}

/// The record that gave an allocation its stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSource {
    /// Its alloc event.
    Alloc,
    /// Its block in the final state; the alloc event was not recorded.
    Block,
    /// The event that freed it; the others were not recorded.
    Free,
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

/// Bytes of all segments over time: the final state's sum with the recorded changes undone. If the changes contradict
/// the final state (the file has no segments, or is damaged), the curve is raised so that it never falls below zero.
/// Memory that is allocated again while it is held, or freed again, counts once.
fn reserved_steps(snapshot: &Snapshot, device: DeviceIndex, rows: Range<u32>) -> Vec<(u32, u64)> {
    let events = &snapshot.events;
    let mut steps: Vec<(u32, i128)> = vec![(0, 0)];
    let mut known = KnownRanges::default();
    let (mut net, mut lowest) = (0_i128, 0_i128);
    for (moment, row) in (1..).zip(rows) {
        let Some(is_held) = events.action[row as usize].maps() else {
            continue;
        };
        let (address, bytes) = (events.addr[row as usize], events.size[row as usize]);
        let changed = i128::from(bytes - known.set(address, bytes, is_held));
        net += if is_held { changed } else { -changed };
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
