//! Parts of allocations, allocated by the program itself.

use std::ops::Range;

use super::{Journal, Location, Origin, PoolRow, Segment, Space};

/// Maximum number of allocations and of segments that a part may lie in: 16 GiB of the smallest mappable pieces. Bounds the
/// work for a damaged log.
const MOST_PIECES: usize = 1 << 13;

impl Space {
    /// Frees a part of an arena. Returns whether it existed.
    pub(crate) fn free_part(
        &mut self,
        journal: &mut Journal,
        address: u64,
        origin: Origin,
    ) -> bool {
        let is_there = matches!(self.blocks.get(&address), Some(block) if block.is_part);
        is_there && self.end_block(journal, address, origin)
    }

    /// Frees all parts that begin in a range.
    pub(crate) fn free_parts(&mut self, journal: &mut Journal, range: Range<u64>, origin: Origin) {
        let parts = self.blocks.range(range).filter(|(_, block)| block.is_part);
        let parts: Vec<u64> = parts.map(|(&address, _)| address).collect();
        for address in parts {
            self.end_block(journal, address, origin);
        }
    }

    /// Turns the allocation that contains this range into an arena and withdraws its `alloc` entry; or several allocations
    /// that the program mapped side by side. Returns the location and pool of the memory, if the whole range is known.
    pub(crate) fn make_arena(
        &mut self,
        journal: &mut Journal,
        range: &Range<u64>,
    ) -> Option<(Location, PoolRow)> {
        let segment = self.segments.get(&self.segment_around(range)?)?;
        let place = (segment.location, segment.pool);
        let (mut blocks, mut at) = (Vec::new(), range.start);
        for _ in 0..MOST_PIECES {
            if at >= range.end {
                break;
            }
            let arena = self.arenas.range(..=at).next_back();
            if let Some((_, arena)) = arena.filter(|(_, arena)| arena.end > at) {
                at = arena.end;
                continue;
            }
            let (&address, block) = self.blocks.range(..=at).next_back()?;
            if block.is_part || block.end <= at {
                return None;
            }
            blocks.push(address);
            at = block.end;
        }
        if at < range.end {
            return None;
        }
        for address in blocks {
            let block = self.remove_block(address)?;
            if let Some(entry) = block.entry {
                journal.undo(place.0, entry);
            }
            self.add_arena(address, block);
        }
        Some(place)
    }

    /// The address of the first of the segments in use that contain a range: one, or several adjacent ones of one kind.
    pub(super) fn segment_around(&self, range: &Range<u64>) -> Option<u64> {
        let (&address, first) = self.segments.range(..=range.start).next_back()?;
        let place = |it: &Segment| (it.location, it.pool, it.stream);
        let mut end = first.end;
        let is_next =
            |it: &Segment| it.is_joined() && first.is_joined() && place(it) == place(first);
        for _ in 0..MOST_PIECES {
            if end >= range.end {
                break;
            }
            let next = self.segments.get(&end)?;
            if !is_next(next) || next.live == 0 {
                return None;
            }
            end = next.end;
        }
        (first.live > 0 && first.end > range.start && end >= range.end).then_some(address)
    }
}
