//! An address space: segments, which are the driver's mappings, and in them blocks, which are what it handed out.
//!
//! Segments never overlap, blocks never overlap, and each block lies in one segment, whatever is said to happen: where
//! something new lies over something older, the older thing was given back and nobody told (records were dropped), and
//! it ends there and then.
//!
//! An allocation out of which the program hands pieces by itself is an *arena*: no block, but what its pieces lie in.

mod mapped;
mod undo;

use std::collections::BTreeMap;
use std::ops::Range;

use vramscope_core::model::Action;

use super::journal::{By, Entry, EntryNumber, Journal, Place, PoolRow};
use super::physical::{PhysicalMemory, Serial};
use super::pools::{NO_POOL, Pools};
pub(crate) use undo::Undo;

/// Sizes are rounded up to it as far as there is room.
pub(crate) const ROUNDING_BYTES: u64 = 512;

/// Something that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The address behind the bytes asked for.
    pub(crate) end: u64,
    pub(crate) stream: u64,
    context: u64,
    pub(crate) by: By,
    /// Address of its segment.
    segment: u64,
    /// Its alloc in the journal.
    entry: Option<EntryNumber>,
    /// Whether the program handed it out of an arena.
    pub(crate) is_part: bool,
}

/// What becomes of a segment when the last block in it is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeping {
    /// It is gone too.
    No,
    /// Its pool keeps it.
    Pool,
    /// It stays until it is unmapped: a mapping of this physical memory.
    Mapped(Serial),
}

/// A mapping of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) end: u64,
    pub(crate) place: Place,
    pub(crate) stream: u64,
    context: u64,
    pub(crate) pool: PoolRow,
    pub(crate) by: By,
    pub(crate) keeping: Keeping,
    /// Blocks and arenas in it.
    live: u32,
    /// When the last one was freed, for the order.
    emptied: u64,
    is_owned: bool,
}

impl Segment {
    /// Whether its bytes count as held; those of known physical memory count there, once for all its mappings.
    fn is_counted(&self) -> bool {
        self.is_owned
            && matches!(
                self.keeping,
                Keeping::No | Keeping::Pool | Keeping::Mapped(0)
            )
    }
}

/// What the driver, or an arena, handed out.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) place: Place,
    pub(crate) range: Range<u64>,
    /// The driver's mapping that holds it; empty if it did not say.
    pub(crate) mapping: Range<u64>,
    pub(crate) stream: u64,
    pub(crate) context: u64,
    pub(crate) pool: PoolRow,
    pub(crate) by: By,
    pub(crate) keeping: Keeping,
    pub(crate) is_owned: bool,
    pub(crate) is_part: bool,
}

/// The state of an address space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    pub(crate) segments: BTreeMap<u64, Segment>,
    pub(crate) blocks: BTreeMap<u64, Block>,
    arenas: BTreeMap<u64, Block>,
    pub(crate) pools: Pools,
    pub(crate) physical: PhysicalMemory,
    /// What the last operation did.
    pub(crate) undo: Undo,
    /// Bytes of own segments by device, without mapped physical memory.
    held: Vec<u64>,
    /// Bytes of blocks by device.
    live: Vec<u64>,
    emptied: u64,
    /// Blocks that ended because something else lies there.
    pub(crate) superseded: u64,
}

impl Space {
    /// Bytes that a device's segments hold, without those of other processes, and without [`PhysicalMemory`].
    pub(crate) fn held_bytes(&self, device: u8) -> u64 {
        self.held.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Bytes that are handed out on a device.
    pub(crate) fn live_bytes(&self, device: u8) -> u64 {
        self.live.get(usize::from(device)).copied().unwrap_or(0)
    }

    /// Hands something out. Its range must not be empty.
    pub(crate) fn grant(&mut self, journal: &mut Journal, grant: &Grant) {
        self.end_blocks_in(journal, &grant.range, grant.is_part);
        let segment = self.segment_for(journal, grant);
        let mut block = Block {
            end: grant.range.end,
            stream: grant.stream,
            context: grant.context,
            by: grant.by,
            segment,
            entry: None,
            is_part: grant.is_part,
        };
        block.entry = journal.push(grant.place, entry_of(Action::Alloc, grant));
        self.add_block(grant.range.start, block);
    }

    /// Frees what the driver handed out at an address. Whether something was there.
    pub(crate) fn free(&mut self, journal: &mut Journal, address: u64, by: By) -> bool {
        if let Some(arena) = self.arenas.remove(&address) {
            for part in self.parts_of(address, &arena) {
                self.end_block(journal, part, by);
            }
            let segment = arena.segment;
            self.undo.arenas.push((address, arena));
            self.leave_segment(journal, segment, by);
            return true;
        }
        let is_there = matches!(self.blocks.get(&address), Some(block) if !block.is_part);
        is_there && self.end_block(journal, address, by)
    }

    /// Frees a piece of an arena. Whether it was there.
    pub(crate) fn free_part(&mut self, journal: &mut Journal, address: u64, by: By) -> bool {
        let is_there = matches!(self.blocks.get(&address), Some(block) if block.is_part);
        is_there && self.end_block(journal, address, by)
    }

    /// Makes the allocation that holds this range an arena, if there is one: it is as if it had never been a block.
    /// The place of the range, if it is in an arena now.
    pub(crate) fn make_arena(
        &mut self,
        journal: &mut Journal,
        range: &Range<u64>,
    ) -> Option<(Place, PoolRow)> {
        let holder = self.blocks.range(..=range.start).next_back();
        if let Some((&address, block)) = holder
            && block.end >= range.end
            && !block.is_part
        {
            let block = self.remove_block(address)?;
            let place = self.segments.get(&block.segment)?.place;
            if let Some(entry) = block.entry {
                journal.undo(place, entry);
            }
            self.arenas.insert(address, block);
        }
        let (_, arena) = self.arenas.range(..=range.start).next_back()?;
        if arena.end < range.end {
            return None;
        }
        let segment = self.segments.get(&arena.segment)?;
        Some((segment.place, segment.pool))
    }

    /// Gives a name to what lives at an address: the number of a text.
    pub(crate) fn annotate(&self, journal: &mut Journal, address: u64, note: u32, by: By) {
        let Some(block) = self.blocks.get(&address) else {
            return;
        };
        let Some(segment) = self.segments.get(&block.segment) else {
            return;
        };
        let entry = Entry {
            action: Action::Annotate,
            is_undone: false,
            by,
            pool: segment.pool,
            note,
            address,
            bytes: block.end - address,
            stream: block.stream,
            time_us: 0,
        };
        journal.push(segment.place, entry);
    }

    /// Gives empty segments back.
    pub(crate) fn give_back(&mut self, journal: &mut Journal, addresses: &[u64], by: By) {
        for &address in addresses {
            if matches!(self.segments.get(&address), Some(segment) if segment.live == 0) {
                self.remove_segment(journal, address, by);
            }
        }
    }

    /// Ends what lives in a context, or, if that is 0, on a device.
    pub(crate) fn end_context(&mut self, journal: &mut Journal, context: u64, device: u8, by: By) {
        let is_in = |own: u64, place: Place| match context {
            0 => place == Place::Device(device),
            context => own == context,
        };
        let place_of = |segment: u64| self.segments.get(&segment).map(|segment| segment.place);
        let is_mapped = |segment: u64| {
            let keeping = self.segments.get(&segment).map(|segment| segment.keeping);
            matches!(keeping, Some(Keeping::Mapped(_)))
        };
        let dies = |block: &Block| {
            place_of(block.segment).is_some_and(|place| is_in(block.context, place))
                && !is_mapped(block.segment)
        };
        let all = self.blocks.iter().filter(|(_, block)| !block.is_part);
        let dead = all.chain(&self.arenas).filter(|(_, block)| dies(block));
        let dead: Vec<u64> = dead.map(|(&address, _)| address).collect();
        for address in dead {
            self.free(journal, address, by);
        }
        let empty = self.segments.iter().filter(|(_, segment)| {
            segment.live == 0
                && segment.keeping == Keeping::Pool
                && is_in(segment.context, segment.place)
        });
        let empty: Vec<u64> = empty.map(|(&address, _)| address).collect();
        self.give_back(journal, &empty, by);
    }

    /// Ends what is said to live in a range in which something else lives now.
    fn end_blocks_in(&mut self, journal: &mut Journal, range: &Range<u64>, is_part: bool) {
        while let Some((&address, block)) = self.blocks.range(..range.end).next_back()
            && block.end > range.start
        {
            self.superseded += 1;
            self.end_block(journal, address, By::default());
        }
        if is_part || self.arenas.is_empty() {
            return;
        }
        while let Some((&address, arena)) = self.arenas.range(..range.end).next_back()
            && arena.end > range.start
        {
            self.superseded += 1;
            self.free(journal, address, By::default());
        }
    }

    /// Ends all blocks and arenas of a segment.
    fn end_all_in(&mut self, journal: &mut Journal, segment: u64, by: By) {
        let Some(end) = self.segments.get(&segment).map(|segment| segment.end) else {
            return;
        };
        let arenas = self.arenas.range(segment..end);
        let blocks = self.blocks.range(segment..end);
        let addresses: Vec<u64> = arenas.map(|(&address, _)| address).collect();
        let mut rest: Vec<u64> = blocks.map(|(&address, _)| address).collect();
        for address in addresses {
            self.free(journal, address, by);
        }
        rest.retain(|address| self.blocks.contains_key(address));
        for address in rest {
            self.end_block(journal, address, by);
        }
    }

    fn parts_of(&self, address: u64, arena: &Block) -> Vec<u64> {
        let inside = self.blocks.range(address..arena.end);
        inside.map(|(&address, _)| address).collect()
    }

    /// The address of the segment that something lies in, which is made if there is none.
    fn segment_for(&mut self, journal: &mut Journal, grant: &Grant) -> u64 {
        let range = &grant.range;
        if let Some((&address, segment)) = self.segments.range(..=range.start).next_back()
            && segment.end >= range.end
            && segment.place == grant.place
            && !matches!(grant.keeping, Keeping::Mapped(_))
            && (segment.live > 0
                || grant.is_part
                || segment.pool == grant.pool
                    && (grant.mapping.is_empty() || grant.mapping == (address..segment.end)))
        {
            return address;
        }
        let wanted = if grant.mapping.contains(&range.start) {
            grant.mapping.start..grant.mapping.end.max(range.end)
        } else if grant.place == Place::Host {
            range.clone()
        } else {
            let bytes = range.end - range.start;
            let rounded = bytes.checked_next_multiple_of(ROUNDING_BYTES);
            let end = rounded.and_then(|bytes| range.start.checked_add(bytes));
            range.start..end.unwrap_or(range.end)
        };
        let room = self.room(journal, wanted, range);
        let keeping = match grant.keeping {
            // Of a mapping that is guessed nobody can say when it goes.
            Keeping::Pool
                if grant.mapping.is_empty() || self.pools.get(grant.pool).is_destroyed =>
            {
                Keeping::No
            }
            keeping => keeping,
        };
        let segment = Segment {
            end: room.end,
            place: grant.place,
            stream: grant.stream,
            context: grant.context,
            pool: grant.pool,
            by: grant.by,
            keeping,
            live: 0,
            emptied: 0,
            is_owned: grant.is_owned,
        };
        let action = match keeping {
            Keeping::Mapped(_) => Action::SegmentMap,
            _ => Action::SegmentAlloc,
        };
        let entry = entry_of_segment(action, room.clone(), &segment, grant.by);
        journal.push(grant.place, entry);
        self.put_segment(room.start, segment);
        room.start
    }

    /// As much of `wanted` as no other segment in use takes, and all of `range`: what is there in it has ended.
    fn room(
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

    /// Ends a segment where another one lies now.
    fn supersede_segment(&mut self, journal: &mut Journal, address: u64) {
        self.end_all_in(journal, address, By::default());
        self.remove_segment(journal, address, By::default());
    }

    fn add_block(&mut self, address: u64, block: Block) {
        if let Some(place) = self.enter_segment(block.segment)
            && let Some(live) = sum_of(&mut self.live, place)
        {
            *live = live.saturating_add(block.end - address);
        }
        self.blocks.insert(address, block);
    }

    /// Takes a block out, and leaves the segment as it is, which the caller leaves or enters with something else.
    fn remove_block(&mut self, address: u64) -> Option<Block> {
        let block = self.blocks.remove(&address)?;
        let place = self.segments.get(&block.segment)?.place;
        if let Some(live) = sum_of(&mut self.live, place) {
            *live = live.saturating_sub(block.end - address);
        }
        Some(block)
    }

    /// Frees a block. Whether it was there.
    fn end_block(&mut self, journal: &mut Journal, address: u64, by: By) -> bool {
        let Some(block) = self.remove_block(address) else {
            return false;
        };
        if let Some(segment) = self.segments.get(&block.segment) {
            let place = segment.place;
            let mut entry = Entry {
                action: Action::FreeRequested,
                is_undone: false,
                by: journal.freed_by(block.by, by),
                pool: segment.pool,
                note: 0,
                address,
                bytes: block.end - address,
                stream: block.stream,
                time_us: 0,
            };
            self.push_undoable(journal, place, entry);
            entry.action = Action::FreeCompleted;
            self.push_undoable(journal, place, entry);
        }
        let segment = block.segment;
        self.undo.blocks.push((address, block));
        self.leave_segment(journal, segment, by);
        true
    }

    /// Something more lives in a segment. Its place.
    fn enter_segment(&mut self, address: u64) -> Option<Place> {
        let segment = self.segments.get_mut(&address)?;
        if segment.live == 0 && segment.keeping == Keeping::Pool {
            self.pools
                .remove_empty(segment.pool, segment.emptied, address);
        }
        segment.live += 1;
        Some(segment.place)
    }

    /// Something less lives in a segment; it goes with the last thing unless it is kept.
    fn leave_segment(&mut self, journal: &mut Journal, address: u64, by: By) {
        let Some(segment) = self.segments.get_mut(&address) else {
            return;
        };
        segment.live = segment.live.saturating_sub(1);
        if segment.live > 0 {
            return;
        }
        match segment.keeping {
            Keeping::Mapped(_) => {}
            Keeping::Pool if !self.pools.get(segment.pool).is_destroyed => {
                self.emptied += 1;
                segment.emptied = self.emptied;
                let bytes = segment.end - address;
                self.pools
                    .add_empty(segment.pool, self.emptied, address, bytes);
            }
            Keeping::Pool | Keeping::No => self.remove_segment(journal, address, by),
        }
    }

    /// Ends a segment in which nothing lives.
    fn remove_segment(&mut self, journal: &mut Journal, address: u64, by: By) {
        let Some(segment) = self.take_segment(address) else {
            return;
        };
        let action = match segment.keeping {
            Keeping::Mapped(_) => Action::SegmentUnmap,
            _ => Action::SegmentFree,
        };
        let by = journal.freed_by(segment.by, by);
        let entry = entry_of_segment(action, address..segment.end, &segment, by);
        self.push_undoable(journal, segment.place, entry);
        self.undo.segments.push((address, segment));
    }

    fn put_segment(&mut self, address: u64, segment: Segment) {
        let bytes = segment.end - address;
        if segment.is_counted()
            && let Some(held) = sum_of(&mut self.held, segment.place)
        {
            *held = held.saturating_add(bytes);
        }
        match segment.keeping {
            Keeping::Mapped(serial) => self.physical.map(serial, bytes),
            _ if segment.pool != NO_POOL => self.pools.add_segment(segment.pool, bytes),
            _ => {}
        }
        self.segments.insert(address, segment);
    }

    fn take_segment(&mut self, address: u64) -> Option<Segment> {
        let segment = self.segments.remove(&address)?;
        let bytes = segment.end - address;
        if segment.is_counted()
            && let Some(held) = sum_of(&mut self.held, segment.place)
        {
            *held = held.saturating_sub(bytes);
        }
        match segment.keeping {
            Keeping::Mapped(serial) => self.physical.unmap(serial, bytes),
            _ if segment.pool != NO_POOL => {
                self.pools.remove_segment(segment.pool, bytes);
                self.pools
                    .remove_empty(segment.pool, segment.emptied, address);
            }
            _ => {}
        }
        Some(segment)
    }

    fn push_undoable(
        &mut self,
        journal: &mut Journal,
        place: Place,
        entry: Entry,
    ) -> Option<EntryNumber> {
        let number = journal.push(place, entry)?;
        self.undo.entries.push((place, number));
        Some(number)
    }
}

/// A device's sum; `None` for the host.
fn sum_of(sums: &mut Vec<u64>, place: Place) -> Option<&mut u64> {
    let Place::Device(device) = place else {
        return None;
    };
    let row = usize::from(device);
    if sums.len() <= row {
        sums.resize(row + 1, 0);
    }
    sums.get_mut(row)
}

fn entry_of(action: Action, grant: &Grant) -> Entry {
    Entry {
        action,
        is_undone: false,
        by: grant.by,
        pool: grant.pool,
        note: 0,
        address: grant.range.start,
        bytes: grant.range.end - grant.range.start,
        stream: grant.stream,
        time_us: 0,
    }
}

fn entry_of_segment(action: Action, range: Range<u64>, segment: &Segment, by: By) -> Entry {
    Entry {
        action,
        is_undone: false,
        by,
        pool: segment.pool,
        note: 0,
        address: range.start,
        bytes: range.end - range.start,
        stream: segment.stream,
        time_us: 0,
    }
}
