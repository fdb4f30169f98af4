//! Blocks, their neighbours in the segment, and the pools that contain them while they are free.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::allocator::{Allocator, DEFAULT_LARGE, NONE};
use super::settings::Ties;
use vramscope_core::model::PoolId;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Used by the program, or freed by it while another stream may still be using it.
    Allocated,
    /// Free, and in a pool.
    Free,
    /// Address space of an expandable segment without memory behind it.
    Unmapped,
}

/// A block: a contiguous part of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// Requested bytes, while it is allocated.
    pub(super) requested: u64,
    /// Its neighbours in the segment, or [`NONE`].
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) pool: u32,
    /// The handle's bits. torch orders streams as unsigned numbers.
    pub(super) stream: u64,
    /// Row of `reservations`; [`NONE`] in an ordinary segment.
    pub(super) reservation: u32,
    pub(super) usage: Use,
    /// Of equally large free blocks, the one with the lowest `order` is taken, then the one with the lowest address.
    pub(super) order: u32,
    /// The pool's `searches` when it became free.
    since: u64,
}

/// Sort key of a free block in the order of searches: stream, size, (order, address), block.
pub(super) type Key = (u64, u64, (u32, u64), u32);

/// Sorts before all blocks of one size.
pub(super) const FIRST: (u32, u64) = (0, 0);
/// Sorts after all blocks of one size.
pub(super) const LAST: (u32, u64) = (u32::MAX, u64::MAX);

impl Block {
    fn key(&self, row: u32) -> Key {
        (self.stream, self.bytes, (self.order, self.address), row)
    }

    fn is_segment(&self) -> bool {
        self.reservation == NONE && self.prev == NONE && self.next == NONE
    }
}

/// A pool of blocks for the requests of one pool id and size class.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) id: PoolId,
    pub(super) is_small: bool,
    pub(super) free: BTreeSet<Key>,
    /// Unmapped blocks as (stream, address, block).
    pub(super) unmapped: BTreeSet<(u64, u64, u32)>,
    /// The free blocks of which at least a part could be returned to CUDA.
    pub(super) releasable: BTreeSet<Key>,
    /// Entirely free segments by the time at which they became free. Only maintained if garbage is collected.
    pub(super) by_age: BTreeSet<(u64, Key)>,
    /// The sum of the times in `by_age`.
    pub(super) age_sum: u128,
    /// Number of searches in this pool, which is torch's measure of age. Only counted if garbage is collected.
    pub(super) searches: u64,
}

/// A segment's bytes and its blocks in address order, each as (address, bytes, whether active).
pub(super) type Segment = (u64, Vec<(u64, u64, bool)>);

impl Allocator {
    /// Merges a block that is in no pool with neighbours of the same use.
    pub(super) fn join(&mut self, row: u32) {
        let Block {
            prev, next, usage, ..
        } = self.blocks[row as usize];
        for neighbour in [prev, next] {
            let Some(other) = self.blocks.get(neighbour as usize).copied() else {
                continue;
            };
            if other.usage != usage {
                continue;
            }
            self.take_from_pool(neighbour);
            let block = &mut self.blocks[row as usize];
            block.bytes = block.bytes.saturating_add(other.bytes);
            if neighbour == prev {
                block.address = other.address;
                self.link(other.prev, row);
            } else {
                self.link(row, other.next);
            }
            self.spare.push(neighbour);
        }
    }

    /// The next unused [`Block::order`].
    pub(super) fn next_order(&mut self) -> u32 {
        self.last_order = self.last_order.saturating_add(1);
        self.last_order
    }

    /// Adds an allocated block without neighbours.
    pub(super) fn new_block(
        &mut self,
        address: u64,
        bytes: u64,
        pool: u32,
        stream: u64,
        reservation: u32,
    ) -> u32 {
        let order = match self.settings.ties {
            Ties::OlderBlock => self.next_order(),
            Ties::Lowest | Ties::OlderSegment => 0,
        };
        let block = Block {
            address,
            bytes,
            requested: 0,
            prev: NONE,
            next: NONE,
            pool,
            stream,
            reservation,
            usage: Use::Allocated,
            order,
            since: 0,
        };
        if let Some(row) = self.spare.pop() {
            self.blocks[row as usize] = block;
            return row;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// All mapped memory as a snapshot lists it, by address.
    pub(super) fn segments(&self) -> BTreeMap<u64, Segment> {
        let gone: HashSet<u32> = self.spare.iter().copied().collect();
        let mut segments = BTreeMap::new();
        for row in (0..self.blocks.len() as u32).filter(|row| !gone.contains(row)) {
            let is_mapped = |row: u32| {
                self.blocks
                    .get(row as usize)
                    .filter(|block| block.usage != Use::Unmapped)
            };
            let Some(head) = is_mapped(row).filter(|block| is_mapped(block.prev).is_none()) else {
                continue;
            };
            let mut segment = (0_u64, Vec::new());
            let mut next = row;
            while let Some(block) = is_mapped(next) {
                segment.0 = segment.0.saturating_add(block.bytes);
                segment
                    .1
                    .push((block.address, block.bytes, block.usage == Use::Allocated));
                next = block.next;
            }
            segments.insert(head.address, segment);
        }
        segments
    }

    /// Removes a block that is in no pool, and unlinks it.
    pub(super) fn forget(&mut self, row: u32) {
        self.spare.push(row);
    }

    /// Makes two blocks neighbours. Either may be [`NONE`].
    pub(super) fn link(&mut self, before: u32, after: u32) {
        if let Some(block) = self.blocks.get_mut(before as usize) {
            block.next = after;
        }
        if let Some(block) = self.blocks.get_mut(after as usize) {
            block.prev = before;
        }
    }

    /// Adds a block to its pool's free or unmapped blocks.
    pub(super) fn put_into_pool(&mut self, row: u32) {
        let releasable = self.is_releasable(row);
        let block = &mut self.blocks[row as usize];
        let pool = &mut self.pools[block.pool as usize];
        if block.usage == Use::Unmapped {
            pool.unmapped.insert((block.stream, block.address, row));
            return;
        }
        block.usage = Use::Free;
        block.since = pool.searches;
        let key = block.key(row);
        pool.free.insert(key);
        if releasable {
            pool.releasable.insert(key);
        }
        if block.pool == DEFAULT_LARGE && block.is_segment() && self.settings.collects_garbage() {
            pool.by_age.insert((block.since, key));
            pool.age_sum += u128::from(block.since);
        }
        if releasable {
            let row = block.pool;
            self.give_up(row);
        }
    }

    pub(super) fn take_from_pool(&mut self, row: u32) {
        let block = &self.blocks[row as usize];
        let pool = &mut self.pools[block.pool as usize];
        if block.usage == Use::Unmapped {
            pool.unmapped.remove(&(block.stream, block.address, row));
            return;
        }
        let key = block.key(row);
        pool.free.remove(&key);
        pool.releasable.remove(&key);
        if pool.by_age.remove(&(block.since, key)) {
            pool.age_sum -= u128::from(block.since);
        }
    }

    /// Whether at least a part of a free block could be returned to CUDA.
    fn is_releasable(&self, row: u32) -> bool {
        let block = &self.blocks[row as usize];
        block.is_segment() || self.whole_pages(block).is_some()
    }
}
