//! Chunks of memory pools.
//!
//! A pool of the driver has one range of addresses, in which it maps chunks of 32 MiB one after the other. Allocations are
//! placed in the range regardless of chunk borders: some begin in one chunk and end in a later one. The driver names only
//! the chunk that contains an allocation's first byte. Later chunks are assumed to have the same size. (Observed with driver
//! 580 on an H100; not documented.) Chunks that appear or end at once are one entry of the journal: an allocation of 10 GiB
//! has 320.
//!
//! A damaged log may name a tiny chunk for a huge allocation. So the number of unnamed chunks is bounded by that of
//! allocations; beyond the bound, the rest of an allocation is one chunk.

use super::{Allocation, Block, Journal, Location, Origin, Retention, Segment, Space};

/// Number of unnamed chunks that may always be added: 2 TiB of ordinary ones.
const FREE_CHUNKS: u64 = 1 << 16;
/// The same for each allocation of a pool.
const CHUNKS_PER_ALLOCATION: u64 = 8;

/// The number of allocations from pools, and of unnamed chunks added for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkCounts {
    allocations: u64,
    unnamed: u64,
}

impl ChunkCounts {
    /// Whether so many more unnamed chunks may be added. Counts the first of them.
    fn afford(&mut self, wanted: u64) -> bool {
        let most = CHUNKS_PER_ALLOCATION.saturating_mul(self.allocations);
        let sum = self.unnamed.saturating_add(wanted);
        let is_affordable = sum <= FREE_CHUNKS.saturating_add(most);
        self.unnamed += u64::from(is_affordable);
        is_affordable
    }
}

impl Space {
    /// The address of the first of the chunks that contain an allocation of a pool; missing chunks are added.
    pub(super) fn chunks_for(&mut self, journal: &mut Journal, allocation: &Allocation) -> u64 {
        // A pool serves all streams.
        let allocation = &Allocation {
            stream: 0,
            ..allocation.clone()
        };
        self.chunk_counts.allocations += 1;
        let range = &allocation.range;
        let first = self.chunk_for(journal, allocation, allocation.mapping.start);
        let mut end = self.end_of(first);
        while end < range.end {
            let next = self.chunk_for(journal, allocation, end);
            end = self.end_of(next);
        }
        first
    }

    /// The address of the chunk at `at`, which is the address of the named chunk or the end of another one. Adds the chunk
    /// if it does not exist.
    fn chunk_for(&mut self, journal: &mut Journal, allocation: &Allocation, at: u64) -> u64 {
        let (range, named) = (&allocation.range, &allocation.mapping);
        let start = at.max(range.start);
        if let Some(chunk) = self.chunk_at(allocation, start) {
            return chunk;
        }
        let chunk_bytes = named.end - named.start;
        let end = if at < named.end {
            named.end
        } else if self
            .chunk_counts
            .afford((range.end - at).div_ceil(chunk_bytes))
        {
            at.checked_add(chunk_bytes).unwrap_or(range.end)
        } else {
            range.end
        };
        // A chunk in use remains unchanged.
        let mut inside = self.segments.range(start..end.min(range.end));
        let used = inside.find(|(_, it)| is_of_pool(it, allocation) && it.live > 0);
        let end = used.map_or(end, |(&next, _)| next);
        let room = self.make_room(journal, at..end, &(start..range.end.min(end)));
        self.add_segment(journal, room, allocation)
    }

    /// Whether an allocation of a pool for which the driver named no chunk lies only partly in a chunk that is in use. That
    /// chunk was named before the names turned out to be wrong, and contains other allocations.
    pub(super) fn reaches_out_of_chunk(&self, allocation: &Allocation) -> bool {
        let range = &allocation.range;
        let before = self.segments.range(..range.end).rev();
        let mut overlapped = before.take_while(|(_, segment)| segment.end > range.start);
        allocation.retention == Retention::ByPool
            && overlapped.any(|(_, segment)| is_of_pool(segment, allocation) && segment.live > 0)
    }

    fn end_of(&self, chunk: u64) -> u64 {
        self.segments.get(&chunk).map_or(u64::MAX, |it| it.end)
    }

    /// The segment at an address, if the allocation may lie in it: a chunk of its pool, or one in use that contains it
    /// entirely, whatever the log says about that one.
    fn chunk_at(&self, allocation: &Allocation, at: u64) -> Option<u64> {
        let (&start, segment) = self.segments.range(..=at).next_back()?;
        if segment.end <= at || segment.location != allocation.location {
            return None;
        }
        let is_used = segment.live > 0;
        // An empty segment that begins before the named chunk is not a chunk.
        let is_chunk =
            is_of_pool(segment, allocation) && (is_used || start >= allocation.mapping.start);
        let range = &allocation.range;
        let is_around = start <= range.start && segment.end >= range.end;
        (is_chunk || is_used && is_around).then_some(start)
    }

    /// The segment next to one of the segments of a block that ends at `end`; `None` after the last.
    fn next_segment(&self, segment: u64, end: u64) -> Option<u64> {
        let next = self.segments.get(&segment)?.end;
        (next < end).then_some(next)
    }

    /// Counts one more block or arena in its segments. Returns their location.
    pub(super) fn enter_segments(&mut self, block: &Block) -> Option<Location> {
        let location = self.enter_segment(block.segment);
        let mut at = self.next_segment(block.segment, block.end);
        while let Some(segment) = at {
            self.enter_segment(segment);
            at = self.next_segment(segment, block.end);
        }
        location
    }

    /// Counts one less block or arena in the segments from `first` to `end`.
    pub(super) fn leave_segments(
        &mut self,
        journal: &mut Journal,
        (first, end): (u64, u64),
        origin: Origin,
    ) {
        let mut at = Some(first);
        while let Some(segment) = at {
            // Leaving may end the segment.
            at = self.next_segment(segment, end);
            self.leave_segment(journal, segment, origin);
        }
    }
}

/// Whether a segment is a chunk of the pool of an allocation.
fn is_of_pool(segment: &Segment, allocation: &Allocation) -> bool {
    segment.retention == allocation.retention
        && segment.pool == allocation.pool
        && segment.location == allocation.location
}
