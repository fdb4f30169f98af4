//! An address space with its segments and blocks. Segments are the driver's mappings, blocks are the allocations in
//! them.
//!
//! Segments never overlap, blocks never overlap, and each block lies in one segment, in adjacent chunks of one pool
//! (`space/chunks.rs`), or (as a part) in memory that the program mapped side by side, whatever the log says. If a new
//! allocation overlaps an older one, the record of the older one's free is missing (records were dropped), so the older
//! one ends there.
//!
//! An allocation that the program divides itself is an *arena*. It is not a block; its parts are blocks.

mod chunks;
mod ends;
mod mapped;
mod owned;
mod parts;
mod undo;

use std::collections::BTreeMap;
use std::ops::Range;

use vramscope_core::model::Action;

use super::journal::{Entry, EntryNumber, Journal, Location, Origin, PoolRow};
use super::physical::{PhysicalMemory, Serial};
use super::pools::{NO_POOL, Pools};
use chunks::ChunkCounts;
pub(crate) use owned::Owner;
use owned::{Kind, Owned};
pub(crate) use undo::Undo;

/// Sizes are rounded up to a multiple of this, as far as there is room.
pub(crate) const ROUNDING_BYTES: u64 = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// End of the requested bytes, exclusive.
    pub(crate) end: u64,
    pub(crate) stream: u64,
    context: u64,
    pub(crate) origin: Origin,
    /// Address of its segment, the first one if there are several.
    segment: u64,
    /// Its `alloc` entry in the journal.
    entry: Option<EntryNumber>,
    /// Whether it is a part of an arena.
    pub(crate) is_part: bool,
}

/// What ends a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retention {
    /// The end of its last block.
    UntilEmpty,
    /// Its pool's release: it is a chunk of that pool.
    ByPool,
    /// Unmapping. Contains the serial of its physical memory, 0 if unknown.
    UntilUnmapped(Serial),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) end: u64,
    pub(crate) location: Location,
    pub(crate) stream: u64,
    context: u64,
    pub(crate) pool: PoolRow,
    pub(crate) origin: Origin,
    pub(crate) retention: Retention,
    live: u32,
    /// Order number of the free that last emptied it.
    emptied: u64,
    is_owned: bool,
}

impl Segment {
    /// Whether adjacent ones of its kind and pool form one segment in a snapshot, which grows and shrinks like torch's
    /// expandable segments.
    pub(crate) fn is_joined(&self) -> bool {
        matches!(
            self.retention,
            Retention::UntilUnmapped(_) | Retention::ByPool
        )
    }

    /// Whether its bytes count as held. Mappings of known physical memory do not: that memory is counted once, in
    /// [`PhysicalMemory`].
    fn is_counted(&self) -> bool {
        self.is_owned
            && matches!(
                self.retention,
                Retention::UntilEmpty | Retention::ByPool | Retention::UntilUnmapped(0)
            )
    }
}

/// A new allocation, by the driver or out of an arena.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) location: Location,
    pub(crate) range: Range<u64>,
    /// The driver's mapping that holds its first byte; empty if unknown.
    pub(crate) mapping: Range<u64>,
    pub(crate) stream: u64,
    pub(crate) context: u64,
    pub(crate) pool: PoolRow,
    pub(crate) origin: Origin,
    pub(crate) retention: Retention,
    pub(crate) is_owned: bool,
    pub(crate) is_part: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    pub(crate) segments: BTreeMap<u64, Segment>,
    pub(crate) blocks: BTreeMap<u64, Block>,
    arenas: BTreeMap<u64, Block>,
    pub(crate) pools: Pools,
    pub(crate) physical: PhysicalMemory,
    /// What the last operation removed and added.
    pub(crate) undo: Undo,
    /// Bytes of this process's segments by device, without mapped physical memory.
    held: Vec<u64>,
    /// Bytes of blocks by device.
    live: Vec<u64>,
    emptied: u64,
    chunk_counts: ChunkCounts,
    /// All memory grouped by what ends it, since the first end of a context.
    owned: Option<Owned>,
    /// Number of blocks that ended because another allocation took their place.
    pub(crate) superseded: u64,
}

impl Space {
    /// Bytes of a device's segments. Excludes memory of other processes and [`PhysicalMemory`].
    pub(crate) fn held_bytes(&self, device: u8) -> u64 {
        self.held.get(usize::from(device)).copied().unwrap_or(0)
    }

    pub(crate) fn live_bytes(&self, device: u8) -> u64 {
        self.live.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Adds an allocation. Its range must not be empty.
    pub(crate) fn allocate(&mut self, journal: &mut Journal, allocation: &Allocation) {
        self.end_overlapped(journal, &allocation.range, allocation.is_part);
        let segment = self.segment_for(journal, allocation);
        let mut block = Block {
            end: allocation.range.end,
            stream: allocation.stream,
            context: allocation.context,
            origin: allocation.origin,
            segment,
            entry: None,
            is_part: allocation.is_part,
        };
        block.entry = journal.push(allocation.location, entry_of(Action::Alloc, allocation));
        self.add_block(allocation.range.start, block);
    }

    /// Frees the driver's allocation at an address. Returns whether there was one.
    pub(crate) fn free(&mut self, journal: &mut Journal, address: u64, origin: Origin) -> bool {
        if let Some(arena) = self.remove_arena(address) {
            for part in self.parts_of(address, &arena) {
                self.end_block(journal, part, origin);
            }
            let segments = (arena.segment, arena.end);
            self.undo.arenas.push((address, arena));
            self.leave_segments(journal, segments, origin);
            return true;
        }
        let is_there = matches!(self.blocks.get(&address), Some(block) if !block.is_part);
        is_there && self.end_block(journal, address, origin)
    }

    /// Names the allocation at an address: `note` is the number of a text.
    pub(crate) fn annotate(&self, journal: &mut Journal, address: u64, note: u32, origin: Origin) {
        let Some(block) = self.blocks.get(&address) else {
            return;
        };
        let Some(segment) = self.segments.get(&block.segment) else {
            return;
        };
        let entry = Entry {
            pool: segment.pool,
            note,
            stream: block.stream,
            ..Entry::new(Action::Annotate, origin, address, block.end - address)
        };
        journal.push(segment.location, entry);
    }

    /// Releases the empty ones among these segments, in order of address.
    pub(crate) fn release_segments(
        &mut self,
        journal: &mut Journal,
        mut addresses: Vec<u64>,
        origin: Origin,
    ) {
        addresses.sort_unstable();
        for address in addresses {
            if matches!(self.segments.get(&address), Some(segment) if segment.live == 0) {
                self.remove_segment(journal, address, origin);
            }
        }
    }

    /// Ends older blocks and arenas that a new allocation overlaps.
    fn end_overlapped(&mut self, journal: &mut Journal, range: &Range<u64>, is_part: bool) {
        while let Some((&address, block)) = self.blocks.range(..range.end).next_back()
            && block.end > range.start
        {
            self.superseded += 1;
            self.end_block(journal, address, Origin::default());
        }
        if is_part || self.arenas.is_empty() {
            return;
        }
        while let Some((&address, arena)) = self.arenas.range(..range.end).next_back()
            && arena.end > range.start
        {
            self.superseded += 1;
            self.free(journal, address, Origin::default());
        }
    }

    /// Ends all blocks and arenas of a segment.
    fn end_blocks_of(&mut self, journal: &mut Journal, segment: u64, origin: Origin) {
        let Some(end) = self.segments.get(&segment).map(|segment| segment.end) else {
            return;
        };
        let within = |all: &BTreeMap<u64, Block>| -> Vec<u64> {
            let all = all.range(..end).rev();
            let within = all.take_while(|(_, block)| block.end > segment);
            let mut within: Vec<u64> = within.map(|(&address, _)| address).collect();
            within.reverse();
            within
        };
        let (addresses, mut rest) = (within(&self.arenas), within(&self.blocks));
        for address in addresses {
            self.free(journal, address, origin);
        }
        rest.retain(|address| self.blocks.contains_key(address));
        for address in rest {
            self.end_block(journal, address, origin);
        }
    }

    fn parts_of(&self, address: u64, arena: &Block) -> Vec<u64> {
        let inside = self.blocks.range(address..arena.end);
        inside.map(|(&address, _)| address).collect()
    }

    /// The address of the segment that contains an allocation, added if there is none.
    fn segment_for(&mut self, journal: &mut Journal, allocation: &Allocation) -> u64 {
        let range = &allocation.range;
        if allocation.is_part
            && let Some(address) = self.segment_around(range)
            && let Some(segment) = self.segments.get(&address)
            && segment.location == allocation.location
        {
            return address;
        }
        if allocation.retention == Retention::ByPool && allocation.mapping.contains(&range.start) {
            return self.chunks_for(journal, allocation);
        }
        if let Some((&address, segment)) = self.segments.range(..=range.start).next_back()
            && segment.end >= range.end
            && segment.location == allocation.location
            && !matches!(allocation.retention, Retention::UntilUnmapped(_))
            && (segment.live > 0
                || allocation.is_part
                || segment.pool == allocation.pool
                    && (allocation.mapping.is_empty()
                        || allocation.mapping == (address..segment.end)))
        {
            return address;
        }
        if self.reaches_out_of_chunk(allocation) {
            let mapping = range.clone();
            let allocation = Allocation {
                mapping,
                ..allocation.clone()
            };
            return self.chunks_for(journal, &allocation);
        }
        let wanted = if allocation.mapping.contains(&range.start) {
            allocation.mapping.start..allocation.mapping.end.max(range.end)
        } else if allocation.location == Location::Host {
            range.clone()
        } else {
            let bytes = range.end - range.start;
            let rounded = bytes.checked_next_multiple_of(ROUNDING_BYTES);
            let end = rounded.and_then(|bytes| range.start.checked_add(bytes));
            range.start..end.unwrap_or(range.end)
        };
        let room = self.make_room(journal, wanted, range);
        self.add_segment(journal, room, allocation)
    }

    /// Adds a segment for an allocation. Returns its address.
    fn add_segment(
        &mut self,
        journal: &mut Journal,
        room: Range<u64>,
        allocation: &Allocation,
    ) -> u64 {
        let retention = match allocation.retention {
            // The extent of this mapping is a guess, so no pool sample can show when it is released.
            Retention::ByPool if !allocation.mapping.contains(&allocation.range.start) => {
                Retention::UntilEmpty
            }
            retention => retention,
        };
        let segment = Segment {
            end: room.end,
            location: allocation.location,
            stream: allocation.stream,
            context: allocation.context,
            pool: allocation.pool,
            origin: allocation.origin,
            retention,
            live: 0,
            emptied: 0,
            is_owned: allocation.is_owned,
        };
        let action = match segment.is_joined() {
            true => Action::SegmentMap,
            false => Action::SegmentAlloc,
        };
        let entry = entry_of_segment(action, room.clone(), &segment, allocation.origin);
        // A large allocation consists of hundreds of chunks.
        let is_chunk = retention == Retention::ByPool;
        if !(is_chunk && journal.extend(allocation.location, &entry)) {
            journal.push(allocation.location, entry);
        }
        self.put_segment(room.start, segment);
        room.start
    }

    /// Makes room for a segment: returns as much of `wanted` as no other used segment takes, and at least `range`. Ends all
    /// segments in it.
    fn make_room(
        &mut self,
        journal: &mut Journal,
        wanted: Range<u64>,
        range: &Range<u64>,
    ) -> Range<u64> {
        let mut room = wanted;
        while let Some((&address, segment)) = self.segments.range(..range.end).next_back()
            && segment.end > room.start
        {
            if segment.live > 0 && segment.end <= range.start {
                room.start = segment.end;
            } else {
                self.supersede_segment(journal, address);
            }
        }
        while let Some((&address, segment)) = self.segments.range(range.end..).next()
            && address < room.end
        {
            if segment.live > 0 {
                room.end = address;
            } else {
                self.supersede_segment(journal, address);
            }
        }
        room
    }

    /// Ends a segment that another one replaces.
    fn supersede_segment(&mut self, journal: &mut Journal, address: u64) {
        self.end_blocks_of(journal, address, Origin::default());
        self.remove_segment(journal, address, Origin::default());
    }

    fn add_block(&mut self, address: u64, block: Block) {
        if let Some(location) = self.enter_segments(&block)
            && let Some(live) = device_sum(&mut self.live, location)
        {
            *live = live.saturating_add(block.end - address);
        }
        self.set_owned(Kind::Block, address, &block, true);
        self.blocks.insert(address, block);
    }

    /// Removes a block without updating its segment's counter. The caller must leave the segment, or enter it
    /// again.
    fn remove_block(&mut self, address: u64) -> Option<Block> {
        let block = self.blocks.remove(&address)?;
        self.set_owned(Kind::Block, address, &block, false);
        let location = self.segments.get(&block.segment)?.location;
        if let Some(live) = device_sum(&mut self.live, location) {
            *live = live.saturating_sub(block.end - address);
        }
        Some(block)
    }

    /// Ends a block. Returns whether it existed.
    fn end_block(&mut self, journal: &mut Journal, address: u64, origin: Origin) -> bool {
        let Some(block) = self.remove_block(address) else {
            return false;
        };
        if let Some(segment) = self.segments.get(&block.segment) {
            let location = segment.location;
            let (origin, bytes) = (
                journal.origin_of_free(block.origin, origin),
                block.end - address,
            );
            let mut entry = Entry {
                pool: segment.pool,
                stream: block.stream,
                ..Entry::new(Action::FreeRequested, origin, address, bytes)
            };
            self.push_undoable(journal, location, entry);
            entry.action = Action::FreeCompleted;
            self.push_undoable(journal, location, entry);
        }
        let segments = (block.segment, block.end);
        self.undo.blocks.push((address, block));
        self.leave_segments(journal, segments, origin);
        true
    }

    /// Counts one more block or arena in a segment. Returns the segment's location.
    fn enter_segment(&mut self, address: u64) -> Option<Location> {
        let segment = self.segments.get_mut(&address)?;
        let location = segment.location;
        segment.live += 1;
        if segment.live == 1 && segment.retention == Retention::ByPool {
            let chunk = segment.clone();
            self.set_empty(address, &chunk, false);
        }
        Some(location)
    }

    /// Counts one less block or arena in a segment. An empty segment ends, unless it is retained.
    fn leave_segment(&mut self, journal: &mut Journal, address: u64, origin: Origin) {
        let Some(segment) = self.segments.get_mut(&address) else {
            return;
        };
        segment.live = segment.live.saturating_sub(1);
        if segment.live > 0 {
            return;
        }
        match segment.retention {
            Retention::UntilUnmapped(_) => {}
            Retention::ByPool if self.pools.get(segment.pool).keeps_segments() => {
                self.emptied += 1;
                segment.emptied = self.emptied;
                let chunk = segment.clone();
                self.set_empty(address, &chunk, true);
            }
            Retention::ByPool | Retention::UntilEmpty => {
                self.remove_segment(journal, address, origin)
            }
        }
    }

    fn remove_segment(&mut self, journal: &mut Journal, address: u64, origin: Origin) {
        let Some(segment) = self.take_segment(address) else {
            return;
        };
        let action = match segment.is_joined() {
            true => Action::SegmentUnmap,
            false => Action::SegmentFree,
        };
        let origin = journal.origin_of_free(segment.origin, origin);
        let entry = entry_of_segment(action, address..segment.end, &segment, origin);
        let is_chunk = segment.retention == Retention::ByPool;
        if !(is_chunk && self.extend_undoable(journal, segment.location, &entry)) {
            self.push_undoable(journal, segment.location, entry);
        }
        self.undo.segments.push((address, segment));
    }

    fn put_segment(&mut self, address: u64, segment: Segment) {
        let bytes = segment.end - address;
        if segment.is_counted()
            && let Some(held) = device_sum(&mut self.held, segment.location)
        {
            *held = held.saturating_add(bytes);
        }
        match segment.retention {
            Retention::UntilUnmapped(serial) => self.physical.map(serial, bytes),
            _ if segment.pool != NO_POOL => self.pools.add_segment(segment.pool, bytes),
            _ => {}
        }
        self.segments.insert(address, segment);
    }

    fn take_segment(&mut self, address: u64) -> Option<Segment> {
        let segment = self.segments.remove(&address)?;
        let bytes = segment.end - address;
        if segment.is_counted()
            && let Some(held) = device_sum(&mut self.held, segment.location)
        {
            *held = held.saturating_sub(bytes);
        }
        match segment.retention {
            Retention::UntilUnmapped(serial) => self.physical.unmap(serial, bytes),
            _ if segment.pool != NO_POOL => self.pools.remove_segment(segment.pool, bytes),
            _ => {}
        }
        if segment.live == 0 && segment.retention == Retention::ByPool {
            self.set_empty(address, &segment, false);
        }
        Some(segment)
    }

    /// Extends the last entry of this operation like [`Journal::extend`]: undoing it must undo nothing else.
    fn extend_undoable(&self, journal: &mut Journal, location: Location, entry: &Entry) -> bool {
        let last = self.undo.entries.last();
        let is_newest = last.is_some_and(|&(at, number)| {
            at == location && journal.newest(location) == Some(number)
        });
        is_newest && journal.extend(location, entry)
    }

    fn push_undoable(
        &mut self,
        journal: &mut Journal,
        location: Location,
        entry: Entry,
    ) -> Option<EntryNumber> {
        let number = journal.push(location, entry)?;
        self.undo.entries.push((location, number));
        Some(number)
    }
}

/// The entry of a device in `sums`; `None` for the host.
fn device_sum(sums: &mut Vec<u64>, location: Location) -> Option<&mut u64> {
    let Location::Device(device) = location else {
        return None;
    };
    let row = usize::from(device);
    if sums.len() <= row {
        sums.resize(row + 1, 0);
    }
    sums.get_mut(row)
}

fn entry_of(action: Action, allocation: &Allocation) -> Entry {
    let range = &allocation.range;
    Entry {
        pool: allocation.pool,
        stream: allocation.stream,
        ..Entry::new(
            action,
            allocation.origin,
            range.start,
            range.end - range.start,
        )
    }
}

fn entry_of_segment(action: Action, range: Range<u64>, segment: &Segment, origin: Origin) -> Entry {
    Entry {
        pool: segment.pool,
        stream: segment.stream,
        ..Entry::new(action, origin, range.start, range.end - range.start)
    }
}
