//! Expandable segments: address space is reserved once per pool and stream, and memory is mapped to it page by page.
//!
//! The blocks of a reservation form a chain, as in an ordinary segment. Some of them are unmapped.

use super::allocator::{Allocator, Driver, LOOK_AT_MOST, NONE, Request, Reservation};
use super::blocks::{Block, Use};
use vramscope_core::analysis::memory::allocator_rules::SMALL_SEGMENT_BYTES;

/// Address space of a reservation if the device's size is unknown: more than any device has.
pub(super) const UNKNOWN_DEVICE_BYTES: u64 = 1 << 40;

/// Blocks that a search for address space examines before it gives up; see [`LOOK_AT_MOST`].
const BLOCKS_LOOKED_AT: usize = 1 << 12;

impl Allocator {
    /// Makes a free block for a request from free memory and newly mapped pages. The block is in no pool.
    pub(super) fn expand(&mut self, request: Request, driver: &mut impl Driver) -> Option<u32> {
        let mut row = match self.find_space(request) {
            Some(row) => row,
            None => self.new_reservation(request, driver)?,
        };
        if self.blocks[row as usize].usage == Use::Unmapped {
            self.map(row, request.bytes, driver)?;
        }
        // A free block followed by an unmapped one: newly mapped pages merge with the free block.
        while self.blocks[row as usize].bytes < request.bytes {
            let missing = request.bytes - self.blocks[row as usize].bytes;
            row = self.blocks[row as usize].next;
            self.map(row, missing, driver)?;
        }
        self.take_from_pool(row);
        Some(row)
    }

    /// The lowest range in the stream's reservations that is large enough and consists of free or unmapped blocks.
    fn find_space(&self, request: Request) -> Option<u32> {
        let unmapped = &self.pools[request.pool as usize].unmapped;
        let own = unmapped.range((request.stream, 0, 0)..=(request.stream, u64::MAX, NONE));
        let mut candidates = own.map(|&(.., row)| {
            let prev = self.blocks[row as usize].prev;
            let before = self.blocks.get(prev as usize);
            if before.is_some_and(|before| before.usage != Use::Allocated) {
                prev
            } else {
                row
            }
        });
        let mut steps = BLOCKS_LOOKED_AT;
        candidates
            .by_ref()
            .take(LOOK_AT_MOST)
            .find(|&row| self.has_space(row, request.bytes, &mut steps))
            .or_else(|| {
                steps = BLOCKS_LOOKED_AT;
                candidates
                    .next_back()
                    .filter(|&row| self.has_space(row, request.bytes, &mut steps))
            })
    }

    /// Whether the blocks from `row` on provide so many free or unmapped bytes. Examines at most `steps` blocks.
    fn has_space(&self, mut row: u32, bytes: u64, steps: &mut usize) -> bool {
        let mut found = 0_u64;
        while let Some(block) = self.blocks.get(row as usize)
            && block.usage != Use::Allocated
            && found < bytes
            && *steps > 0
        {
            found = found.saturating_add(block.bytes);
            row = block.next;
            *steps -= 1;
        }
        found >= bytes
    }

    /// Reserves address space: nine eighths of the device's memory, because it can become fragmented by unmapped pages.
    fn new_reservation(&mut self, request: Request, driver: &mut impl Driver) -> Option<u32> {
        let page = self.page_bytes(self.pools[request.pool as usize].is_small);
        let device = self.settings.capacity_bytes.unwrap_or(UNKNOWN_DEVICE_BYTES);
        let device = device.min(1 << 60);
        let bytes = (device + device / 8).checked_next_multiple_of(page)?;
        if bytes < request.bytes {
            return None;
        }
        let base = driver.reserve(bytes)?;
        self.reservations.push(Reservation { base, bytes, page });
        let reservation = self.reservations.len() as u32 - 1;
        let row = self.new_block(base, bytes, request.pool, request.stream, reservation);
        self.blocks[row as usize].usage = Use::Unmapped;
        self.put_into_pool(row);
        Some(row)
    }

    /// The page size of new reservations.
    pub(super) fn page_bytes(&self, is_small: bool) -> u64 {
        if is_small {
            SMALL_SEGMENT_BYTES
        } else {
            self.settings.large_segment_bytes.max(SMALL_SEGMENT_BYTES)
        }
    }

    /// Maps as many pages of an unmapped block as `bytes` need, and merges them with free neighbours. The result keeps
    /// the row and goes to its pool. `None` if CUDA has not enough memory.
    fn map(&mut self, row: u32, bytes: u64, driver: &mut impl Driver) -> Option<()> {
        let block = self.blocks[row as usize];
        let page = self.reservations[block.reservation as usize].page;
        let mapped = bytes
            .min(block.bytes)
            .checked_next_multiple_of(page)?
            .min(block.bytes);
        if !driver.map(block.address, mapped) {
            return None;
        }
        self.take_from_pool(row);
        self.blocks[row as usize].usage = Use::Free;
        if mapped < block.bytes {
            let rest = self.new_block(
                block.address.wrapping_add(mapped),
                block.bytes - mapped,
                block.pool,
                block.stream,
                block.reservation,
            );
            self.blocks[rest as usize].usage = Use::Unmapped;
            self.link(rest, block.next);
            self.link(row, rest);
            self.blocks[row as usize].bytes = mapped;
            self.put_into_pool(rest);
        }
        self.join(row);
        self.put_into_pool(row);
        self.reserved.obtain(self.arena(row), mapped);
        Some(())
    }

    /// The pages that lie wholly within a block of an expandable segment, as (offset in the block, bytes).
    pub(super) fn whole_pages(&self, block: &Block) -> Option<(u64, u64)> {
        let reservation = self.reservations.get(block.reservation as usize)?;
        let offset = block.address.wrapping_sub(reservation.base);
        let from = offset.checked_next_multiple_of(reservation.page)?;
        let to = offset.saturating_add(block.bytes) / reservation.page * reservation.page;
        (from < to).then(|| (from - offset, to - from))
    }

    /// Unmaps the whole pages of a free block.
    pub(super) fn unmap(&mut self, row: u32, driver: &mut impl Driver) {
        let block = self.blocks[row as usize];
        let Some((before, bytes)) = self.whole_pages(&block) else {
            return;
        };
        self.take_from_pool(row);
        let after = block.bytes - before - bytes;
        let address = block.address.wrapping_add(before);
        for (at, bytes, is_before) in [
            (block.address, before, true),
            (address.wrapping_add(bytes), after, false),
        ] {
            if bytes == 0 {
                continue;
            }
            let rest = self.new_block(at, bytes, block.pool, block.stream, block.reservation);
            let Block { prev, next, .. } = self.blocks[row as usize];
            if is_before {
                self.link(prev, rest);
                self.link(rest, row);
            } else {
                self.link(rest, next);
                self.link(row, rest);
            }
            self.put_into_pool(rest);
        }
        let block = &mut self.blocks[row as usize];
        block.address = address;
        block.bytes = bytes;
        block.usage = Use::Unmapped;
        self.join(row);
        self.reserved.give_back(self.arena(row), bytes);
        let block = self.blocks[row as usize];
        if block.prev == NONE && block.next == NONE {
            // Nothing of the reservation is mapped any more.
            self.forget(row);
        } else {
            self.put_into_pool(row);
        }
        driver.give_back(address, bytes);
    }
}
