//! The state of the allocator at any moment: segments with their blocks in address order, and sums over them.
//!
//! [`replay`](crate::analysis::time::replay) gives the mapped segments and the live allocations. This module places the
//! allocations in the segments, finds the sizes of their blocks (`sizes`), and fills the rest with free blocks. The
//! allocator merges free neighbours at once, so a range without an active block is one free block.
//!
//! [`Device::state_at`](crate::analysis::recording::Device::state_at) computes one moment. A [`Stepper`] moves from
//! moment to moment and rebuilds only the segments that changed.

mod check;
mod index;
mod kinds;
mod sizes;
mod stepper;

use serde::{Deserialize, Serialize};

pub use self::check::FinalCheck;
pub(crate) use self::check::check_final;
pub(crate) use self::index::AllocatorIndex;
pub use self::kinds::{SegmentKind, segment_kinds};
pub use self::sizes::{BlockSizes, Rounding, SizeCheck, SizeSource};
pub use self::stepper::Stepper;
use super::capture::AllocatorKind;
use crate::analysis::time::history::History;
use crate::analysis::time::replay::{MappedRange, Replay};
use crate::ids::{AllocationId, EventId, StackId};
use crate::model::{self, PoolId};

/// The input of all functions here: a device's history and its replay. Other modules use
/// [`Device`](crate::analysis::recording::Device).
#[derive(Clone, Copy)]
pub(crate) struct Replayed<'a> {
    pub(crate) history: &'a History,
    pub(crate) replay: &'a Replay,
}

/// The use of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    /// Allocated.
    Allocated,
    /// Freed by the program, while another stream may still use it.
    PendingFree,
    /// Inactive: free, and cached by the allocator.
    Free,
}

/// A block in a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacedBlock {
    /// Start address.
    pub address: u64,
    /// Size in bytes, including rounding. Recorded or derived, see [`BlockSizes`].
    pub bytes: u64,
    /// Requested bytes, at most `bytes`; 0 for a free block.
    pub requested_bytes: u64,
    /// Whether it is allocated, pending free or free.
    pub usage: BlockUse,
    /// The allocation; `None` for a free block.
    pub allocation: Option<AllocationId>,
}

impl PlacedBlock {
    /// Bytes by which the block is larger than the request; 0 for a free block.
    #[must_use]
    pub fn rounding_bytes(&self) -> u64 {
        match self.usage {
            BlockUse::Free => 0,
            _ => self.bytes.saturating_sub(self.requested_bytes),
        }
    }
}

/// Sums over segments. Reserved = active + free. Active = allocated + pending = requested + rounding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StateSums {
    /// Bytes of all segments.
    pub reserved_bytes: u64,
    /// Bytes of allocated blocks, including rounding.
    pub allocated_bytes: u64,
    /// Bytes of blocks pending free, including rounding.
    pub pending_bytes: u64,
    /// Requested bytes of allocated and pending blocks.
    pub requested_bytes: u64,
    /// Bytes of free blocks.
    pub free_bytes: u64,
    /// Size of the largest free block: a larger request needs new memory from the device.
    pub largest_free_bytes: u64,
    /// Number of segments.
    pub segments: u64,
    /// Number of allocated blocks.
    pub allocated_blocks: u64,
    /// Number of blocks pending free.
    pub pending_blocks: u64,
    /// Number of free blocks.
    pub free_blocks: u64,
    /// Number of segments without an active block, which `empty_cache()` would release.
    pub empty_segments: u64,
    /// Bytes of segments without an active block.
    pub empty_bytes: u64,
}

impl StateSums {
    /// Bytes of allocated and pending blocks.
    #[must_use]
    pub fn active_bytes(&self) -> u64 {
        self.allocated_bytes.saturating_add(self.pending_bytes)
    }

    /// Bytes by which active blocks are larger than their requests.
    #[must_use]
    pub fn rounding_bytes(&self) -> u64 {
        self.active_bytes().saturating_sub(self.requested_bytes)
    }

    /// Free bytes in segments that cannot be released, because they contain an active block.
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
            // Blocks do not overlap and lie within their segment, so these sums cannot overflow.
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

/// The size of the requests that a segment serves. The allocator has a block pool for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeClass {
    /// Requests up to 1 MiB.
    Small,
    /// Requests above 1 MiB.
    Large,
}

impl SizeClass {
    /// The class in a file's `segment_type`; `None` if absent or unknown.
    #[must_use]
    pub fn of_kind(kind: Option<model::SegmentKind>) -> Option<Self> {
        match kind {
            Some(model::SegmentKind::Small) => Some(Self::Small),
            Some(model::SegmentKind::Large) => Some(Self::Large),
            Some(model::SegmentKind::Other(_)) | None => None,
        }
    }

    /// `small` or `large`.
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
    /// Size in bytes.
    pub bytes: u64,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The memory pool: from its event, else from the final state's segment at this address, else the default pool if
    /// the file mentions no other. `None` if unknown.
    pub pool: Option<PoolId>,
    /// Whether it belongs to an expandable segment, which can grow, shrink and be split.
    pub is_expandable: bool,
    /// The size of the requests it serves: from the final state, else from the sizes of the segment and its blocks.
    /// `None` if unknown, and for segments of the driver.
    pub size_class: Option<SizeClass>,
    /// The size of the pieces in which it can be given back; `None` if only as a whole.
    pub page_bytes: Option<u64>,
    /// The event that mapped its start address; `None` if it was mapped before the recording.
    pub mapped_by: Option<EventId>,
    /// The stack of the request for which it was mapped.
    pub stack: StackId,
    /// Index into [`AllocatorState::groups`].
    pub group: u32,
    /// Its blocks in address order. They cover it without gaps.
    pub blocks: Vec<PlacedBlock>,
    /// The sums over its blocks.
    pub sums: StateSums,
}

impl SegmentState {
    /// The index in [`blocks`](Self::blocks) of the block that contains an address; `None` if the address is outside
    /// the segment.
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

    /// The segment's range, with its pool.
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

/// The segments of one pool and stream. Requests on another stream or in another pool cannot use their free blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The sums over its segments.
    pub sums: StateSums,
}

/// Live allocations that lie outside of all segments, or only partly in one. They occur in recordings without segment
/// events and in damaged files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Misfits {
    /// Number of allocations outside all segments.
    pub outside: u64,
    /// Requested bytes of those allocations.
    pub outside_bytes: u64,
    /// Requested bytes of allocations in segments that are beyond the segment's end, or overlap the next block.
    pub cut_bytes: u64,
}

/// The state of one device's allocator at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AllocatorState {
    /// The moment.
    pub moment: u32,
    /// The allocator that made the blocks. In the driver's pools, all streams share the free memory.
    pub kind: AllocatorKind,
    /// The segments in address order.
    pub segments: Vec<SegmentState>,
    /// Segments by pool and stream, ascending, with the default pool and the default stream first.
    pub groups: Vec<Group>,
    /// The sums over all segments.
    pub total: StateSums,
    /// The live allocations that do not fit into the segments. Together with the requested bytes of `total`, theirs add
    /// up to the history's active bytes.
    pub misfits: Misfits,
}

impl AllocatorState {
    /// The index in [`segments`](Self::segments) of the segment that contains an address; `None` if no segment does.
    #[must_use]
    pub fn segment_at(&self, address: u64) -> Option<usize> {
        let after = self
            .segments
            .partition_point(|segment| segment.address <= address);
        let row = after.checked_sub(1)?;
        let segment = self.segments.get(row)?;
        (address - segment.address < segment.bytes).then_some(row)
    }

    /// The block of a live allocation: the index of its segment, and the index of the block in that segment. `None` if
    /// it has no block at this moment.
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
