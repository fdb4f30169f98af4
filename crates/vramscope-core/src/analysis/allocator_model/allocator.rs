//! The allocator itself: pools of free blocks, the best fit, splitting and joining.
//!
//! The rules are those of c10/cuda/CUDACachingAllocator.cpp as of torch 2.15, in its terms; `expandable` has
//! segments that grow, `release` what is given back to CUDA. Older versions differ in this: before 2.1 there are
//! no expandable segments; 2.12 took the older of equally large blocks, not the lower one.
//!
//! Addresses are numbers that a [`Driver`] hands out; they matter where free blocks are equally large.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::reserved::Reserved;
use super::settings::{ModelSettings, OWN_SEGMENT_BYTES};
use crate::analysis::gap::Arena;
use crate::model::PoolId;

/// No block, no reservation.
pub(super) const NONE: u32 = u32::MAX;

const MIB: u64 = 1 << 20;
/// Sizes are multiples of this, and no rest is smaller.
const UNIT_BYTES: u64 = 512;
/// The largest request that is served from the small pool, and the largest rest that stays with a large block.
pub(super) const SMALL_BYTES: u64 = MIB;
/// The segment, and the page of expandable segments, for small requests.
pub(super) const SMALL_SEGMENT_BYTES: u64 = 2 * MIB;
/// Larger segments are multiples of this.
const SEGMENT_UNIT_BYTES: u64 = 2 * MIB;

/// The pool of small requests outside of private pools, and that of the others.
pub(super) const DEFAULT_SMALL: u32 = 0;
/// See [`DEFAULT_SMALL`].
pub(super) const DEFAULT_LARGE: u32 = 1;

/// Free or unmapped blocks that a search looks at before it gives up. torch looks at all, of which there are few;
/// a hostile file could make it many for every request.
pub(super) const LOOK_AT_MOST: usize = 512;

/// CUDA, as far as the allocator asks it for memory.
pub(super) trait Driver {
    /// `cudaMalloc`: the address of so many bytes.
    fn malloc(&mut self, bytes: u64) -> Option<u64>;
    /// Address space for an expandable segment.
    fn reserve(&mut self, bytes: u64) -> Option<u64>;
    /// Memory behind a range of address space; whether there is so much.
    fn map(&mut self, address: u64, bytes: u64) -> bool;
    /// `cudaFree` or an unmapping.
    fn give_back(&mut self, address: u64, bytes: u64);
    /// Called where the allocator waits for all streams: blocks that become free by it.
    fn synchronise(&mut self) -> Vec<u32> {
        Vec::new()
    }
}

/// What a piece of address space is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// With the program, or freed by it while another stream may still use it.
    Allocated,
    /// In a pool.
    Free,
    /// Address space of an expandable segment without memory behind it.
    Unmapped,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// What the program asked for, while allocated.
    pub(super) requested: u64,
    /// Its neighbours in the segment.
    pub(super) prev: u32,
    pub(super) next: u32,
    /// Row of `pools`.
    pub(super) pool: u32,
    /// The handle's pattern: streams are ordered as unsigned numbers.
    pub(super) stream: u64,
    /// Row of `reservations`; [`NONE`] in an ordinary segment.
    pub(super) reservation: u32,
    pub(super) usage: Use,
    /// The pool's `searches` when it became free.
    since: u64,
}

/// Free blocks in the order of searches: stream, size, address; and the block.
pub(super) type Key = (u64, u64, u64, u32);

impl Block {
    fn key(&self, row: u32) -> Key {
        (self.stream, self.bytes, self.address, row)
    }

    /// Whether it is a whole ordinary segment.
    fn is_segment(&self) -> bool {
        self.reservation == NONE && self.prev == NONE && self.next == NONE
    }
}

/// Blocks that the same requests may have.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) id: PoolId,
    pub(super) is_small: bool,
    pub(super) free: BTreeSet<Key>,
    /// (stream, address, block).
    pub(super) unmapped: BTreeSet<(u64, u64, u32)>,
    /// Those free ones of which something could be given back.
    pub(super) releasable: BTreeSet<Key>,
    /// Free whole segments by when they became free. Kept where garbage is collected.
    pub(super) by_age: BTreeSet<(u64, Key)>,
    /// The sum of their first numbers.
    pub(super) age_sum: u128,
    /// How often a block was looked for. Counted where garbage is collected.
    pub(super) searches: u64,
}

/// An expandable segment's address space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) base: u64,
    pub(super) bytes: u64,
    /// What is mapped at once.
    pub(super) page: u64,
}

/// Bytes, and blocks in address order: address, bytes, whether active.
pub(super) type Segment = (u64, Vec<(u64, u64, bool)>);

/// A request on its way.
#[derive(Clone, Copy)]
pub(super) struct Request {
    /// Rounded.
    pub(super) bytes: u64,
    pub(super) stream: u64,
    pub(super) pool: u32,
}

/// One device's allocator.
pub(super) struct Allocator {
    pub(super) settings: ModelSettings,
    pub(super) blocks: Vec<Block>,
    spare: Vec<u32>,
    pub(super) pools: Vec<Pool>,
    pool_rows: HashMap<(PoolId, bool), u32>,
    pub(super) reservations: Vec<Reservation>,
    /// Private pools that nobody allocates from any more.
    pub(super) abandoned: BTreeSet<PoolId>,
    /// Held from CUDA.
    pub(super) reserved: Reserved,
    /// Bytes of allocated blocks.
    pub(super) active: u64,
    /// Bytes that were asked for in them.
    pub(super) requested: u64,
    /// Requests for which all cached memory was given back, as torch counts `num_alloc_retries`.
    pub(super) retries: u64,
}

impl Allocator {
    pub(super) fn new(settings: ModelSettings) -> Self {
        let mut allocator = Self {
            settings,
            blocks: Vec::new(),
            spare: Vec::new(),
            pools: Vec::new(),
            pool_rows: HashMap::new(),
            reservations: Vec::new(),
            abandoned: BTreeSet::new(),
            reserved: Reserved::default(),
            active: 0,
            requested: 0,
            retries: 0,
        };
        allocator.pool_row(PoolId::default(), true);
        allocator.pool_row(PoolId::default(), false);
        allocator
    }

    /// The row of a pool, made if need be.
    pub(super) fn pool_row(&mut self, id: PoolId, is_small: bool) -> u32 {
        let pools = &mut self.pools;
        *self.pool_rows.entry((id, is_small)).or_insert_with(|| {
            pools.push(Pool {
                id,
                is_small,
                ..Pool::default()
            });
            pools.len() as u32 - 1
        })
    }

    /// A program's request, rounded and sorted.
    pub(super) fn request(&mut self, bytes: u64, stream: i64, pool: PoolId) -> Request {
        let bytes = self.settings.round(bytes);
        Request {
            bytes,
            stream: stream.cast_unsigned(),
            pool: self.pool_row(pool, bytes <= SMALL_BYTES),
        }
    }

    /// Serves a request of `asked` bytes; `None` if it is refused.
    pub(super) fn malloc(
        &mut self,
        request: Request,
        asked: u64,
        driver: &mut impl Driver,
    ) -> Option<u32> {
        let pool = &mut self.pools[request.pool as usize];
        if self.settings.collects_garbage() {
            pool.searches += 1;
        }
        let found = match self.find_free(request) {
            Some(row) => {
                self.take_from_pool(row);
                row
            }
            None => self.obtain(request, driver)?,
        };
        Some(self.hand_out(found, request, asked))
    }

    /// Memory from CUDA, after giving back what stands in the way.
    fn obtain(&mut self, request: Request, driver: &mut impl Driver) -> Option<u32> {
        if self.settings.collects_garbage() {
            self.collect_garbage(driver);
        }
        if let Some(row) = self.grow(request, driver) {
            return Some(row);
        }
        if self.release_oversize(request, driver)
            && let Some(row) = self.grow(request, driver)
        {
            return Some(row);
        }
        // A private pool is only used while a capture may be under way, in which nothing can be waited for.
        if self.pools[request.pool as usize].id.is_private() {
            return None;
        }
        self.retries += 1;
        self.release_cached(driver);
        self.grow(request, driver)
    }

    /// Asks CUDA once.
    fn grow(&mut self, request: Request, driver: &mut impl Driver) -> Option<u32> {
        let bytes = self.settings.segment_bytes(request.bytes);
        let allowed = self.settings.allowed_bytes.unwrap_or(u64::MAX);
        if self.reserved.bytes.checked_add(bytes)? > allowed {
            return None;
        }
        if self.settings.expandable_segments {
            return self.expand(request, driver);
        }
        let address = driver.malloc(bytes)?;
        let row = self.new_block(address, bytes, request.pool, request.stream, NONE);
        self.reserved.obtain(self.arena(row), bytes);
        Some(row)
    }

    /// The free block that a request gets: the smallest that is large enough, of those the lowest.
    pub(super) fn find_free(&self, request: Request) -> Option<u32> {
        let free = &self.pools[request.pool as usize].free;
        let fitting = free.range((request.stream, request.bytes, 0, 0)..);
        let mut fitting = fitting.take_while(|key| key.0 == request.stream);
        let mut row = fitting.next()?.3;
        if self.blocks[row as usize].reservation != NONE {
            let mut others = fitting.take(LOOK_AT_MOST);
            if self.settings.expandable_segments {
                // Best fit by what a block could grow to.
                while self.blocks[row as usize].reservation != NONE
                    && let Some(next) = others.next()
                    && self.extent(next.3) < self.extent(row)
                {
                    row = next.3;
                }
            } else {
                // Switched off since: what is there of them is not used.
                row = others
                    .find(|key| self.blocks[key.3 as usize].reservation == NONE)?
                    .3;
            }
        }
        let (bytes, most) = (self.blocks[row as usize].bytes, self.settings.max_split());
        let rounding = self.settings.max_non_split_rounding_bytes;
        let fits = if request.bytes < most {
            bytes < most
        } else {
            bytes < request.bytes.saturating_add(rounding)
        };
        fits.then_some(row)
    }

    /// What a free block could grow to in place.
    fn extent(&self, row: u32) -> u64 {
        let block = &self.blocks[row as usize];
        let next = self.blocks.get(block.next as usize);
        let more = next.filter(|next| next.usage == Use::Unmapped);
        block
            .bytes
            .saturating_add(more.map_or(0, |next| next.bytes))
    }

    /// Cuts off what is too much and hands the block out. It is in no pool.
    fn hand_out(&mut self, row: u32, request: Request, asked: u64) -> u32 {
        let block = self.blocks[row as usize];
        let rest = block.bytes.saturating_sub(request.bytes);
        let row = if self.splits(request, rest) {
            let front = self.new_block(
                block.address,
                request.bytes,
                block.pool,
                block.stream,
                block.reservation,
            );
            self.link(block.prev, front);
            self.link(front, row);
            let back = &mut self.blocks[row as usize];
            back.address = back.address.wrapping_add(request.bytes);
            back.bytes = rest;
            self.put_into_pool(row);
            front
        } else {
            row
        };
        let block = &mut self.blocks[row as usize];
        block.usage = Use::Allocated;
        block.requested = asked;
        self.active = self.active.saturating_add(block.bytes);
        self.requested = self.requested.saturating_add(asked);
        row
    }

    fn splits(&self, request: Request, rest: u64) -> bool {
        if self.pools[request.pool as usize].is_small || self.settings.expandable_segments {
            rest >= UNIT_BYTES
        } else {
            request.bytes < self.settings.max_split() && rest > SMALL_BYTES
        }
    }

    /// Takes a block back, joined with its free neighbours.
    pub(super) fn free(&mut self, row: u32) {
        let block = self.blocks[row as usize];
        self.active = self.active.saturating_sub(block.bytes);
        self.requested = self.requested.saturating_sub(block.requested);
        self.blocks[row as usize].usage = Use::Free;
        self.join(row);
        self.put_into_pool(row);
    }

    /// Joins a block that is in no pool with neighbours that are doing the same.
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

    /// A new allocated block by itself.
    pub(super) fn new_block(
        &mut self,
        address: u64,
        bytes: u64,
        pool: u32,
        stream: u64,
        reservation: u32,
    ) -> u32 {
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
            since: 0,
        };
        if let Some(row) = self.spare.pop() {
            self.blocks[row as usize] = block;
            return row;
        }
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// Whose memory a block is.
    pub(super) fn arena(&self, row: u32) -> Arena {
        let block = &self.blocks[row as usize];
        Arena {
            pool: self.pools[block.pool as usize].id,
            stream: block.stream.cast_signed(),
        }
    }

    /// All mapped memory, as a snapshot lists it: address → bytes and blocks (address, bytes, whether active).
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

    /// Forgets a block that is in no pool, with its neighbours unlinked.
    pub(super) fn forget(&mut self, row: u32) {
        self.spare.push(row);
    }

    /// Makes one block the other's neighbour; either may be none.
    pub(super) fn link(&mut self, before: u32, after: u32) {
        if let Some(block) = self.blocks.get_mut(before as usize) {
            block.next = after;
        }
        if let Some(block) = self.blocks.get_mut(after as usize) {
            block.prev = before;
        }
    }

    /// Puts a block among the free ones, or the unmapped ones if it is that.
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
    }

    /// Takes a block out of its pool.
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

    /// Whether something of a free block could be given back.
    fn is_releasable(&self, row: u32) -> bool {
        let block = &self.blocks[row as usize];
        block.is_segment() || self.whole_pages(block).is_some()
    }
}

impl ModelSettings {
    /// The size of a block for a request, if the rest of the free block is cut off.
    pub(super) fn round(&self, bytes: u64) -> u64 {
        // No device has that much: sums of what is granted must not overflow.
        let bytes = bytes.clamp(1, 1 << 60);
        let log2 = bytes.ilog2();
        let interval =
            (log2.saturating_sub(20) as usize).min(self.roundup_power2_divisions.len() - 1);
        let divisions = self.roundup_power2_divisions[interval];
        if divisions > 1 && bytes > UNIT_BYTES.saturating_mul(divisions) {
            if bytes.is_power_of_two() {
                return bytes;
            }
            let part = (1_u64 << log2) >> divisions.ilog2();
            return bytes.next_multiple_of(part.max(1));
        }
        bytes.next_multiple_of(UNIT_BYTES)
    }

    /// What is asked of CUDA for a rounded request, in ordinary segments.
    pub(super) fn segment_bytes(&self, bytes: u64) -> u64 {
        if bytes <= SMALL_BYTES {
            SMALL_SEGMENT_BYTES
        } else if bytes < OWN_SEGMENT_BYTES {
            self.large_segment_bytes
        } else {
            bytes.next_multiple_of(SEGMENT_UNIT_BYTES)
        }
    }

    /// The most that CUDA may be asked for at once for a rounded request.
    pub(super) fn most_mapped(&self, bytes: u64) -> u64 {
        let bytes = bytes.min(1 << 60);
        if self.expandable_segments && bytes > SMALL_BYTES {
            bytes.next_multiple_of(self.large_segment_bytes)
        } else {
            self.segment_bytes(bytes)
        }
    }

    /// Whether `garbage_collection_threshold` acts: where the process limits itself.
    pub(super) fn collects_garbage(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes.is_some()
    }
}
