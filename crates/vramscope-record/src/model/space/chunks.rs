//! Chunks of memory pools.
//!
//! A pool of the driver has one range of addresses, in which it maps chunks of 32 MiB one after the other, and takes
//! allocations from the range whatever chunks they lie in: some begin in one chunk and end in a later one. Of an
//! allocation the driver names the chunk that holds its first byte. Those after it are taken to be of the same size.
//! (Observed with driver 580 on an H100; not documented.)
//!
//! A damaged log may name a tiny chunk for a huge allocation. So the number of chunks that nothing named is bounded by that
//! of allocations; beyond the bound, the rest of an allocation is one chunk.

use super::{Allocation, Block, Journal, Location, Origin, Space};

/// Number of chunks without a name that may always be added: 2 TiB of usual ones.
const FREE_CHUNKS: u64 = 1 << 16;
/// The same for each allocation of a pool.
const CHUNKS_PER_ALLOCATION: u64 = 8;

/// How many allocations of pools there were, and how many chunks were added for them without a name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChunkCounts {
    allocations: u64,
    unnamed: u64,
}

impl ChunkCounts {
    /// Counts an allocation that reaches into so many unnamed chunks. Returns whether these may be added one by one.
    fn afford(&mut self, unnamed: u64) -> bool {
        self.allocations += 1;
        let most =
            FREE_CHUNKS.saturating_add(CHUNKS_PER_ALLOCATION.saturating_mul(self.allocations));
        let sum = self.unnamed.saturating_add(unnamed);
        if sum <= most {
            self.unnamed = sum;
        }
        sum <= most
    }
}

impl Space {
    /// The address of the first of the chunks that contain an allocation of a pool; adds those that do not exist.
    pub(super) fn chunks_for(&mut self, journal: &mut Journal, allocation: &Allocation) -> u64 {
        // A pool serves all streams.
        let allocation = &Allocation {
            stream: 0,
            ..allocation.clone()
        };
        let (range, mapping) = (&allocation.range, &allocation.mapping);
        let named_bytes = mapping.end - mapping.start;
        let beyond = range.end.saturating_sub(mapping.end);
        let unnamed_bytes = match self.chunk_counts.afford(beyond.div_ceil(named_bytes)) {
            true => named_bytes,
            false => beyond,
        };
        let (mut first, mut at) = (None, mapping.start);
        while at < range.end {
            let bytes = if at < mapping.end {
                mapping.end - at
            } else {
                unnamed_bytes
            };
            let chunk = at..at.checked_add(bytes).unwrap_or(range.end);
            let taken = range.start.max(chunk.start)..range.end.min(chunk.end);
            let start = match self.chunk_at(allocation, taken.start) {
                Some(start) => start,
                None => {
                    let room = self.make_room(journal, chunk, &taken);
                    self.add_segment(journal, room, allocation)
                }
            };
            first = first.or(Some(start));
            at = self.segments.get(&start).map_or(range.end, |it| it.end);
        }
        first.unwrap_or(mapping.start)
    }

    /// The segment at an address, if an allocation may lie in it: a chunk of its pool, or one that contains it as a whole and
    /// is in use, whatever the log said of that one.
    fn chunk_at(&self, allocation: &Allocation, at: u64) -> Option<u64> {
        let (&start, segment) = self.segments.range(..=at).next_back()?;
        if segment.end <= at || segment.location != allocation.location {
            return None;
        }
        let is_used = segment.live > 0;
        let is_of_pool =
            segment.retention == allocation.retention && segment.pool == allocation.pool;
        // An empty one that begins before the chunk that the driver names is no chunk.
        let is_chunk = is_of_pool && (is_used || start >= allocation.mapping.start);
        let range = &allocation.range;
        let is_around = start <= range.start && segment.end >= range.end;
        (is_chunk || is_used && is_around).then_some(start)
    }

    /// The addresses of the segments that contain a block.
    pub(super) fn segments_of(&self, block: &Block) -> Vec<u64> {
        let segments = self.segments.range(block.segment..block.end);
        segments.map(|(&address, _)| address).collect()
    }

    /// Counts one more block or arena in its segments. Returns their location.
    pub(super) fn enter_segments(&mut self, block: &Block) -> Option<Location> {
        let mut location = None;
        for segment in self.segments_of(block) {
            location = self.enter_segment(segment).or(location);
        }
        location
    }

    /// Counts one less block or arena in these segments.
    pub(super) fn leave_segments(
        &mut self,
        journal: &mut Journal,
        segments: &[u64],
        origin: Origin,
    ) {
        for &segment in segments {
            self.leave_segment(journal, segment, origin);
        }
    }
}
