//! Where reserved memory is at a moment: in use, or lost, or idle, and why it is idle. To the byte.
//!
//! A request can only be served from free blocks of its own pool and stream. Which pool and stream that is
//! depends on the request; where there is none, the one of the default pool that holds the most counts as
//! one's own. Everything free elsewhere is stranded, as far as that request is concerned. Only the driver's own pools,
//! in captured snapshots, serve all streams.

use serde::{Deserialize, Serialize};

use super::allocator_state::{AllocatorState, BlockUse, Group};
use super::capture::AllocatorKind;
use crate::model::PoolId;

/// Memory among which a request may be placed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Arena {
    /// The pool; the default one where the file does not say.
    pub pool: PoolId,
    /// The `cudaStream_t` as a number.
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

/// Reserved memory at a moment, in parts that add up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Gap {
    /// The moment.
    pub moment: u32,
    /// Whose free memory counts as usable; `None` without any segment.
    pub own: Option<Arena>,
    /// Bytes held from CUDA: the sum of the parts.
    pub reserved_bytes: u64,
    /// Part: requested bytes in use.
    pub in_use_bytes: u64,
    /// Part: requested bytes that the program has freed, but that other streams may still be using.
    pub pending_bytes: u64,
    /// Part: what active blocks are larger than their requests.
    pub rounding_bytes: u64,
    /// Part: free in own segments that are partly in use.
    pub partly_bytes: u64,
    /// Part: own segments that are wholly free; `empty_cache()` would give them back.
    pub empty_bytes: u64,
    /// Part: free in other pools.
    pub other_pools_bytes: u64,
    /// Part: free in the own pool, but on other streams.
    pub other_streams_bytes: u64,
    /// The largest free block in own segments that are partly in use.
    pub largest_hole_bytes: u64,
    /// The largest free block in own segments: a larger request needs new memory from CUDA.
    pub largest_free_bytes: u64,
    /// The largest free block anywhere.
    pub largest_free_anywhere_bytes: u64,
    /// Free blocks in own segments that are partly in use.
    pub holes: u64,
    /// Own segments that are partly in use.
    pub partly_segments: u64,
    /// Requested bytes live outside of every segment; no part of the sum. Of a recording without segment
    /// events, or of a damaged file.
    pub outside_bytes: u64,
}

/// A part of the reserved memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapPart {
    /// Requested and in use.
    InUse,
    /// Freed, but waiting for other streams.
    Pending,
    /// What blocks are larger than their requests.
    Rounding,
    /// Free in own segments that are partly in use.
    Partly,
    /// Own segments that are wholly free.
    Empty,
    /// Free in other pools.
    OtherPools,
    /// Free on other streams.
    OtherStreams,
}

impl Gap {
    /// All parts with their bytes, also those of 0: they add up to what is reserved.
    #[must_use]
    pub fn parts(&self) -> [(GapPart, u64); 7] {
        [
            (GapPart::InUse, self.in_use_bytes),
            (GapPart::Pending, self.pending_bytes),
            (GapPart::Rounding, self.rounding_bytes),
            (GapPart::Partly, self.partly_bytes),
            (GapPart::Empty, self.empty_bytes),
            (GapPart::OtherPools, self.other_pools_bytes),
            (GapPart::OtherStreams, self.other_streams_bytes),
        ]
    }

    /// Reserved, less what is requested and live: all that is lost or idle.
    #[must_use]
    pub fn gap_bytes(&self) -> u64 {
        self.reserved_bytes
            .saturating_sub(self.in_use_bytes.saturating_add(self.pending_bytes))
    }

    /// Free in own segments partly in use, less the largest piece: what is scattered.
    #[must_use]
    pub fn scattered_bytes(&self) -> u64 {
        self.partly_bytes.saturating_sub(self.largest_hole_bytes)
    }

    /// Whether the segments account for what is live, give or take a hundredth.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        let inside = self.in_use_bytes.saturating_add(self.pending_bytes);
        self.outside_bytes <= inside / 100
    }

    /// All that is free, wherever it is.
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

/// Splits the reserved memory of a state up. `own`: the arena of the request in question, if there is one.
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
    // Segments of a damaged file may add up to more than there are numbers for.
    let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
    for segment in &state.segments {
        for block in &segment.blocks {
            // A block's requested bytes are at most its bytes, and blocks tile their segments.
            match block.usage {
                BlockUse::Allocated => add(&mut gap.in_use_bytes, block.requested_bytes),
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

/// The arena that holds the most; one of the default pool, if there is any.
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
