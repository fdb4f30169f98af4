//! Fragmentation at every moment, by one sweep over the events that maintains the set of free blocks.
//!
//! An event changes one place: the free blocks on both sides of an allocation, or at the ends of a mapped range. So the
//! time per event is logarithmic in the number of live allocations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FreeSums, Span};
use crate::analysis::memory::allocator_state::BlockSizes;
use crate::analysis::memory::segment_history::{SegmentHistory, SegmentLife};
use crate::analysis::time::history::History;
use crate::ids::AllocationId;
use crate::sorting::rows_by_moment;

/// Fragmentation at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FragmentationAt {
    /// The moment.
    pub moment: u32,
    /// Figures of the free memory.
    pub free: FreeSums,
}

/// Divides the recording into at most `stretches` parts with equal numbers of events, and finds in each part the first
/// moment with the most stuck bytes. `sizes` and `segments` must belong to `history`.
#[must_use]
pub fn over_time(
    history: &History,
    sizes: &BlockSizes,
    segments: &SegmentHistory,
    stretches: u32,
) -> Vec<FragmentationAt> {
    let moments = u64::from(history.event_count) + 1;
    let stretches = u64::from(stretches).clamp(1, moments);
    let mut worst: Vec<Option<FragmentationAt>> = vec![None; stretches as usize];
    sweep(history, sizes, segments, |at| {
        let stretch = u64::from(at.moment) * stretches / moments;
        let known = &mut worst[stretch as usize];
        if known.is_none_or(|known| at.free.stuck_bytes() > known.free.stuck_bytes()) {
            *known = Some(at);
        }
    });
    worst.into_iter().flatten().collect()
}

/// Calls `visit` for every moment in order.
pub(super) fn sweep(
    history: &History,
    sizes: &BlockSizes,
    segments: &SegmentHistory,
    mut visit: impl FnMut(FragmentationAt),
) {
    let table = &history.allocations;
    let at_its_moment = |column| ByMoment::of(column, history);
    let mut dying = at_its_moment(&table.died);
    let (mut mapped, mut unmapped) = (at_its_moment(&segments.born), at_its_moment(&segments.died));
    let mut newborn = (0..table.len()).peekable();
    let mut pieces = Pieces::default();
    for moment in 0..=history.event_count {
        while let Some(row) = dying.next_at(moment) {
            pieces.free(table.address[row], row as u32);
        }
        while let Some(piece) = unmapped.next_at(moment) {
            pieces.unmap(segments.address[piece], segments.bytes[piece]);
        }
        while let Some(piece) = mapped.next_at(moment) {
            let (address, bytes) = (segments.address[piece], segments.bytes[piece]);
            let life = segments.segment[piece];
            pieces.map(address, bytes, life, &segments.segments[life as usize]);
        }
        while let Some(row) = newborn.next_if(|&row| table.born[row] <= moment) {
            let bytes = sizes.bytes(history, AllocationId::from_index(row));
            // Allocations that end at the moment of their birth are never live.
            if table.died[row] > moment {
                pieces.allocate(table.address[row], row as u32, bytes);
            }
        }
        let free = pieces.sums();
        visit(FragmentationAt { moment, free });
    }
}

/// Rows sorted by a moment, without the rows that have none.
struct ByMoment<'a> {
    rows: std::iter::Peekable<std::vec::IntoIter<u32>>,
    moment_of: &'a [u32],
}

impl<'a> ByMoment<'a> {
    fn of(moment_of: &'a [u32], history: &History) -> Self {
        let moments = history.event_count as usize + 1;
        let rows = rows_by_moment(moments, moment_of.len(), |row| moment_of[row]);
        Self {
            rows: rows.into_iter().peekable(),
            moment_of,
        }
    }

    fn next_at(&mut self, moment: u32) -> Option<usize> {
        let moment_of = self.moment_of;
        let row = self
            .rows
            .next_if(|&row| moment_of[row as usize] <= moment)?;
        Some(row as usize)
    }
}

/// A mapped range. Touching ranges of an expandable segment are merged.
#[derive(Clone, Copy, Debug)]
struct Region {
    span: Span,
    /// Index of the segment.
    life: u32,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: u64,
    returnable_bytes: u64,
}

/// Address and row of a live allocation.
type Key = (u64, u32);

/// The mapped ranges, the live blocks, and the free blocks in between, at a moment that moves forward.
#[derive(Default)]
struct Pieces {
    live: BTreeMap<Key, u64>,
    regions: BTreeMap<u64, Region>,
    free: BTreeMap<u64, Piece>,
    /// Number of free blocks of each size.
    by_bytes: BTreeMap<u64, u32>,
    reserved_bytes: u64,
    free_bytes: u64,
    returnable_bytes: u64,
}

impl Pieces {
    fn sums(&self) -> FreeSums {
        FreeSums {
            reserved_bytes: self.reserved_bytes,
            free_bytes: self.free_bytes,
            returnable_bytes: self.returnable_bytes,
            pieces: self.free.len() as u64,
            largest_free_bytes: self.by_bytes.keys().next_back().copied().unwrap_or(0),
        }
    }

    fn allocate(&mut self, address: u64, row: u32, bytes: u64) {
        let key = (address, row);
        self.live.insert(key, bytes);
        if let Some(region) = self.region_at(address) {
            let (before, after) = self.neighbours(region, key);
            self.take_between(region, before, after);
            self.put_between(region, before, Some(key));
            self.put_between(region, Some(key), after);
        }
    }

    fn free(&mut self, address: u64, row: u32) {
        let key = (address, row);
        if let Some(region) = self.region_at(address)
            && self.live.contains_key(&key)
        {
            let (before, after) = self.neighbours(region, key);
            self.take_between(region, before, Some(key));
            self.take_between(region, Some(key), after);
            self.live.remove(&key);
            self.put_between(region, before, after);
        }
        self.live.remove(&key);
    }

    /// Maps a range. [`SegmentHistory`] guarantees that it does not overlap others.
    fn map(&mut self, address: u64, bytes: u64, life: u32, segment: &SegmentLife) {
        let end = address.saturating_add(bytes);
        let mut region = Region {
            span: Span {
                start: address,
                end,
                page_bytes: segment.page_bytes,
            },
            life,
        };
        if segment.is_expandable {
            let before = self.regions.range(..address).next_back();
            let before = before.map(|(_, &region)| region);
            let touches = |other: &Region| other.life == life && other.span.end == address;
            if let Some(before) = before.filter(touches) {
                self.take_last(before);
                self.regions.remove(&before.span.start);
                region.span.start = before.span.start;
            }
            let after = self.regions.get(&end).copied();
            if let Some(after) = after.filter(|after| after.life == life) {
                self.take_first(after);
                self.regions.remove(&end);
                region.span.end = after.span.end;
            }
        }
        self.reserved_bytes = self.reserved_bytes.saturating_add(end - address);
        self.regions.insert(region.span.start, region);
        self.put_within(region, address, end);
    }

    fn unmap(&mut self, address: u64, bytes: u64) {
        let Some(region) = self.region_at(address) else {
            return;
        };
        let end = address.saturating_add(bytes).min(region.span.end);
        self.reserved_bytes = self.reserved_bytes.saturating_sub(end - address);
        let first = self.free.range(..=address).next_back();
        let first = first.map_or(address, |(&start, _)| start.max(region.span.start));
        let gone: Vec<u64> = self
            .free
            .range(first..end)
            .map(|(&start, _)| start)
            .collect();
        for start in gone {
            self.take(start);
        }
        self.regions.remove(&region.span.start);
        for (start, end) in [(region.span.start, address), (end, region.span.end)] {
            if start < end {
                let span = Span {
                    start,
                    end,
                    ..region.span
                };
                let part = Region { span, ..region };
                self.regions.insert(start, part);
                self.put_last(part);
                self.put_first(part);
            }
        }
    }

    fn region_at(&self, address: u64) -> Option<Region> {
        let (_, &region) = self.regions.range(..=address).next_back()?;
        (address < region.span.end).then_some(region)
    }

    fn neighbours(&self, region: Region, key: Key) -> (Option<Key>, Option<Key>) {
        (
            self.last_before(region, key),
            self.first_after(region, (key.0, key.1.saturating_add(1))),
        )
    }

    fn last_before(&self, region: Region, key: Key) -> Option<Key> {
        let (&before, _) = self.live.range(..key).next_back()?;
        (before.0 >= region.span.start).then_some(before)
    }

    fn first_after(&self, region: Region, key: Key) -> Option<Key> {
        let (&after, _) = self.live.range(key..).next()?;
        (after.0 < region.span.end).then_some(after)
    }

    /// Start and end of the free block between two neighbours in a region; `None` means the region's start or end.
    fn between(&self, region: Region, before: Option<Key>, after: Option<Key>) -> (u64, u64) {
        let end = after.map_or(region.span.end, |after| after.0);
        let start = before.map_or(region.span.start, |key| {
            let bytes = self.live.get(&key).copied().unwrap_or(0);
            key.0.saturating_add(bytes)
        });
        (start.min(end), end)
    }

    fn take_between(&mut self, region: Region, before: Option<Key>, after: Option<Key>) {
        let (start, end) = self.between(region, before, after);
        if start < end {
            self.take(start);
        }
    }

    fn put_between(&mut self, region: Region, before: Option<Key>, after: Option<Key>) {
        let (start, end) = self.between(region, before, after);
        if start < end {
            self.put(region, start, end);
        }
    }

    fn last_of(&self, region: Region) -> Option<Key> {
        self.last_before(region, (region.span.end, 0))
    }

    fn first_of(&self, region: Region) -> Option<Key> {
        self.first_after(region, (region.span.start, 0))
    }

    fn take_last(&mut self, region: Region) {
        self.take_between(region, self.last_of(region), None);
    }

    fn put_last(&mut self, region: Region) {
        self.put_between(region, self.last_of(region), None);
    }

    fn take_first(&mut self, region: Region) {
        self.take_between(region, None, self.first_of(region));
    }

    fn put_first(&mut self, region: Region) {
        self.put_between(region, None, self.first_of(region));
    }

    /// Adds the free blocks that touch newly mapped addresses of a region.
    fn put_within(&mut self, region: Region, from: u64, to: u64) {
        let mut before = self.last_before(region, (from, 0));
        let inside: Vec<Key> = self
            .live
            .range((from, 0)..(to, 0))
            .map(|(&key, _)| key)
            .collect();
        for key in inside {
            self.put_between(region, before, Some(key));
            before = Some(key);
        }
        let after = self.first_after(region, (to, 0));
        self.put_between(region, before, after);
    }

    fn put(&mut self, region: Region, start: u64, end: u64) {
        self.take(start);
        let bytes = end - start;
        let returnable_bytes = region.span.returnable_bytes(start, bytes);
        self.free_bytes = self.free_bytes.saturating_add(bytes);
        self.returnable_bytes = self.returnable_bytes.saturating_add(returnable_bytes);
        *self.by_bytes.entry(bytes).or_default() += 1;
        let piece = Piece {
            bytes,
            returnable_bytes,
        };
        self.free.insert(start, piece);
    }

    fn take(&mut self, start: u64) {
        let Some(piece) = self.free.remove(&start) else {
            return;
        };
        self.free_bytes = self.free_bytes.saturating_sub(piece.bytes);
        self.returnable_bytes = self.returnable_bytes.saturating_sub(piece.returnable_bytes);
        if let Some(count) = self.by_bytes.get_mut(&piece.bytes) {
            *count -= 1;
            if *count == 0 {
                self.by_bytes.remove(&piece.bytes);
            }
        }
    }
}
