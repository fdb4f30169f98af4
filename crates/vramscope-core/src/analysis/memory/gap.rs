//! Splits the reserved memory at a moment into parts: in use, lost to rounding, and free for various reasons. The parts
//! add up exactly.
//!
//! A request can only be served from free blocks of its own pool and stream; free memory elsewhere is of no use to it.
//! Without a particular request, "own" is the arena of the default pool that holds the most memory. Only the driver's
//! pools, in captured snapshots, serve all streams.

use serde::{Deserialize, Serialize};

use super::allocator_state::{AllocatorState, BlockUse, Group};
use super::capture::AllocatorKind;
use crate::model::PoolId;

/// The memory from which a request can be served: one pool on one stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Arena {
    /// The memory pool; the default pool if unknown.
    pub pool: PoolId,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
}

impl Arena {
    /// The arena of a group of segments.
    #[must_use]
    pub fn of(group: &Group) -> Self {
        Self {
            pool: group.pool.unwrap_or_default(),
            stream: group.stream,
        }
    }
}

/// The reserved memory at a moment, split into parts that add up to it. The doc comment of each part begins with
/// "Part".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Gap {
    /// The moment.
    pub moment: u32,
    /// The arena whose free memory counts as usable; `None` if there are no segments.
    pub own: Option<Arena>,
    /// Bytes of all segments: the sum of the parts.
    pub reserved_bytes: u64,
    /// Part: requested bytes of allocated blocks.
    pub requested_bytes: u64,
    /// Part: requested bytes of blocks pending free.
    pub pending_bytes: u64,
    /// Part: bytes by which active blocks are larger than their requests.
    pub rounding_bytes: u64,
    /// Part: free in segments of the own arena that contain an active block.
    pub partly_bytes: u64,
    /// Part: segments of the own arena without an active block. `empty_cache()` would release them.
    pub empty_bytes: u64,
    /// Part: free in other pools.
    pub other_pools_bytes: u64,
    /// Part: free in the own pool, but on other streams.
    pub other_streams_bytes: u64,
    /// The largest free block in segments of the own arena that contain an active block.
    pub largest_hole_bytes: u64,
    /// The largest free block in the own arena: a larger request needs new memory from the device.
    pub largest_free_bytes: u64,
    /// The largest free block of all segments.
    pub largest_free_anywhere_bytes: u64,
    /// Number of free blocks in segments of the own arena that contain an active block.
    pub holes: u64,
    /// Number of segments of the own arena that contain both active and free blocks.
    pub partly_segments: u64,
    /// Requested bytes of live allocations that do not fit into the segments; not a part of the sum. They occur in
    /// recordings without segment events and in damaged files.
    pub outside_bytes: u64,
}

/// A part of the reserved memory, see [`Gap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapPart {
    /// [`Gap::requested_bytes`].
    Requested,
    /// [`Gap::pending_bytes`].
    Pending,
    /// [`Gap::rounding_bytes`].
    Rounding,
    /// [`Gap::partly_bytes`].
    Partly,
    /// [`Gap::empty_bytes`].
    Empty,
    /// [`Gap::other_pools_bytes`].
    OtherPools,
    /// [`Gap::other_streams_bytes`].
    OtherStreams,
}

impl Gap {
    /// All parts with their bytes, including empty ones.
    #[must_use]
    pub fn parts(&self) -> [(GapPart, u64); 7] {
        [
            (GapPart::Requested, self.requested_bytes),
            (GapPart::Pending, self.pending_bytes),
            (GapPart::Rounding, self.rounding_bytes),
            (GapPart::Partly, self.partly_bytes),
            (GapPart::Empty, self.empty_bytes),
            (GapPart::OtherPools, self.other_pools_bytes),
            (GapPart::OtherStreams, self.other_streams_bytes),
        ]
    }

    /// Reserved minus requested live bytes: everything that is lost or free.
    #[must_use]
    pub fn gap_bytes(&self) -> u64 {
        self.reserved_bytes
            .saturating_sub(self.requested_bytes.saturating_add(self.pending_bytes))
    }

    /// Free bytes in partly used segments of the own arena, except the largest block: the bytes scattered by
    /// fragmentation.
    #[must_use]
    pub fn scattered_bytes(&self) -> u64 {
        self.partly_bytes.saturating_sub(self.largest_hole_bytes)
    }

    /// Whether at most 1 % of the live bytes are outside the segments, so that the parts can be trusted.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        let inside = self.requested_bytes.saturating_add(self.pending_bytes);
        self.outside_bytes <= inside / 100
    }

    /// Free bytes of all segments.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        [
            self.empty_bytes,
            self.other_pools_bytes,
            self.other_streams_bytes,
        ]
        .into_iter()
        .fold(self.partly_bytes, u64::saturating_add)
    }
}

/// Splits the reserved memory of a state. `own`: the arena of the request in question; `None` for the main arena.
#[must_use]
pub fn gap(state: &AllocatorState, own: Option<Arena>) -> Gap {
    let own = own.or_else(|| main_arena(state));
    let mut gap = Gap {
        moment: state.moment,
        own,
        reserved_bytes: state.total.reserved_bytes,
        largest_free_anywhere_bytes: state.total.largest_free_bytes,
        outside_bytes: state
            .misfits
            .outside_bytes
            .saturating_add(state.misfits.cut_bytes),
        ..Gap::default()
    };
    // In a damaged file, segments may add up to more than 64 bits.
    let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
    for segment in &state.segments {
        for block in &segment.blocks {
            // Blocks do not overlap, and none is smaller than its request, so the parts add up.
            match block.usage {
                BlockUse::Allocated => add(&mut gap.requested_bytes, block.requested_bytes),
                BlockUse::PendingFree => add(&mut gap.pending_bytes, block.requested_bytes),
                BlockUse::Free => {}
            }
            add(&mut gap.rounding_bytes, block.rounding_bytes());
        }
        let arena = state.groups.get(segment.group as usize).map(Arena::of);
        let sums = &segment.sums;
        match (arena, own) {
            (Some(arena), Some(own)) if arena.pool != own.pool => {
                add(&mut gap.other_pools_bytes, sums.free_bytes);
            }
            (Some(arena), Some(own))
                if arena.stream != own.stream && state.kind == AllocatorKind::Torch =>
            {
                add(&mut gap.other_streams_bytes, sums.free_bytes);
            }
            _ => {
                gap.largest_free_bytes = gap.largest_free_bytes.max(sums.largest_free_bytes);
                add(&mut gap.empty_bytes, sums.empty_bytes);
                add(&mut gap.partly_bytes, sums.free_in_use_bytes());
                if sums.empty_segments == 0 {
                    gap.holes += sums.free_blocks;
                    gap.largest_hole_bytes = gap.largest_hole_bytes.max(sums.largest_free_bytes);
                    gap.partly_segments += u64::from(sums.free_blocks > 0);
                }
            }
        }
    }
    gap
}

/// The arena with the most reserved bytes, preferring the default pool; `None` if there are no segments.
#[must_use]
pub fn main_arena(state: &AllocatorState) -> Option<Arena> {
    let groups = state.groups.iter();
    let best = groups.max_by_key(|group| {
        let arena = Arena::of(group);
        (
            !arena.pool.is_private(),
            group.sums.reserved_bytes,
            arena.stream == 0,
        )
    });
    best.map(Arena::of)
}
