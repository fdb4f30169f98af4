//! A model of torch's caching allocator, on addresses alone.
//!
//! It models what a snapshot shows: rounding to 512 bytes, a small pool (requests of at most
//! 1 MiB in 2 MiB segments) and a large one (20 MiB, or the request rounded to 2 MiB), best fit,
//! splitting and merging, pools and streams that share nothing, expandable segments that map and
//! unmap, and the retry that empties the cache before an out-of-memory error. Segments and blocks
//! are two ordered maps by address; blocks always tile the segments.

mod expandable;

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::{Block, BlockState, PoolId, Segment, StackRef};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// Sizes of blocks are multiples of this, in bytes.
pub const ROUNDING_BYTES: u64 = 512;
/// The largest request that the small pool serves, in bytes.
pub const SMALL_LIMIT_BYTES: u64 = MIB;
const SMALL_SEGMENT_BYTES: u64 = 2 * MIB;
const LARGE_SEGMENT_BYTES: u64 = 20 * MIB;
const MIN_OWN_SEGMENT_BYTES: u64 = 10 * MIB;

/// A part of the heap: blocks of different arenas never serve each other's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arena {
    pub pool: PoolId,
    pub stream: i64,
    /// Whether it serves requests of at most 1 MiB.
    pub is_small: bool,
}

impl Arena {
    /// The arena of a request.
    #[must_use]
    pub fn of(bytes: u64, stream: i64, pool: PoolId) -> Self {
        Self {
            pool,
            stream,
            is_small: round_size(bytes) <= SMALL_LIMIT_BYTES,
        }
    }
}

/// A change to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEvent {
    pub kind: SegmentEventKind,
    /// Start address.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
    pub arena: Arena,
    /// The stack that obtained the memory, also for its removal.
    pub frames: Option<StackRef>,
}

/// The kinds of changes to segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentEventKind {
    /// cudaMalloc.
    Alloc,
    /// cudaFree.
    Free,
    /// A range of an expandable segment was mapped.
    Map,
    /// A range of an expandable segment was unmapped.
    Unmap,
}

/// The device has no memory for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The request after rounding.
    pub rounded_bytes: u64,
    /// Bytes that the device has left.
    pub device_free_bytes: u64,
}

/// Settings of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// The first segment's address.
    pub base: u64,
    /// Bytes of the device.
    pub capacity_bytes: u64,
    /// Whether segments are expandable.
    pub expandable: bool,
}

impl Default for HeapOptions {
    fn default() -> Self {
        Self {
            base: 0x7f00_0000_0000,
            capacity_bytes: 80 << 30,
            expandable: false,
        }
    }
}

#[derive(Clone, Debug)]
struct SegmentInfo {
    size: u64,
    arena: Arena,
    is_expandable: bool,
    frames: Option<StackRef>,
}

#[derive(Clone, Debug)]
struct BlockInfo {
    size: u64,
    requested: u64,
    state: BlockState,
    frames: Option<StackRef>,
}

/// The memory of one device.
#[derive(Clone, Debug)]
pub struct Heap {
    options: HeapOptions,
    segments: BTreeMap<u64, SegmentInfo>,
    blocks: BTreeMap<u64, BlockInfo>,
    free: BTreeSet<(Arena, u64, u64)>,
    /// Addresses that cudaFree returned, to be used again for segments of the same size.
    returned: Vec<(u64, u64)>,
    next_address: u64,
    reservations: BTreeMap<Arena, u64>,
    reserved: u64,
}

/// Rounds a request to the size of its block.
#[must_use]
pub fn round_size(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(ROUNDING_BYTES)
}

/// Size of the segment that torch would obtain for a block of this size.
#[must_use]
pub fn segment_size(rounded: u64) -> u64 {
    if rounded <= SMALL_LIMIT_BYTES {
        SMALL_SEGMENT_BYTES
    } else if rounded < MIN_OWN_SEGMENT_BYTES {
        LARGE_SEGMENT_BYTES
    } else {
        rounded.next_multiple_of(2 * MIB)
    }
}

impl Heap {
    /// An empty heap.
    #[must_use]
    pub fn new(options: HeapOptions) -> Self {
        Self {
            options,
            segments: BTreeMap::new(),
            blocks: BTreeMap::new(),
            free: BTreeSet::new(),
            returned: Vec::new(),
            next_address: options.base,
            reservations: BTreeMap::new(),
            reserved: 0,
        }
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Bytes of all active blocks.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.blocks
            .values()
            .filter(|b| b.state.is_active())
            .map(|b| b.size)
            .sum()
    }

    /// The requested bytes of an active block that starts at `addr`.
    #[must_use]
    pub fn requested_at(&self, addr: u64) -> Option<u64> {
        self.blocks
            .get(&addr)
            .filter(|b| b.state.is_active())
            .map(|b| b.requested)
    }

    /// Whether a segment starts at `addr`.
    #[must_use]
    pub fn has_segment(&self, addr: u64) -> bool {
        self.segments.contains_key(&addr)
    }

    /// The arena of the segment that holds `addr`.
    #[must_use]
    pub fn arena_at(&self, addr: u64) -> Option<Arena> {
        self.segment_of(addr).map(|(_, arena)| arena)
    }

    /// Allocates, and appends changes to segments to `events`.
    ///
    /// # Errors
    /// When the device is full even after the cache was emptied, which `events` then records.
    pub fn malloc(
        &mut self,
        bytes: u64,
        arena: Arena,
        frames: Option<StackRef>,
        events: &mut Vec<SegmentEvent>,
    ) -> Result<u64, OutOfMemory> {
        let rounded = round_size(bytes);
        if let Some(addr) = self.take_best_fit(rounded, arena) {
            self.occupy(addr, rounded, bytes, frames);
            return Ok(addr);
        }
        if !self.grow(rounded, arena, frames, events) {
            self.empty_cache(events);
            if !self.grow(rounded, arena, frames, events) {
                let device_free_bytes = self.options.capacity_bytes.saturating_sub(self.reserved);
                return Err(OutOfMemory {
                    rounded_bytes: rounded,
                    device_free_bytes,
                });
            }
        }
        let device_free_bytes = self.options.capacity_bytes.saturating_sub(self.reserved);
        let full = OutOfMemory {
            rounded_bytes: rounded,
            device_free_bytes,
        };
        let addr = self.take_best_fit(rounded, arena).ok_or(full)?;
        self.occupy(addr, rounded, bytes, frames);
        Ok(addr)
    }

    /// Allocates at a given address; false when that memory is not free.
    pub fn malloc_at(&mut self, addr: u64, bytes: u64, frames: Option<StackRef>) -> bool {
        let rounded = round_size(bytes);
        let Some((&start, block)) = self.blocks.range(..=addr).next_back() else {
            return false;
        };
        let size = block.size;
        if block.state.is_active() || addr - start + rounded > size {
            return false;
        }
        let Some((_, arena)) = self.segment_of(start) else {
            return false;
        };
        self.free.remove(&(arena, size, start));
        let requested = block.requested;
        if addr > start {
            self.insert_free(start, addr - start, requested, arena);
        }
        self.blocks.insert(
            addr,
            BlockInfo {
                size: size - (addr - start),
                ..inactive(requested)
            },
        );
        self.split(addr, rounded, bytes, frames, arena);
        true
    }

    /// Marks a block as freed while a stream still uses it; false when no block is in use at `addr`.
    pub fn request_free(&mut self, addr: u64) -> bool {
        match self.blocks.get_mut(&addr) {
            Some(block) if block.state == BlockState::ActiveAllocated => {
                block.state = BlockState::ActivePendingFree;
                true
            }
            _ => false,
        }
    }

    /// Frees an active block and merges it with free neighbours; false when no active block starts there.
    pub fn complete_free(&mut self, addr: u64) -> bool {
        let Some(block) = self.blocks.get(&addr).filter(|b| b.state.is_active()) else {
            return false;
        };
        let requested = block.requested;
        let Some((_, arena)) = self.segment_of(addr) else {
            return false;
        };
        self.release(addr, requested, arena);
        true
    }

    /// Returns all unused memory to the driver.
    pub fn empty_cache(&mut self, events: &mut Vec<SegmentEvent>) {
        let free: Vec<_> = self.free.iter().copied().collect();
        for (arena, size, addr) in free {
            let Some(info) = self.segment_at_or_before(addr) else {
                continue;
            };
            let (start, total, is_expandable) = info;
            if is_expandable {
                let page = page_size(arena);
                let end = (addr + size) / page * page;
                let begin = addr.next_multiple_of(page);
                if begin < end && self.unmap(begin, end - begin) {
                    events.push(event(
                        SegmentEventKind::Unmap,
                        begin,
                        end - begin,
                        arena,
                        None,
                    ));
                }
            } else if start == addr && total == size {
                let frames = self.segments.get(&start).and_then(|s| s.frames);
                self.remove_segment(start);
                events.push(event(SegmentEventKind::Free, start, total, arena, frames));
            }
        }
    }

    /// Adds a segment of free memory; false when it would overlap another.
    pub fn add_segment(
        &mut self,
        addr: u64,
        size: u64,
        arena: Arena,
        frames: Option<StackRef>,
    ) -> bool {
        if size == 0 || self.overlaps(addr, size) {
            return false;
        }
        self.segments.insert(
            addr,
            SegmentInfo {
                size,
                arena,
                is_expandable: false,
                frames,
            },
        );
        self.insert_free(addr, size, 0, arena);
        self.reserved += size;
        self.next_address = self
            .next_address
            .max((addr + size).next_multiple_of(2 * MIB));
        true
    }

    /// Removes a segment; false when no segment starts there or it is in use.
    pub fn remove_segment(&mut self, addr: u64) -> bool {
        let Some(info) = self.segments.get(&addr) else {
            return false;
        };
        let (size, arena) = (info.size, info.arena);
        if !self.free.remove(&(arena, size, addr)) {
            return false;
        }
        self.segments.remove(&addr);
        self.blocks.remove(&addr);
        self.reserved -= size;
        self.returned.push((size, addr));
        true
    }

    /// The segments as a snapshot of `device` lists them.
    #[must_use]
    pub fn segments(&self, device: i32) -> Vec<Segment> {
        let segments = self.segments.iter().map(|(&address, s)| Segment {
            device,
            address,
            total_size: s.size,
            stream: s.arena.stream,
            is_small: s.arena.is_small,
            pool: s.arena.pool,
            is_expandable: s.is_expandable,
            frames: s.frames,
            blocks: self
                .blocks
                .range(address..address + s.size)
                .map(snapshot_block)
                .collect(),
        });
        segments.collect()
    }

    /// The segment's start and arena for an address inside it.
    fn segment_of(&self, addr: u64) -> Option<(u64, Arena)> {
        let (&start, info) = self.segments.range(..=addr).next_back()?;
        (addr < start + info.size).then_some((start, info.arena))
    }

    fn segment_at_or_before(&self, addr: u64) -> Option<(u64, u64, bool)> {
        let (&start, info) = self.segments.range(..=addr).next_back()?;
        Some((start, info.size, info.is_expandable))
    }

    fn overlaps(&self, addr: u64, size: u64) -> bool {
        let before = self.segments.range(..addr.saturating_add(size)).next_back();
        before.is_some_and(|(&start, s)| start + s.size > addr)
    }

    /// The smallest free block of the arena that holds `rounded` bytes.
    fn take_best_fit(&mut self, rounded: u64, arena: Arena) -> Option<u64> {
        let &(found, size, addr) = self.free.range((arena, rounded, 0)..).next()?;
        if found != arena {
            return None;
        }
        self.free.remove(&(found, size, addr));
        Some(addr)
    }

    /// Makes the free block at `addr`, which the free set no longer holds, active.
    fn occupy(&mut self, addr: u64, rounded: u64, bytes: u64, frames: Option<StackRef>) {
        if let Some((_, arena)) = self.segment_of(addr) {
            self.split(addr, rounded, bytes, frames, arena);
        }
    }

    fn split(
        &mut self,
        addr: u64,
        rounded: u64,
        bytes: u64,
        frames: Option<StackRef>,
        arena: Arena,
    ) {
        let Some(block) = self.blocks.get_mut(&addr) else {
            return;
        };
        let rest = block.size - rounded;
        let expandable = self.options.expandable;
        let splits = rest >= ROUNDING_BYTES && (arena.is_small || expandable || rest > MIB);
        block.state = BlockState::ActiveAllocated;
        block.requested = bytes;
        block.frames = frames;
        if splits {
            block.size = rounded;
            self.insert_free(addr + rounded, rest, 0, arena);
        }
    }

    fn insert_free(&mut self, addr: u64, size: u64, requested: u64, arena: Arena) {
        self.blocks.insert(
            addr,
            BlockInfo {
                size,
                ..inactive(requested)
            },
        );
        self.free.insert((arena, size, addr));
    }

    /// Makes the block at `addr` free and merges it with free neighbours in its segment.
    fn release(&mut self, addr: u64, requested: u64, arena: Arena) {
        let Some(mut size) = self.blocks.get(&addr).map(|b| b.size) else {
            return;
        };
        let mut start = addr;
        let after = addr + size;
        if !self.segments.contains_key(&after)
            && let Some(next) = self.blocks.get(&after)
            && !next.state.is_active()
        {
            let next_size = next.size;
            self.free.remove(&(arena, next_size, after));
            self.blocks.remove(&after);
            size += next_size;
        }
        if !self.segments.contains_key(&addr)
            && let Some((&before, previous)) = self.blocks.range(..addr).next_back()
            && before + previous.size == addr
            && !previous.state.is_active()
        {
            let previous_size = previous.size;
            self.free.remove(&(arena, previous_size, before));
            self.blocks.remove(&addr);
            start = before;
            size += previous_size;
        }
        self.insert_free(start, size, requested, arena);
    }

    /// Obtains memory for a block of `rounded` bytes; false when the device has none.
    fn grow(
        &mut self,
        rounded: u64,
        arena: Arena,
        frames: Option<StackRef>,
        events: &mut Vec<SegmentEvent>,
    ) -> bool {
        if self.options.expandable {
            return self.grow_expandable(rounded, arena, frames, events);
        }
        let size = segment_size(rounded);
        if self.reserved + size > self.options.capacity_bytes {
            return false;
        }
        let known = self.returned.iter().position(|&(s, _)| s == size);
        let addr = match known.map(|i| self.returned.swap_remove(i)) {
            Some((_, addr)) if !self.overlaps(addr, size) => addr,
            _ => self.next_address,
        };
        let added = self.add_segment(addr, size, arena, frames);
        events.push(event(SegmentEventKind::Alloc, addr, size, arena, frames));
        added
    }
}

fn page_size(arena: Arena) -> u64 {
    if arena.is_small {
        SMALL_SEGMENT_BYTES
    } else {
        LARGE_SEGMENT_BYTES
    }
}

fn event(
    kind: SegmentEventKind,
    addr: u64,
    size: u64,
    arena: Arena,
    frames: Option<StackRef>,
) -> SegmentEvent {
    SegmentEvent {
        kind,
        addr,
        size,
        arena,
        frames,
    }
}

fn inactive(requested: u64) -> BlockInfo {
    BlockInfo {
        size: 0,
        requested,
        state: BlockState::Inactive,
        frames: None,
    }
}

fn snapshot_block((&address, b): (&u64, &BlockInfo)) -> Block {
    Block {
        address,
        size: b.size,
        requested_size: b.requested,
        state: b.state,
        frames: b.frames,
        history: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
