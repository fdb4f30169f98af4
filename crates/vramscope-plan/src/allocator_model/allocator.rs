//! The allocator itself: pools of free blocks, best fit, splitting and merging.
//!
//! The rules are those of c10/cuda/CUDACachingAllocator.cpp as of torch 2.15, in its terms. `blocks` has its data,
//! `expandable` the segments that grow, `release` the ways in which memory is returned to CUDA. Older versions differ:
//! before 2.1 there are no expandable segments, and they choose differently among equally large blocks (`Ties`).
//!
//! Addresses are numbers that a [`Driver`] hands out. They matter only among equally large free blocks.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::blocks::{Block, FIRST, Pool, Use};
use super::reserved::Reserved;
use super::settings::{ModelSettings, Ties};
use vramscope_core::analysis::memory::allocator_rules::{SMALL_BYTES, UNIT_BYTES};
use vramscope_core::analysis::memory::gap::Arena;
use vramscope_core::model::PoolId;

/// Stands for the absence of a block or reservation.
pub(super) const NONE: u32 = u32::MAX;

/// The row of the default pool for small requests.
pub(super) const DEFAULT_SMALL: u32 = 0;
/// The row of the default pool for large requests.
pub(super) const DEFAULT_LARGE: u32 = 1;

/// Free or unmapped blocks that a search examines before it gives up. torch examines all of them, and genuine programs
/// have few; a hostile file could have very many.
pub(super) const LOOK_AT_MOST: usize = 512;

/// The part of CUDA that the allocator uses.
pub(super) trait Driver {
    /// `cudaMalloc`: returns the address of the new memory.
    fn malloc(&mut self, bytes: u64) -> Option<u64>;
    /// Reserves address space for an expandable segment, and returns its address.
    fn reserve(&mut self, bytes: u64) -> Option<u64>;
    /// Maps memory to a range of address space. Returns whether there was enough.
    fn map(&mut self, address: u64, bytes: u64) -> bool;
    /// `cudaFree`, or unmapping.
    fn give_back(&mut self, address: u64, bytes: u64);
    /// Waits for all streams. Returns the blocks that this makes free.
    fn synchronise(&mut self) -> Vec<u32> {
        Vec::new()
    }
}

/// The address space of an expandable segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub(super) base: u64,
    pub(super) bytes: u64,
    /// The unit of mapping in bytes.
    pub(super) page: u64,
}

/// A request with its size rounded and its pool found.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) bytes: u64,
    pub(super) stream: u64,
    pub(super) pool: u32,
}

pub(super) struct Allocator {
    pub(super) settings: ModelSettings,
    pub(super) blocks: Vec<Block>,
    pub(super) spare: Vec<u32>,
    pub(super) pools: Vec<Pool>,
    pub(super) pool_rows: HashMap<(PoolId, bool), u32>,
    pub(super) reservations: Vec<Reservation>,
    /// Private pools from which nothing is allocated any more.
    pub(super) abandoned: HashSet<PoolId>,
    /// Rows of abandoned pools with something to release, as (pool, whether for large requests, row).
    pub(super) given_up: BTreeSet<(PoolId, bool, u32)>,
    /// The highest `order` of a block.
    pub(super) last_order: u32,
    /// Bytes held from the device.
    pub(super) reserved: Reserved,
    /// Bytes of allocated blocks.
    pub(super) active: u64,
    /// Requested bytes of allocated blocks.
    pub(super) requested: u64,
    /// Number of requests for which all cached memory was returned to CUDA (`num_alloc_retries`).
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
            abandoned: HashSet::new(),
            given_up: BTreeSet::new(),
            last_order: 0,
            reserved: Reserved::default(),
            active: 0,
            requested: 0,
            retries: 0,
        };
        allocator.pool_row(PoolId::default(), true);
        allocator.pool_row(PoolId::default(), false);
        allocator
    }

    /// The row of a pool, which is created if it is new.
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

    /// Rounds a program's request and finds its pool.
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

    /// Obtains memory from the device. If there is not enough, it returns cached memory and tries again.
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
        // A private pool is in use only while a graph may be captured, and then streams cannot be waited for.
        if self.pools[request.pool as usize].id.is_private() {
            return None;
        }
        self.retries += 1;
        self.release_cached(driver);
        self.grow(request, driver)
    }

    /// Asks CUDA once for memory.
    fn grow(&mut self, request: Request, driver: &mut impl Driver) -> Option<u32> {
        let bytes = self.settings.segment_bytes(request.bytes);
        let allowed = self.settings.allowed_bytes().unwrap_or(u64::MAX);
        if self.reserved.bytes.checked_add(bytes)? > allowed {
            return None;
        }
        if self.settings.expandable_segments {
            return self.expand(request, driver);
        }
        let address = driver.malloc(bytes)?;
        let row = self.new_block(address, bytes, request.pool, request.stream, NONE);
        if self.settings.ties == Ties::OlderSegment {
            self.blocks[row as usize].order = self.next_order();
        }
        self.reserved.obtain(self.arena(row), bytes);
        Some(row)
    }

    /// The free block for a request: the smallest that is large enough. Ties are decided by the version's rule.
    pub(super) fn find_free(&self, request: Request) -> Option<u32> {
        let free = &self.pools[request.pool as usize].free;
        let fitting = free.range((request.stream, request.bytes, FIRST, 0)..);
        let mut fitting = fitting.take_while(|key| key.0 == request.stream);
        let mut row = fitting.next()?.3;
        if self.blocks[row as usize].reservation != NONE {
            let mut others = fitting.take(LOOK_AT_MOST);
            if self.settings.expandable_segments {
                // Best fit by the size to which a block could grow.
                while self.blocks[row as usize].reservation != NONE
                    && let Some(next) = others.next()
                    && self.extent(next.3) < self.extent(row)
                {
                    row = next.3;
                }
            } else {
                // Expandable segments have been switched off since, and existing ones are no longer used.
                row = others
                    .find(|key| self.blocks[key.3 as usize].reservation == NONE)?
                    .3;
            }
        }
        let (bytes, most) = (self.blocks[row as usize].bytes, self.settings.max_split());
        let rounding = self.settings.max_non_split_rounding();
        let fits = if request.bytes < most {
            bytes < most
        } else {
            bytes < request.bytes.saturating_add(rounding)
        };
        fits.then_some(row)
    }

    /// The size to which a free block could grow in place.
    fn extent(&self, row: u32) -> u64 {
        let block = &self.blocks[row as usize];
        let next = self.blocks.get(block.next as usize);
        let more = next.filter(|next| next.usage == Use::Unmapped);
        block
            .bytes
            .saturating_add(more.map_or(0, |next| next.bytes))
    }

    /// Splits off the remainder if the rules say so, and allocates the block, which must be in no pool.
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
            if self.settings.ties == Ties::OlderSegment {
                self.blocks[front as usize].order = block.order;
            }
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

    /// Frees a block and merges it with its free neighbours.
    pub(super) fn free(&mut self, row: u32) {
        let block = self.blocks[row as usize];
        self.active = self.active.saturating_sub(block.bytes);
        self.requested = self.requested.saturating_sub(block.requested);
        self.blocks[row as usize].usage = Use::Free;
        self.join(row);
        self.put_into_pool(row);
    }

    /// The pool and stream of a block.
    pub(super) fn arena(&self, row: u32) -> Arena {
        let block = &self.blocks[row as usize];
        Arena {
            pool: self.pools[block.pool as usize].id,
            stream: block.stream.cast_signed(),
        }
    }
}
