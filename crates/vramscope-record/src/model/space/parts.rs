//! Parts of allocations, which the program hands out itself.

use std::ops::Range;

use super::{Journal, Location, Origin, PoolRow, Space};

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

    /// Turns the allocation that contains this range into an arena and withdraws its `alloc` entry. Returns the
    /// location and pool of the arena that contains the range, if any.
    pub(crate) fn make_arena(
        &mut self,
        journal: &mut Journal,
        range: &Range<u64>,
    ) -> Option<(Location, PoolRow)> {
        let holder = self.blocks.range(..=range.start).next_back();
        if let Some((&address, block)) = holder
            && block.end >= range.end
            && !block.is_part
        {
            let block = self.remove_block(address)?;
            let location = self.segments.get(&block.segment)?.location;
            if let Some(entry) = block.entry {
                journal.undo(location, entry);
            }
            self.arenas.insert(address, block);
        }
        let (_, arena) = self.arenas.range(..=range.start).next_back()?;
        if arena.end < range.end {
            return None;
        }
        let segment = self.segments.get(&arena.segment)?;
        Some((segment.location, segment.pool))
    }

    /// The address of the segment in which a part of an arena begins. The part may end in a later one, as the arena does.
    pub(super) fn segment_of_part(&self, range: &Range<u64>) -> Option<u64> {
        let (_, arena) = self.arenas.range(..=range.start).next_back()?;
        let (&segment, _) = self.segments.range(..=range.start).next_back()?;
        (arena.end >= range.end).then_some(segment)
    }
}
