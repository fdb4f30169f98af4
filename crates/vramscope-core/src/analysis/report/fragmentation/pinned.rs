//! The allocations that keep segments which are mostly free.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::FreeSums;
use crate::analysis::groups::grouping::GroupColumn;
use crate::analysis::memory::allocator_state::AllocatorState;
use crate::ids::AllocationId;
use crate::sorting::SortFew;

/// A segment with both free and active blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinnedSegment {
    /// Index into [`AllocatorState::segments`].
    pub segment: usize,
    /// Figures of its free memory.
    pub free: FreeSums,
    /// Number of allocations in it, at least 1.
    pub allocations: u64,
    /// The largest allocation.
    pub largest: AllocationId,
}

/// A group of allocations in pinned segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PinningGroup {
    /// Index into [`GroupColumn::labels`].
    pub group: u32,
    /// Stuck bytes of the segments with an allocation of the group. A segment shared by several groups counts fully for
    /// each.
    pub stuck_bytes: u64,
    /// Stuck bytes of the segments with no other group.
    pub alone_bytes: u64,
    /// Number of segments that contain an allocation of the group.
    pub segments: u64,
    /// Requested bytes of the group's allocations in these segments.
    pub held_bytes: u64,
    /// Number of the group's allocations in these segments.
    pub allocations: u64,
}

/// The segments of a state with stuck bytes, and the groups with allocations in them, both with the most stuck bytes
/// first. `only_mostly_free`: only segments that are at least half free.
#[must_use]
pub fn pinned(
    state: &AllocatorState,
    column: &GroupColumn,
    only_mostly_free: bool,
) -> (Vec<PinnedSegment>, Vec<PinningGroup>) {
    let mut segments = Vec::new();
    let mut groups: BTreeMap<u32, PinningGroup> = BTreeMap::new();
    for (row, segment) in state.segments.iter().enumerate() {
        let free = FreeSums::of(segment);
        let is_mostly_free = free.free_bytes >= segment.bytes / 2;
        if free.stuck_bytes() == 0 || (only_mostly_free && !is_mostly_free) {
            continue;
        }
        let mut here: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let (mut largest, mut allocations) = (None, 0);
        for block in &segment.blocks {
            let Some(id) = block.allocation else { continue };
            let group = column.of.get(id.index()).copied().unwrap_or(0);
            let held = here.entry(group).or_default();
            *held = (held.0.saturating_add(block.requested_bytes), held.1 + 1);
            allocations += 1;
            largest = largest.max(Some((block.requested_bytes, Reverse(id))));
        }
        let is_alone = here.len() == 1;
        for (&group, &(bytes, count)) in &here {
            let pinning = groups.entry(group).or_default();
            pinning.group = group;
            pinning.segments += 1;
            pinning.allocations += count;
            pinning.held_bytes = pinning.held_bytes.saturating_add(bytes);
            pinning.stuck_bytes = pinning.stuck_bytes.saturating_add(free.stuck_bytes());
            if is_alone {
                pinning.alone_bytes = pinning.alone_bytes.saturating_add(free.stuck_bytes());
            }
        }
        if let Some((_, Reverse(largest))) = largest {
            segments.push(PinnedSegment {
                segment: row,
                free,
                allocations,
                largest,
            });
        }
    }
    segments.sort_few_by_key(|pinned| Reverse(pinned.free.stuck_bytes()));
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_few_by_key(|group| Reverse((group.stuck_bytes, group.alone_bytes)));
    (segments, groups)
}
