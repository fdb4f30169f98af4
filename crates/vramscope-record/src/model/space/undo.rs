//! What a free took away, for it may turn out that it did not happen: it is written before the driver is asked.

use std::collections::HashMap;
use std::ops::Range;

use super::{Block, EntryNumber, Journal, Keeping, Place, Segment, Space};

/// What an operation took away, to be given back if it did not happen, and what it added.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    pub(super) blocks: Vec<(u64, Block)>,
    pub(super) arenas: Vec<(u64, Block)>,
    pub(super) segments: Vec<(u64, Segment)>,
    pub(super) entries: Vec<(Place, EntryNumber)>,
    /// Segments that it made of what was left of others.
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
    /// Puts back what an operation took away, for it did not happen. Whether there is still room for it.
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
            // What lived in it enters it again below.
            if segment.keeping == Keeping::Pool {
                let bytes = segment.end - address;
                self.pools
                    .add_empty(segment.pool, segment.emptied, *address, bytes);
            }
            self.put_segment(*address, segment);
        }
        for (address, arena) in &undo.arenas {
            self.enter_segment(arena.segment);
            self.arenas.insert(*address, arena.clone());
        }
        for (address, block) in &undo.blocks {
            self.add_block(*address, block.clone());
        }
        for &(place, entry) in &undo.entries {
            journal.undo(place, entry);
        }
        true
    }

    /// Whether what was taken away fits where it was.
    fn has_room_for(&self, undo: &Undo) -> bool {
        let is_free = |address: u64, end: u64| {
            let last = self.segments.range(..end).next_back();
            last.is_none_or(|(_, segment)| segment.end <= address)
        };
        let is_held = |block: &Block| {
            let segment = self.segments.get(&block.segment);
            segment.is_some_and(|segment| segment.end >= block.end)
                || undo.segments.iter().any(|(at, _)| *at == block.segment)
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

/// Whether nothing happened since where an operation took things away.
fn is_as_left(journal: &Journal, undo: &Undo) -> bool {
    // The last of each place; they come in order.
    let last: HashMap<Place, EntryNumber> = undo.entries.iter().copied().collect();
    let segments = undo.segments.iter().map(|(at, it)| *at..it.end);
    let blocks = undo.blocks.iter().chain(&undo.arenas);
    let mut ranges = segments.chain(blocks.map(|(at, it)| *at..it.end));
    ranges.all(|range| {
        let mut places = last.iter();
        !places.any(|(&place, &number)| journal.is_touched_since(place, number, &range))
    })
}
