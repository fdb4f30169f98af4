//! Undo of a free that the driver refused. A free is logged before the driver is called, so a later record may
//! withdraw it.

use std::collections::HashMap;
use std::ops::Range;

use super::{Block, EntryNumber, Journal, Location, Retention, Segment, Space};

#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    pub(super) blocks: Vec<(u64, Block)>,
    pub(super) arenas: Vec<(u64, Block)>,
    pub(super) segments: Vec<(u64, Segment)>,
    pub(super) entries: Vec<(Location, EntryNumber)>,
    /// Segments that it created from remainders of others.
    pub(super) rests: Vec<u64>,
}

impl Undo {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.arenas.is_empty() && self.segments.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.arenas.clear();
        self.segments.clear();
        self.entries.clear();
        self.rests.clear();
    }
}

impl Space {
    /// Restores what an operation removed. Returns whether that was possible: not if the memory has been used
    /// since.
    pub(crate) fn undo(&mut self, journal: &mut Journal, undo: &Undo) -> bool {
        if !is_as_left(journal, undo) {
            return false;
        }
        for &rest in &undo.rests {
            if self.remove_block(rest).is_some() {
                self.take_segment(rest);
            }
        }
        if !self.has_room_for(undo) {
            return false;
        }
        for (address, segment) in &undo.segments {
            let segment = Segment {
                live: 0,
                ..segment.clone()
            };
            // `add_block` and `enter_segments` below count its blocks again.
            if segment.retention == Retention::ByPool {
                self.set_empty(*address, &segment, true);
            }
            self.put_segment(*address, segment);
        }
        for (address, arena) in &undo.arenas {
            self.enter_segments(arena);
            self.add_arena(*address, arena.clone());
        }
        for (address, block) in &undo.blocks {
            self.add_block(*address, block.clone());
        }
        for &(location, entry) in &undo.entries {
            journal.undo(location, entry);
        }
        true
    }

    /// Whether everything that was removed still fits where it was.
    fn has_room_for(&self, undo: &Undo) -> bool {
        let is_free = |address: u64, end: u64| {
            let last = self.segments.range(..end).next_back();
            last.is_none_or(|(_, segment)| segment.end <= address)
        };
        let removed = undo.segments.iter().map(|(at, it)| (*at, it));
        let removed: HashMap<u64, &Segment> = removed.collect();
        let end_at = |at: u64| {
            let segment = self.segments.get(&at).or_else(|| removed.get(&at).copied());
            segment.map(|segment| segment.end)
        };
        let is_held = |block: &Block| {
            let mut end = end_at(block.segment);
            while let Some(at) = end
                && at < block.end
            {
                end = end_at(at);
            }
            end.is_some()
        };
        let mut segments = undo.segments.iter();
        let mut blocks = undo.blocks.iter().chain(&undo.arenas);
        segments.all(|(address, segment)| is_free(*address, segment.end))
            && blocks
                .all(|(address, block)| is_held(block) && self.is_unused(&(*address..block.end)))
    }

    fn is_unused(&self, range: &Range<u64>) -> bool {
        let last = self.blocks.range(..range.end).next_back();
        last.is_none_or(|(_, block)| block.end <= range.start)
    }
}

/// Whether no later entry affects the memory that an operation removed.
fn is_as_left(journal: &Journal, undo: &Undo) -> bool {
    // The newest entry of each location: entries are in order.
    let last: HashMap<Location, EntryNumber> = undo.entries.iter().copied().collect();
    let segments = undo.segments.iter().map(|(at, it)| *at..it.end);
    let blocks = undo.blocks.iter().chain(&undo.arenas);
    let mut ranges = segments.chain(blocks.map(|(at, it)| *at..it.end));
    ranges.all(|range| {
        let mut places = last.iter();
        !places.any(|(&location, &number)| journal.is_touched_since(location, number, &range))
    })
}
