//! A caching allocator in the manner of torch's, on addresses alone.
//!
//! It keeps what shows in a snapshot: rounding to 512 bytes, a small pool (requests of at most
//! 1 MiB in 2 MiB segments) and a large one (20 MiB, or the request rounded to 2 MiB), best fit,
//! splitting and merging, pools and streams that share nothing, expandable segments that map and
//! unmap, and the retry that empties the cache before an out-of-memory error. Segments and blocks
//! are two ordered maps by address; blocks always tile the segments.

use std::collections::{BTreeMap, BTreeSet};

use crate::snapshot::{Block, BlockState, PoolId, Segment, StackRef};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// Blocks are multiples of this.
pub const ROUNDING_BYTES: u64 = 512;
/// The largest request the small pool serves.
pub const SMALL_LIMIT_BYTES: u64 = MIB;
const SMALL_SEGMENT_BYTES: u64 = 2 * MIB;
const LARGE_SEGMENT_BYTES: u64 = 20 * MIB;
const MIN_OWN_SEGMENT_BYTES: u64 = 10 * MIB;
/// Room between the reservations of expandable segments.
const RESERVATION_BYTES: u64 = 1 << 38;

/// The memory among which an allocation may be placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arena {
    /// The pool.
    pub pool: PoolId,
    /// The stream handle.
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

/// What the allocator did to its segments, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEvent {
    /// What happened.
    pub kind: SegmentEventKind,
    /// Start address.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
    /// Whose memory.
    pub arena: Arena,
    /// The stack that obtained the segment, on its way out.
    pub frames: Option<StackRef>,
}

/// The four things that happen to segments.
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

/// A request found no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The request after rounding.
    pub rounded_bytes: u64,
    /// What the device has left.
    pub device_free_bytes: u64,
}

/// How a heap behaves.
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

/// One device's memory.
#[derive(Clone, Debug)]
pub struct Heap {
    options: HeapOptions,
    segments: BTreeMap<u64, SegmentInfo>,
    blocks: BTreeMap<u64, BlockInfo>,
    free: BTreeSet<(Arena, u64, u64)>,
    /// Addresses given back by cudaFree, for segments of the same size.
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

/// The segment torch would obtain for a block of this size.
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

    /// Allocates; what happened to segments on the way is appended to `events`.
    ///
    /// # Errors
    /// When the device is full even with the cache emptied (which `events` then tells).
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

    /// Marks a block as freed by the client but still waited for; false when none is in use there.
    pub fn request_free(&mut self, addr: u64) -> bool {
        match self.blocks.get_mut(&addr) {
            Some(block) if block.state == BlockState::ActiveAllocated => {
                block.state = BlockState::ActivePendingFree;
                true
            }
            _ => false,
        }
    }

    /// Frees an active block and merges it with free neighbours; false when there is none.
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

    /// Gives everything unused back to the driver.
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

    /// Removes a segment; false when there is none or it is in use.
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

    /// Maps a range of an expandable segment, joining ranges of its arena that it touches; false
    /// when part of it is mapped already.
    pub fn map(&mut self, addr: u64, size: u64, arena: Arena, frames: Option<StackRef>) -> bool {
        if size == 0 || self.overlaps(addr, size) {
            return false;
        }
        let joins = |s: &SegmentInfo| s.is_expandable && s.arena == arena;
        let before = self.segments.range(..addr).next_back();
        let before = before.filter(|&(start, s)| start + s.size == addr && joins(s));
        let start = before.map_or(addr, |(&start, _)| start);
        let mut total = addr - start + size;
        if self.segments.get(&(addr + size)).is_some_and(joins) {
            total += self.segments.remove(&(addr + size)).map_or(0, |s| s.size);
        }
        let frames = before_frames(&self.segments, start).or(frames);
        self.segments.insert(
            start,
            SegmentInfo {
                size: total,
                arena,
                is_expandable: true,
                frames,
            },
        );
        self.blocks.insert(
            addr,
            BlockInfo {
                size,
                ..inactive(0)
            },
        );
        self.release(addr, 0, arena);
        self.reserved += size;
        true
    }

    /// Unmaps a free range of an expandable segment, splitting it if need be; false when the range
    /// is not all free.
    pub fn unmap(&mut self, addr: u64, size: u64) -> bool {
        let Some((&start, block)) = self.blocks.range(..=addr).next_back() else {
            return false;
        };
        let (block_size, requested) = (block.size, block.requested);
        let Some((seg_start, arena)) = self.segment_of(start) else {
            return false;
        };
        if !self.free.contains(&(arena, block_size, start))
            || addr + size > start + block_size
            || !self
                .segments
                .get(&seg_start)
                .is_some_and(|s| s.is_expandable)
        {
            return false;
        }
        self.free.remove(&(arena, block_size, start));
        self.blocks.remove(&start);
        if addr > start {
            self.insert_free(start, addr - start, requested, arena);
        }
        let end = start + block_size;
        if addr + size < end {
            self.insert_free(addr + size, end - addr - size, requested, arena);
        }
        if let Some(info) = self.segments.remove(&seg_start) {
            let seg_end = seg_start + info.size;
            if addr > seg_start {
                let front = SegmentInfo {
                    size: addr - seg_start,
                    ..info.clone()
                };
                self.segments.insert(seg_start, front);
            }
            if addr + size < seg_end {
                let back = SegmentInfo {
                    size: seg_end - addr - size,
                    ..info
                };
                self.segments.insert(addr + size, back);
            }
        }
        self.reserved -= size;
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

    /// Turns the free block at `addr`, already out of the free set, into an active one.
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

    /// Maps pages behind the first free block, or hole, that can then hold the request.
    fn grow_expandable(
        &mut self,
        rounded: u64,
        arena: Arena,
        frames: Option<StackRef>,
        events: &mut Vec<SegmentEvent>,
    ) -> bool {
        let number = self.reservations.len() as u64;
        let start = *self.reservations.entry(arena).or_insert_with(|| {
            (self.options.base + number * RESERVATION_BYTES).next_multiple_of(LARGE_SEGMENT_BYTES)
        });
        let mut hole = start;
        for (&addr, segment) in self.segments.range(start..start + RESERVATION_BYTES) {
            if self.usable_before(hole) + (addr - hole) >= rounded {
                break;
            }
            hole = addr + segment.size;
        }
        let missing = rounded.saturating_sub(self.usable_before(hole));
        let next = self
            .segments
            .range(hole..)
            .next()
            .map_or(u64::MAX, |(&addr, _)| addr);
        let size = missing.next_multiple_of(page_size(arena)).min(next - hole);
        if self.reserved + size > self.options.capacity_bytes {
            return false;
        }
        events.push(event(SegmentEventKind::Map, hole, size, arena, frames));
        self.map(hole, size, arena, frames)
    }

    /// Bytes of the free block that ends at `addr`.
    fn usable_before(&self, addr: u64) -> u64 {
        let before = self.blocks.range(..addr).next_back();
        let touching = before.filter(|&(start, b)| start + b.size == addr && !b.state.is_active());
        touching.map_or(0, |(_, b)| b.size)
    }
}

fn before_frames(segments: &BTreeMap<u64, SegmentInfo>, start: u64) -> Option<StackRef> {
    segments.get(&start).and_then(|s| s.frames)
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
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn arena(bytes: u64) -> Arena {
        Arena::of(bytes, 0, (0, 0))
    }

    fn assert_tiled(heap: &Heap) {
        let mut reserved = 0;
        for segment in heap.segments(0) {
            let mut at = segment.address;
            for block in &segment.blocks {
                assert_eq!(block.address, at);
                at += block.size;
            }
            assert_eq!(at, segment.address + segment.total_size);
            reserved += segment.total_size;
        }
        assert_eq!(reserved, heap.reserved());
        let inactive = heap
            .blocks
            .values()
            .filter(|b| !b.state.is_active())
            .count();
        assert_eq!(inactive, heap.free.len());
    }

    #[test]
    fn a_small_request_splits_a_2_mib_segment() {
        let mut heap = Heap::new(HeapOptions::default());
        let mut events = Vec::new();
        let addr = heap.malloc(1000, arena(1000), None, &mut events).unwrap();
        assert_eq!(
            (events[0].kind, events[0].size),
            (SegmentEventKind::Alloc, 2 * MIB)
        );
        let blocks: Vec<_> = heap.segments(0)[0].blocks.iter().map(|b| b.size).collect();
        assert_eq!(blocks, [1024, 2 * MIB - 1024]);
        assert!(heap.complete_free(addr));
        assert_eq!(heap.segments(0)[0].blocks.len(), 1);
    }

    #[test]
    fn large_requests_round_as_torch_rounds() {
        assert_eq!(segment_size(round_size(MIB)), 2 * MIB);
        assert_eq!(segment_size(round_size(MIB + 1)), 20 * MIB);
        assert_eq!(segment_size(round_size(11 * MIB + 1)), 12 * MIB);
    }

    #[test]
    fn a_full_device_empties_its_cache_then_fails() {
        let options = HeapOptions {
            capacity_bytes: 40 * MIB,
            ..HeapOptions::default()
        };
        let mut heap = Heap::new(options);
        let mut events = Vec::new();
        let a = heap
            .malloc(20 * MIB, arena(20 * MIB), None, &mut events)
            .unwrap();
        assert!(heap.complete_free(a));
        heap.malloc(30 * MIB, arena(30 * MIB), None, &mut events)
            .unwrap();
        let kinds: Vec<_> = events.iter().map(|e| e.kind).collect();
        use SegmentEventKind::{Alloc, Free};
        assert_eq!(kinds, [Alloc, Free, Alloc]);
        let full = heap
            .malloc(30 * MIB, arena(30 * MIB), None, &mut events)
            .unwrap_err();
        assert_eq!(
            full,
            OutOfMemory {
                rounded_bytes: 30 * MIB,
                device_free_bytes: 10 * MIB
            }
        );
    }

    #[test]
    fn random_use_keeps_blocks_tiling() {
        for expandable in [false, true] {
            let options = HeapOptions {
                expandable,
                capacity_bytes: 2 << 30,
                ..Default::default()
            };
            let mut heap = Heap::new(options);
            let mut rng = Rng::new(3);
            let mut live = Vec::new();
            for step in 0..3000 {
                let power = rng.between(4, 25);
                let bytes = rng.between(1, 1 << power);
                let place = Arena::of(bytes, (step % 2) * 8, (0, u64::from(step % 7 == 0)));
                if let Ok(addr) = heap.malloc(bytes, place, None, &mut Vec::new()) {
                    live.push(addr);
                }
                if live.len() > 50 {
                    let addr = live.swap_remove(rng.below(50) as usize);
                    assert!(heap.complete_free(addr));
                }
                if step % 500 == 0 {
                    heap.empty_cache(&mut Vec::new());
                    assert_tiled(&heap);
                }
            }
            assert_tiled(&heap);
        }
    }

    #[test]
    fn unmapping_the_middle_leaves_two_segments() {
        let mut heap = Heap::new(HeapOptions {
            expandable: true,
            ..HeapOptions::default()
        });
        let place = Arena {
            is_small: true,
            ..Arena::default()
        };
        assert!(heap.map(0x1000_0000, 6 * MIB, place, None));
        assert!(heap.unmap(0x1000_0000 + 2 * MIB, 2 * MIB));
        let segments = heap.segments(0);
        assert_eq!(
            segments.iter().map(|s| s.total_size).collect::<Vec<_>>(),
            [2 * MIB, 2 * MIB]
        );
        assert!(heap.map(0x1000_0000 + 2 * MIB, 2 * MIB, place, None));
        assert_eq!(heap.segments(0).len(), 1);
        assert_eq!(heap.segments(0)[0].blocks.len(), 1);
        assert_tiled(&heap);
    }

    #[test]
    fn a_block_can_be_placed_by_hand() {
        let mut heap = Heap::new(HeapOptions::default());
        assert!(heap.add_segment(0x10_0000, 2 * MIB, arena(1), None));
        assert!(heap.malloc_at(0x10_0400, 512, None));
        assert!(!heap.malloc_at(0x10_0400, 512, None));
        assert_eq!(heap.segments(0)[0].blocks.len(), 3);
        assert_tiled(&heap);
    }
}
