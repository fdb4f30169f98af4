//! Compares the replayed state after the last event with the final state in the file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AllocatorState, BlockUse};
use crate::Snapshot;
use crate::model::{BlockState, DeviceIndex};

/// The differences between the replayed and the listed final state; all 0 in an undamaged file. Events between copying
/// the trace and walking the segments cause a few, damaged files many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FinalCheck {
    /// Segments listed in the file, but not in the replayed state, by address and size.
    pub segments_missing: u64,
    /// Segments in the replayed state, but not listed.
    pub segments_extra: u64,
    /// Active blocks listed in the file, but not in the replayed state, by address, size and state.
    pub blocks_missing: u64,
    /// Active blocks in the replayed state, but not listed.
    pub blocks_extra: u64,
    /// Free blocks listed in the file, but not in the replayed state, by address and size.
    pub free_missing: u64,
    /// Free blocks in the replayed state, but not listed.
    pub free_extra: u64,
}

impl FinalCheck {
    /// Whether there are no differences.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares `last`, the state after the last event, with the final state in the file. Meaningless for a file without
/// segments.
pub(crate) fn check_final(
    snapshot: &Snapshot,
    device: DeviceIndex,
    last: &AllocatorState,
) -> FinalCheck {
    let device = i32::try_from(device).unwrap_or(i32::MIN);
    let mut segments = Difference::default();
    let mut blocks = Difference::default();
    let mut free = Difference::default();
    for (_, segment) in snapshot.segments.of_device(device) {
        segments.add((segment.address, segment.total_size), 1);
        // Free neighbours count as one block, as in the replayed state. The allocator merges them, so they occur only
        // in files written by hand.
        let mut hole: Option<(u64, u64)> = None;
        for id in segment.block_ids() {
            let block = snapshot.blocks.get(id);
            let is_pending = block.state == BlockState::ActivePendingFree;
            if block.state.is_active() {
                blocks.add((block.address, block.size, is_pending), 1);
            }
            match &mut hole {
                Some((_, bytes)) if !block.state.is_active() => {
                    *bytes = bytes.saturating_add(block.size);
                }
                _ => {
                    if let Some(hole) = hole.take() {
                        free.add(hole, 1);
                    }
                    hole = (!block.state.is_active()).then_some((block.address, block.size));
                }
            }
        }
        if let Some(hole) = hole {
            free.add(hole, 1);
        }
    }
    for segment in &last.segments {
        segments.add((segment.address, segment.bytes), -1);
        for block in &segment.blocks {
            let place = (block.address, block.bytes);
            match block.usage {
                BlockUse::Allocated => blocks.add((place.0, place.1, false), -1),
                BlockUse::PendingFree => blocks.add((place.0, place.1, true), -1),
                BlockUse::Free => free.add(place, -1),
            }
        }
    }
    let (segments, blocks, free) = (segments.counts(), blocks.counts(), free.counts());
    FinalCheck {
        segments_missing: segments.0,
        segments_extra: segments.1,
        blocks_missing: blocks.0,
        blocks_extra: blocks.1,
        free_missing: free.0,
        free_extra: free.1,
    }
}

/// For each key: how often it was listed minus how often it was replayed.
struct Difference<K>(BTreeMap<K, i64>);

impl<K> Default for Difference<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> Difference<K> {
    fn add(&mut self, key: K, count: i64) {
        *self.0.entry(key).or_default() += count;
    }

    /// The number of keys that were only listed, and only replayed.
    fn counts(self) -> (u64, u64) {
        let sum = |sign: i64| {
            self.0
                .values()
                .map(move |count| (count * sign).max(0) as u64)
        };
        (sum(1).sum(), sum(-1).sum())
    }
}
