//! Chunks of memory pools.
//!
//! A pool of the driver has one range of addresses, in which it maps chunks of 32 MiB one after the other, and takes
//! allocations from the range whatever chunks they lie in: some begin in one chunk and end in a later one. Of an
//! allocation the driver names the chunk that holds its first byte. Those after it are taken to be of the same size.
//! (Observed with driver 580 on an H100; not documented.)

use super::{Allocation, Block, Journal, Location, Origin, Space};

impl Space {
    /// The address of the first of the chunks that contain an allocation of a pool; adds those that do not exist.
    pub(super) fn chunks_for(&mut self, journal: &mut Journal, allocation: &Allocation) -> u64 {
        // A pool serves all streams.
        let allocation = &Allocation {
            stream: 0,
            ..allocation.clone()
        };
        let (range, mapping) = (&allocation.range, &allocation.mapping);
        let chunk_bytes = mapping.end - mapping.start;
        let (mut first, mut at) = (None, mapping.start);
        while at < range.end {
            let chunk = at..at.checked_add(chunk_bytes).unwrap_or(range.end.max(at + 1));
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

    /// The segment at an address, if an allocation can lie in it.
    fn chunk_at(&self, allocation: &Allocation, at: u64) -> Option<u64> {
        let (&start, segment) = self.segments.range(..=at).next_back()?;
        let is_whole = start <= allocation.range.start && segment.end >= allocation.range.end;
        let is_same = segment.retention == allocation.retention && segment.pool == allocation.pool;
        let is_chunk = is_same && (segment.live > 0 || start >= allocation.mapping.start);
        let fits = is_chunk || segment.live > 0 && is_whole;
        (segment.end > at && segment.location == allocation.location && fits).then_some(start)
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
