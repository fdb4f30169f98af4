//! Turns a recorded state into a modelled allocator.
//!
//! A recording does not show where the address space of an expandable segment begins and ends. All ranges of one pool,
//! stream and size class are assumed to form one address space. It begins at the lowest range, because it is filled from
//! there, and extends to the next segment of another pool or stream.

use std::collections::BTreeMap;

use super::allocator::{Allocator, NONE, Reservation};
use super::blocks::Use;
use super::expandable::UNKNOWN_DEVICE_BYTES;
use super::settings::{ModelSettings, Ties};
use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, SegmentState, SizeClass,
};
use vramscope_core::analysis::memory::gap::Arena;

/// An allocator, and the blocks of the recording's allocations in it.
pub(super) struct Recorded {
    pub(super) allocator: Allocator,
    /// The block of each allocation, or [`NONE`].
    pub(super) blocks: Vec<u32>,
}

impl Recorded {
    /// An allocator with these settings in this state. `allocations` is the number of all allocations.
    pub(super) fn of(settings: &ModelSettings, state: &AllocatorState, allocations: usize) -> Self {
        let mut recorded = Self {
            allocator: Allocator::new(settings.clone()),
            blocks: vec![NONE; allocations],
        };
        // Ranges of one address space.
        let mut spaces: BTreeMap<(u32, u64), Vec<&SegmentState>> = BTreeMap::new();
        for segment in &state.segments {
            let is_small = segment.size_class == Some(SizeClass::Small);
            let pool = recorded
                .allocator
                .pool_row(segment.pool.unwrap_or_default(), is_small);
            let stream = segment.stream.cast_unsigned();
            if segment.is_expandable {
                spaces.entry((pool, stream)).or_default().push(segment);
            } else {
                recorded.add_segment(segment, pool, NONE, NONE);
            }
        }
        let starts: Vec<u64> = state
            .segments
            .iter()
            .map(|segment| segment.address)
            .collect();
        for ((pool, stream), ranges) in spaces {
            recorded.add_space(pool, stream, &ranges, &starts);
        }
        recorded.fill_pools();
        recorded
    }

    fn add_space(&mut self, pool: u32, stream: u64, ranges: &[&SegmentState], starts: &[u64]) {
        let page = self
            .allocator
            .page_bytes(self.allocator.pools[pool as usize].is_small);
        let mut last = NONE;
        for (place, range) in ranges.iter().enumerate() {
            let reservation = self.allocator.reservations.last();
            let goes_on = last != NONE
                && reservation.is_some_and(|space| {
                    let offset = range.address - space.base;
                    offset.is_multiple_of(page) && offset < space.bytes
                });
            if !goes_on {
                self.add_unmapped(last, pool, stream, u64::MAX);
                last = NONE;
                self.allocator.reservations.push(Reservation {
                    base: range.address,
                    bytes: UNKNOWN_DEVICE_BYTES.min(u64::MAX - range.address),
                    page,
                });
            }
            last = self.add_unmapped(last, pool, stream, range.address);
            let row = self.allocator.reservations.len() as u32 - 1;
            last = self.add_segment(range, pool, row, last);
            let is_last = place + 1 == ranges.len();
            if is_last {
                let above = starts.partition_point(|&start| start <= range.address);
                let end = starts.get(above).copied().unwrap_or(u64::MAX);
                self.add_unmapped(last, pool, stream, end);
            }
        }
    }

    /// Adds unmapped address space, in whole pages, from a chain's last block up to an address. Returns the new last
    /// block.
    fn add_unmapped(&mut self, last: u32, pool: u32, stream: u64, to: u64) -> u32 {
        let Some(block) = self.allocator.blocks.get(last as usize).copied() else {
            return last;
        };
        let space = self.allocator.reservations[block.reservation as usize];
        let from = block.address.saturating_add(block.bytes);
        let end = to.min(space.base.saturating_add(space.bytes));
        let bytes = end.saturating_sub(from) / space.page * space.page;
        if bytes == 0 {
            return last;
        }
        let row = self
            .allocator
            .new_block(from, bytes, pool, stream, block.reservation);
        self.allocator.blocks[row as usize].usage = Use::Unmapped;
        self.allocator.link(last, row);
        row
    }

    /// Adds the blocks of a segment after `last`, which may be [`NONE`]. Returns the last one.
    fn add_segment(
        &mut self,
        segment: &SegmentState,
        pool: u32,
        reservation: u32,
        mut last: u32,
    ) -> u32 {
        let allocator = &mut self.allocator;
        let arena = Arena {
            pool: allocator.pools[pool as usize].id,
            stream: segment.stream,
        };
        allocator.reserved.obtain(arena, segment.bytes);
        // Segments older than the recording came first, in unknown order.
        let of_segment = allocator.settings.ties == Ties::OlderSegment && !segment.is_expandable;
        let mapped_by = segment.mapped_by.filter(|_| of_segment);
        let order = mapped_by.map_or(0, |event| event.0.saturating_add(1));
        allocator.last_order = allocator.last_order.max(order);
        for block in &segment.blocks {
            if block.bytes == 0 {
                continue;
            }
            let row = allocator.new_block(
                block.address,
                block.bytes,
                pool,
                segment.stream.cast_unsigned(),
                reservation,
            );
            let new = &mut allocator.blocks[row as usize];
            if of_segment {
                new.order = order;
            }
            if block.usage == BlockUse::Free {
                new.usage = Use::Free;
            } else {
                new.requested = block.requested_bytes;
                allocator.active = allocator.active.saturating_add(block.bytes);
                allocator.requested = allocator.requested.saturating_add(block.requested_bytes);
            }
            allocator.link(last, row);
            last = row;
            if let Some(id) = block.allocation {
                self.blocks[id.index()] = row;
            }
        }
        last
    }

    fn fill_pools(&mut self) {
        for row in 0..self.allocator.blocks.len() as u32 {
            if self.allocator.blocks[row as usize].usage != Use::Allocated {
                self.allocator.put_into_pool(row);
            }
        }
    }
}
