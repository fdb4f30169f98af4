//! Fragmentation: free memory that can neither serve a large request nor be released to CUDA, because active blocks lie
//! in between.
//!
//! A request must fit into one free block. Completely free segments, and whole free pages of an expandable segment, are
//! *returnable*: `empty_cache()` and a failing request release them to CUDA, and then they can serve anything. The
//! other free bytes are *stuck*. The largest free block shows how scattered they are. A private pool releases nothing
//! while its graph or `MemPool` exists, so its returnable bytes may have to wait.
//!
//! [`places`] computes one moment, [`over_time()`] all moments in one sweep. [`pinned()`] finds the allocations that
//! keep segments which are mostly free.

mod over_time;
mod pinned;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, SegmentState, SizeClass, StateSums,
};
use crate::analysis::memory::gap::Arena;
use crate::sorting::SortFew;

pub use over_time::{FragmentationAt, over_time};
pub use pinned::{PinnedSegment, PinningGroup, pinned};

/// Figures of free memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FreeSums {
    /// Reserved bytes, used or not.
    pub reserved_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that could be released to CUDA.
    pub returnable_bytes: u64,
    /// Number of free blocks.
    pub pieces: u64,
    /// Size of the largest free block.
    pub largest_free_bytes: u64,
}

impl FreeSums {
    /// Free bytes that cannot be released.
    #[must_use]
    pub fn stuck_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.returnable_bytes)
    }

    /// Stuck bytes as a share of reserved bytes: 0 if all memory is used or returnable.
    #[must_use]
    pub fn stuck_share(&self) -> f64 {
        share(self.stuck_bytes(), self.reserved_bytes)
    }

    /// The share of free bytes outside the largest free block: 0 for a single block, nearly 1 for many small ones.
    #[must_use]
    pub fn scattered_share(&self) -> f64 {
        share(
            self.free_bytes.saturating_sub(self.largest_free_bytes),
            self.free_bytes,
        )
    }

    /// Adds the figures of other memory.
    fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.reserved_bytes, other.reserved_bytes);
        add(&mut self.free_bytes, other.free_bytes);
        add(&mut self.returnable_bytes, other.returnable_bytes);
        add(&mut self.pieces, other.pieces);
        self.largest_free_bytes = self.largest_free_bytes.max(other.largest_free_bytes);
    }

    /// The figures of one segment.
    fn of(segment: &SegmentState) -> Self {
        let span = Span {
            start: segment.address,
            end: segment.address.saturating_add(segment.bytes),
            page_bytes: segment.page_bytes,
        };
        let free = segment.blocks.iter();
        let free = free.filter(|block| block.usage == BlockUse::Free);
        // Active blocks of 0 bytes also keep a segment.
        let is_empty = segment.sums.empty_segments > 0;
        let returnable = free.map(|block| match is_empty {
            true => block.bytes,
            false => span.returnable_bytes(block.address, block.bytes),
        });
        Self {
            reserved_bytes: segment.bytes,
            free_bytes: segment.sums.free_bytes,
            returnable_bytes: returnable.sum(),
            pieces: segment.sums.free_blocks,
            largest_free_bytes: segment.sums.largest_free_bytes,
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A range of memory that was mapped as a whole.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
    /// The size of the pieces in which it can be given back; `None` if only as a whole.
    page_bytes: Option<u64>,
}

impl Span {
    /// The bytes of a free block in it that could be released.
    fn returnable_bytes(&self, start: u64, bytes: u64) -> u64 {
        let from = start.saturating_sub(self.start);
        let to = from.saturating_add(bytes);
        if from == 0 && to >= self.end - self.start {
            return bytes;
        }
        // A range begins at a page boundary.
        self.page_bytes.map_or(0, |page| {
            let pages = (to / page).saturating_sub(from.div_ceil(page));
            pages.saturating_mul(page)
        })
    }
}

/// The segments of one pool, stream and size class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FragmentedPlace {
    /// The pool and stream.
    pub arena: Arena,
    /// The size class; `None` if unknown.
    pub class: Option<SizeClass>,
    /// Figures of their free memory.
    pub free: FreeSums,
    /// Sums over their blocks.
    pub sums: StateSums,
}

/// The figures of all reserved memory at a moment, and by pool, stream and size class, most stuck bytes first.
#[must_use]
pub fn places(state: &AllocatorState) -> (FreeSums, Vec<FragmentedPlace>) {
    let mut total = FreeSums::default();
    let mut places: Vec<FragmentedPlace> = Vec::new();
    let mut rows = std::collections::HashMap::new();
    for segment in &state.segments {
        let Some(arena) = state.groups.get(segment.group as usize).map(Arena::of) else {
            continue;
        };
        let class = segment.size_class;
        let row = *rows.entry((arena, class)).or_insert_with(|| {
            places.push(FragmentedPlace {
                arena,
                class,
                free: FreeSums::default(),
                sums: StateSums::default(),
            });
            places.len() - 1
        });
        let free = FreeSums::of(segment);
        places[row].free.add(&free);
        places[row].sums.add(&segment.sums);
        total.add(&free);
    }
    places.sort_few_by_key(|place| {
        let bytes = (place.free.stuck_bytes(), place.free.reserved_bytes);
        std::cmp::Reverse(bytes)
    });
    (total, places)
}
