//! Unmapping of memory that the program mapped itself, in pieces other than those it mapped.

use std::ops::Range;

use vramscope_core::model::Action;

use super::{
    Allocation, Block, Journal, Origin, Retention, Segment, Space, entry_of, entry_of_segment,
};

impl Space {
    /// Counts the handle of the memory mapped at an address once more.
    pub(crate) fn retain(&mut self, address: u64, handle: u64) {
        let segment = self.segments.range(..=address).next_back();
        if let Some((_, segment)) = segment
            && address < segment.end
            && let Retention::UntilUnmapped(serial) = segment.retention
        {
            self.physical.retain(handle, serial);
        }
    }

    /// Unmaps a range, which may cover parts of mappings. Returns whether any of it was mapped.
    pub(crate) fn unmap(
        &mut self,
        journal: &mut Journal,
        range: &Range<u64>,
        origin: Origin,
    ) -> bool {
        let before = self.segments.range(..range.end).rev();
        let overlapping = before.take_while(|(_, segment)| segment.end > range.start);
        let mapped =
            overlapping.filter(|(_, it)| matches!(it.retention, Retention::UntilUnmapped(_)));
        let addresses: Vec<u64> = mapped.map(|(&address, _)| address).collect();
        for &address in addresses.iter().rev() {
            self.unmap_segment(journal, address, range, origin);
        }
        !addresses.is_empty()
    }

    fn unmap_segment(
        &mut self,
        journal: &mut Journal,
        address: u64,
        range: &Range<u64>,
        origin: Origin,
    ) {
        self.end_blocks_of(journal, address, origin);
        let Some(whole) = self.take_segment(address) else {
            return;
        };
        let unmapped = address.max(range.start)..whole.end.min(range.end);
        let entry = entry_of_segment(Action::SegmentUnmap, unmapped.clone(), &whole, origin);
        self.push_undoable(journal, whole.location, entry);
        self.undo.segments.push((address, whole.clone()));
        // The remainder stays mapped and in use.
        for rest in [address..unmapped.start, unmapped.end..whole.end] {
            if rest.is_empty() {
                continue;
            }
            let segment = Segment {
                end: rest.end,
                live: 0,
                ..whole.clone()
            };
            let allocation = Allocation {
                location: whole.location,
                range: rest.clone(),
                mapping: rest.clone(),
                stream: whole.stream,
                context: whole.context,
                pool: whole.pool,
                origin: whole.origin,
                retention: whole.retention,
                is_owned: whole.is_owned,
                is_part: false,
            };
            self.put_segment(rest.start, segment);
            self.undo.rests.push(rest.start);
            let entry = entry_of(Action::Alloc, &allocation);
            let number = self.push_undoable(journal, whole.location, entry);
            let block = Block {
                end: rest.end,
                stream: whole.stream,
                context: whole.context,
                origin: whole.origin,
                segment: rest.start,
                entry: number,
                is_part: false,
            };
            self.add_block(rest.start, block);
        }
    }
}
