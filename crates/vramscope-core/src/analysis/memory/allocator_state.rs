//! The allocator at any moment: its segments with every block in address order, and what they sum up to.
//!
//! Which segments are mapped and which allocations live is [`replay`](crate::analysis::time::replay)'s answer; here the
//! allocations get their places in the segments, their blocks' sizes (`sizes`) and what is left between
//! them. Blocks are never cut or joined in a way that the recording does not say: what no block covers is
//! one free block, as the allocator joins free neighbours at once.
//!
//! [`state_at`](AllocatorIndex::state_at) answers for one moment; a [`Stepper`] walks from moment to moment
//! and rebuilds only the segments in which something happened.

mod check;
mod index;
mod kinds;
mod sizes;
mod stepper;

use serde::{Deserialize, Serialize};

pub use self::check::{FinalCheck, check_final};
pub use self::index::AllocatorIndex;
pub use self::index::displaced;
pub use self::kinds::{SegmentKind, segment_kinds};
pub use self::sizes::{BlockSizes, Rounding, SizeCheck, SizeSource};
pub use self::stepper::Stepper;
use super::capture::AllocatorKind;
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::analysis::time::replay::{MappedRange, Replay};
use crate::ids::{AllocationId, EventId, StackId};
use crate::model::{self, PoolId};

/// What a state is looked up in: one device's recording and what was prepared of it.
#[derive(Clone, Copy)]
pub struct Recording<'a> {
    /// The file.
    pub snapshot: &'a Snapshot,
    /// The device's history.
    pub history: &'a History,
    /// The same device's segments and live allocations.
    pub replay: &'a Replay,
}

/// What a piece of a segment is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    /// In use.
    Allocated,
    /// Freed by the program, but another stream may still be using it.
    PendingFree,
    /// Free, kept in the allocator's cache.
    Free,
}

/// A block at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacedBlock {
    /// Start address.
    pub address: u64,
    /// Bytes it takes up, rounding included; see [`BlockSizes`] for where that is known from.
    pub bytes: u64,
    /// Bytes the program asked for; 0 where free. Not more than `bytes`.
    pub requested_bytes: u64,
    /// What it is doing.
    pub usage: BlockUse,
    /// Whose it is; `None` where free.
    pub allocation: Option<AllocationId>,
}

impl PlacedBlock {
    /// Bytes lost to rounding.
    #[must_use]
    pub fn rounding_bytes(&self) -> u64 {
        match self.usage {
            BlockUse::Free => 0,
            _ => self.bytes.saturating_sub(self.requested_bytes),
        }
    }
}

/// Sums over segments. Reserved is active and free; active is allocated and pending, and it is requested
/// and rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StateSums {
    /// Bytes held from CUDA.
    pub reserved_bytes: u64,
    /// Bytes of blocks in use, rounding included.
    pub allocated_bytes: u64,
    /// Bytes of blocks whose free is pending, rounding included.
    pub pending_bytes: u64,
    /// Bytes that programs asked for in both.
    pub requested_bytes: u64,
    /// Bytes of blocks that are neither.
    pub free_bytes: u64,
    /// The largest of those: a request beyond it needs new memory from CUDA.
    pub largest_free_bytes: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of blocks in use.
    pub allocated_blocks: u64,
    /// Number of blocks whose free is pending.
    pub pending_blocks: u64,
    /// Number of free blocks.
    pub free_blocks: u64,
    /// Segments without any block in use or pending: `empty_cache()` would give them back.
    pub empty_segments: u64,
    /// Bytes of those.
    pub empty_bytes: u64,
}

impl StateSums {
    /// Bytes of blocks in use or pending free.
    #[must_use]
    pub fn active_bytes(&self) -> u64 {
        self.allocated_bytes.saturating_add(self.pending_bytes)
    }

    /// Bytes lost to rounding.
    #[must_use]
    pub fn rounding_bytes(&self) -> u64 {
        self.active_bytes().saturating_sub(self.requested_bytes)
    }

    /// Free bytes in segments that can not be given back, as a block in them is active.
    #[must_use]
    pub fn free_in_use_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.empty_bytes)
    }

    /// Adds the sums of other segments.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.reserved_bytes, other.reserved_bytes);
        add(&mut self.allocated_bytes, other.allocated_bytes);
        add(&mut self.pending_bytes, other.pending_bytes);
        add(&mut self.requested_bytes, other.requested_bytes);
        add(&mut self.free_bytes, other.free_bytes);
        add(&mut self.segments, other.segments);
        add(&mut self.allocated_blocks, other.allocated_blocks);
        add(&mut self.pending_blocks, other.pending_blocks);
        add(&mut self.free_blocks, other.free_blocks);
        add(&mut self.empty_segments, other.empty_segments);
        add(&mut self.empty_bytes, other.empty_bytes);
        self.largest_free_bytes = self.largest_free_bytes.max(other.largest_free_bytes);
    }

    /// The sums of one segment.
    fn of(bytes: u64, blocks: &[PlacedBlock]) -> Self {
        let mut sums = Self {
            reserved_bytes: bytes,
            segments: 1,
            ..Self::default()
        };
        for block in blocks {
            let (sum, count) = match block.usage {
                BlockUse::Allocated => (&mut sums.allocated_bytes, &mut sums.allocated_blocks),
                BlockUse::PendingFree => (&mut sums.pending_bytes, &mut sums.pending_blocks),
                BlockUse::Free => {
                    sums.largest_free_bytes = sums.largest_free_bytes.max(block.bytes);
                    (&mut sums.free_bytes, &mut sums.free_blocks)
                }
            };
            // The blocks of a segment tile it, so that nothing can overflow.
            *sum += block.bytes;
            *count += 1;
            sums.requested_bytes += block.requested_bytes;
        }
        if sums.allocated_blocks + sums.pending_blocks == 0 {
            sums.empty_segments = 1;
            sums.empty_bytes = bytes;
        }
        sums
    }
}

/// Which of the allocator's two pools of sizes a segment serves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeClass {
    /// Requests up to 1 MiB.
    Small,
    /// Everything else.
    Large,
}

impl SizeClass {
    /// What a file says of a segment; `None` where it says nothing, or something of its own.
    #[must_use]
    pub fn of_kind(kind: Option<model::SegmentKind>) -> Option<Self> {
        match kind {
            Some(model::SegmentKind::Small) => Some(Self::Small),
            Some(model::SegmentKind::Large) => Some(Self::Large),
            Some(model::SegmentKind::Other(_)) | None => None,
        }
    }

    /// `small`, `large`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// A segment with its blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentState {
    /// Start address.
    pub address: u64,
    /// Bytes held from CUDA.
    pub bytes: u64,
    /// The `cudaStream_t` as a number.
    pub stream: i64,
    /// The pool: the segment's own, else that of the final state's segment at this place, else the
    /// default one where the file knows no other.
    pub pool: Option<PoolId>,
    /// Whether it belongs to an expandable segment, which may grow, shrink and be cut.
    pub is_expandable: bool,
    /// Which requests it serves: as the file's final state says, else told by its size and blocks;
    /// `None` where they do not tell.
    pub size_class: Option<SizeClass>,
    /// The event that mapped its beginning; `None` if that is older than the recording.
    pub mapped_by: Option<EventId>,
    /// The stack that asked CUDA for it.
    pub stack: StackId,
    /// Its row in [`AllocatorState::groups`].
    pub group: u32,
    /// Its blocks in address order; they tile it.
    pub blocks: Vec<PlacedBlock>,
    /// Their sums.
    pub sums: StateSums,
}

impl SegmentState {
    /// The block at an address, by its place in [`blocks`](Self::blocks).
    #[must_use]
    pub fn block_at(&self, address: u64) -> Option<usize> {
        let offset = address.checked_sub(self.address)?;
        if offset >= self.bytes {
            return None;
        }
        let after = self
            .blocks
            .partition_point(|block| block.address <= address);
        after.checked_sub(1)
    }

    /// The range that it is, its pool as found.
    fn range(&self) -> MappedRange {
        MappedRange {
            address: self.address,
            bytes: self.bytes,
            stream: self.stream,
            pool: self.pool,
            is_expandable: self.is_expandable,
        }
    }
}

/// The segments of one pool and stream: no other can use what is free in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The pool; `None` where the file does not say.
    pub pool: Option<PoolId>,
    /// The `cudaStream_t` as a number.
    pub stream: i64,
    /// Its sums.
    pub sums: StateSums,
}

/// Live allocations that have no place, or not all of it: of a recording without segment events, or of a
/// damaged file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Misfits {
    /// Allocations outside of every segment.
    pub outside: u64,
    /// Requested bytes of those.
    pub outside_bytes: u64,
    /// Requested bytes of allocations within a segment for which there was no room before its end or the
    /// next block.
    pub cut_bytes: u64,
}

/// One device's allocator at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllocatorState {
    /// The moment.
    pub moment: u32,
    /// Whose state it is: the driver lets all streams use what is free in a pool.
    pub kind: AllocatorKind,
    /// Its segments by address.
    pub segments: Vec<SegmentState>,
    /// Pools and streams that own segments: ascending, the default pool and stream first.
    pub groups: Vec<Group>,
    /// Sums of all.
    pub total: StateSums,
    /// What has no place in them. The requested bytes of the total and these together are the history's
    /// active bytes.
    pub misfits: Misfits,
}

impl AllocatorState {
    /// The segment around an address, by its place in [`segments`](Self::segments).
    #[must_use]
    pub fn segment_at(&self, address: u64) -> Option<usize> {
        let after = self
            .segments
            .partition_point(|segment| segment.address <= address);
        let row = after.checked_sub(1)?;
        let segment = self.segments.get(row)?;
        (address - segment.address < segment.bytes).then_some(row)
    }

    /// Where a live allocation lies: its segment's row and its block's row therein.
    #[must_use]
    pub fn find(&self, history: &History, id: AllocationId) -> Option<(usize, usize)> {
        let address = *history.allocations.address.get(id.index())?;
        let row = self.segment_at(address)?;
        let blocks = &self.segments[row].blocks;
        let first = blocks.partition_point(|block| block.address < address);
        let same = blocks[first..]
            .iter()
            .take_while(|block| block.address == address);
        let place = same
            .clone()
            .position(|block| block.allocation == Some(id))?;
        Some((row, first + place))
    }
}

#[cfg(test)]
mod tests;
