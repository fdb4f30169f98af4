//! Memory that the program maps where it likes, and takes away in other pieces than it mapped.

use std::ops::Range;

use vramscope_core::model::Action;

use super::{Block, By, Grant, Journal, Keeping, Segment, Space, entry_of, entry_of_segment};

impl Space {
    /// Takes mapped memory away, also parts of what was mapped at once. Whether any was there.
    pub(crate) fn unmap(&mut self, journal: &mut Journal, range: &Range<u64>, by: By) -> bool {
        let before = self.segments.range(..range.end).rev();
        let overlapping = before.take_while(|(_, segment)| segment.end > range.start);
        let mapped = overlapping.filter(|(_, it)| matches!(it.keeping, Keeping::Mapped(_)));
        let addresses: Vec<u64> = mapped.map(|(&address, _)| address).collect();
        for &address in addresses.iter().rev() {
            self.unmap_segment(journal, address, range, by);
        }
        !addresses.is_empty()
    }

    fn unmap_segment(&mut self, journal: &mut Journal, address: u64, range: &Range<u64>, by: By) {
        self.end_all_in(journal, address, by);
        let Some(whole) = self.take_segment(address) else {
            return;
        };
        let gone = address.max(range.start)..whole.end.min(range.end);
        let entry = entry_of_segment(Action::SegmentUnmap, gone.clone(), &whole, by);
        self.push_undoable(journal, whole.place, entry);
        self.undo.segments.push((address, whole.clone()));
        // What is left of it stays mapped, and in use.
        for rest in [address..gone.start, gone.end..whole.end] {
            if rest.is_empty() {
                continue;
            }
            let segment = Segment {
                end: rest.end,
                live: 0,
                ..whole.clone()
            };
            let grant = Grant {
                place: whole.place,
                range: rest.clone(),
                mapping: rest.clone(),
                stream: whole.stream,
                context: whole.context,
                pool: whole.pool,
                by: whole.by,
                keeping: whole.keeping,
                is_owned: whole.is_owned,
                is_part: false,
            };
            self.put_segment(rest.start, segment);
            self.undo.rests.push(rest.start);
            let entry = entry_of(Action::Alloc, &grant);
            let number = self.push_undoable(journal, whole.place, entry);
            let block = Block {
                end: rest.end,
                stream: whole.stream,
                context: whole.context,
                by: whole.by,
                segment: rest.start,
                entry: number,
                is_part: false,
            };
            self.add_block(rest.start, block);
        }
    }
}
