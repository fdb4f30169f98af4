//! Free memory that can neither serve a large request nor go back to CUDA, because what is in use lies between.
//!
//! Free memory is in pieces: a request must fit into one of them. What is wholly free (a segment, or whole pages
//! of an expandable one) `empty_cache()` and a failing request give back to CUDA, so that it can serve
//! anything; that is *returnable*. The rest is *stuck*. How scattered it is tells the largest piece.
//! A private pool gives nothing back while its graph or `MemPool` lives: what is returnable there may still
//! have to wait.
//!
//! [`places`] answers for one moment, [`over_time()`] for all of them in one sweep, and [`pinned()`] tells
//! whose allocations keep segments that are mostly free.

mod over_time;
mod pinned;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::analysis::memory::allocator_rules::{LARGE_SEGMENT_BYTES, SMALL_SEGMENT_BYTES};
use crate::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, SegmentState, SizeClass, StateSums,
};
use crate::analysis::memory::gap::Arena;

pub use over_time::{FragmentationAt, over_time};
pub use pinned::{PinnedSegment, PinningGroup, pinned};

/// Free memory, in figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FreeSums {
    /// Bytes held from CUDA, whatever they are used for.
    pub reserved_bytes: u64,
    /// Bytes of it that no block uses.
    pub free_bytes: u64,
    /// Bytes of those that could be given back to CUDA.
    pub returnable_bytes: u64,
    /// Number of pieces that are free.
    pub pieces: u64,
    /// The largest of them.
    pub largest_free_bytes: u64,
}

impl FreeSums {
    /// Free bytes that can not be given back.
    #[must_use]
    pub fn stuck_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.returnable_bytes)
    }

    /// The part of the reserved memory that is stuck: 0 where all is in use or could be given back.
    #[must_use]
    pub fn stuck_share(&self) -> f64 {
        share(self.stuck_bytes(), self.reserved_bytes)
    }

    /// The part of the free memory that is not in its largest piece: 0 for one piece, nearly 1 for dust.
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
            page_bytes: page_bytes(segment.is_expandable, segment.size_class),
        };
        let free = segment.blocks.iter();
        let free = free.filter(|block| block.usage == BlockUse::Free);
        // Blocks without any bytes make a segment no less one that is in use.
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

/// The pages of a segment; `None` = it goes as a whole.
fn page_bytes(is_expandable: bool, class: Option<SizeClass>) -> Option<u64> {
    is_expandable.then_some(match class {
        Some(SizeClass::Small) => SMALL_SEGMENT_BYTES,
        // The larger ones, where it is not known: rather too little that is returnable.
        Some(SizeClass::Large) | None => LARGE_SEGMENT_BYTES,
    })
}

/// Memory that was mapped together.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u64,
    end: u64,
    /// See [`page_bytes`].
    page_bytes: Option<u64>,
}

impl Span {
    /// How much of a free piece in it could be given back.
    fn returnable_bytes(&self, start: u64, bytes: u64) -> u64 {
        let from = start.saturating_sub(self.start);
        let to = from.saturating_add(bytes);
        if from == 0 && to >= self.end - self.start {
            return bytes;
        }
        // Mapped memory begins with a page.
        self.page_bytes.map_or(0, |page| {
            let pages = (to / page).saturating_sub(from.div_ceil(page));
            pages.saturating_mul(page)
        })
    }
}

/// Segments that serve the same requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FragmentedPlace {
    /// The pool and stream.
    pub arena: Arena,
    /// The sizes of requests; `None` where the segments do not tell.
    pub class: Option<SizeClass>,
    /// What is free there.
    pub free: FreeSums,
    /// What the segments hold.
    pub sums: StateSums,
}

/// Reserved memory at a moment by place, the most stuck bytes first; and all of it together.
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
    places.sort_by_key(|place| {
        let bytes = (place.free.stuck_bytes(), place.free.reserved_bytes);
        std::cmp::Reverse(bytes)
    });
    (total, places)
}
