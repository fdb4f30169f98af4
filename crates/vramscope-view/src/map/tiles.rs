//! Allocations as disjoint rectangles.
//!
//! Allocations of an intact file never overlap. In a damaged file, or where events are missing, one
//! may begin inside another that still seems alive. Then the newer one wins, and the part of the
//! older one that it covers ends at that moment.

use std::collections::{BTreeMap, BTreeSet};

use super::lanes::Lanes;
use super::ranks::Ranks;
use vramscope_core::analysis::time::history::{AllocationTable, NEVER};
use vramscope_core::sorting::{Numbers, rows_by_end};

/// A rectangle of one allocation: y × moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tile {
    /// Lower edge.
    pub low: f64,
    /// Upper edge of the requested bytes; the rounding is above it.
    pub requested: f64,
    /// Upper edge.
    pub high: f64,
    /// First moment alive.
    pub born: u32,
    /// Moment from which the free is pending; [`NEVER`] if there is none.
    pub free_requested: u32,
    /// First moment after its life; [`NEVER`] if it lives to the end.
    pub died: u32,
    /// The allocation.
    pub row: u32,
}

/// The input of both ways to compute tiles.
struct Plan<'a> {
    allocations: &'a AllocationTable,
    lanes: &'a Lanes,
    /// The different addresses of allocations in lanes, ascending.
    starts: Vec<u64>,
    /// Per start, the row of its lane.
    lane_of: Vec<u32>,
    /// Per allocation, the place of its address in `starts`; [`NOWHERE`] if it is in no lane.
    start_of: Vec<u32>,
    /// Per allocation, the address after its block, clipped to the lane; 0 if it is in no lane.
    ends: Vec<u64>,
    /// Allocations that die within the recording, sorted by death.
    by_death: Vec<u32>,
}

/// The place of an address that is in no lane.
const NOWHERE: u32 = u32::MAX;

/// The rectangles of all allocations, sorted by address, then by birth.
pub(super) fn tiles(
    allocations: &AllocationTable,
    lanes: &Lanes,
    held_bytes: impl Fn(usize) -> u64,
) -> Vec<Tile> {
    let plan = Plan::of(allocations, lanes, held_bytes);
    if plan.is_disjoint() {
        plan.whole_tiles()
    } else {
        plan.cut_tiles()
    }
}

impl<'a> Plan<'a> {
    fn of(
        allocations: &'a AllocationTable,
        lanes: &'a Lanes,
        held_bytes: impl Fn(usize) -> u64,
    ) -> Self {
        let rows = allocations.len();
        // Allocators give the same addresses again and again: their numbers are sorted instead of all rows.
        let mut numbers = Numbers::default();
        let mut start_of: Vec<u32> = (allocations.address.iter())
            .map(|&address| numbers.of(address))
            .collect();
        let addresses = numbers.values;
        let mut ascending: Vec<u32> = (0..addresses.len() as u32).collect();
        ascending.sort_unstable_by_key(|&number| addresses[number as usize]);
        let (mut starts, mut lane_of) = (Vec::new(), Vec::new());
        let mut places = vec![NOWHERE; addresses.len()];
        let mut by_address = lanes.by_address().peekable();
        for number in ascending {
            let start = addresses[number as usize];
            while by_address
                .next_if(|&(_, lane)| lane.end() <= start)
                .is_some()
            {}
            let found = by_address.peek().filter(|(_, lane)| lane.address <= start);
            if let Some(&(lane_row, _)) = found {
                places[number as usize] = starts.len() as u32;
                starts.push(start);
                lane_of.push(lane_row);
            }
        }
        for number in &mut start_of {
            *number = places[*number as usize];
        }
        let end = |row: usize| {
            let lane = *lane_of.get(start_of[row] as usize)?;
            let bytes = held_bytes(row).max(allocations.bytes[row]);
            let end = allocations.address[row].saturating_add(bytes);
            Some(end.min(lanes.lanes[lane as usize].end()))
        };
        let ends = (0..rows).map(|row| end(row).unwrap_or(0)).collect();
        Self {
            allocations,
            lanes,
            starts,
            lane_of,
            start_of,
            ends,
            by_death: rows_by_end(&allocations.died),
        }
    }

    /// Whether no allocation begins inside another that is still alive, as in every intact file.
    fn is_disjoint(&self) -> bool {
        let (born, died) = (&self.allocations.born, &self.allocations.died);
        let (starts, ends) = (&self.starts, &self.ends);
        let mut live = Ranks::new(starts.len());
        let mut tenant = vec![0_u32; starts.len()];
        let mut deaths = self.by_death.iter().peekable();
        for (row, &start_of_row) in self.start_of.iter().enumerate() {
            while let Some(&gone) = deaths.next_if(|&&gone| died[gone as usize] <= born[row]) {
                let at = self.start_of[gone as usize] as usize;
                if tenant.get(at) == Some(&gone) {
                    live.remove(at);
                }
            }
            let at = start_of_row as usize;
            if at >= starts.len() || born[row] >= died[row] {
                continue;
            }
            let reaches_in = |below: usize| ends[tenant[below] as usize] > starts[at];
            if !live.insert(at)
                || live.below(at).is_some_and(reaches_in)
                || live
                    .above(at)
                    .is_some_and(|above| starts[above] < ends[row])
            {
                return false;
            }
            tenant[at] = row as u32;
        }
        true
    }

    /// One rectangle per allocation.
    fn whole_tiles(&self) -> Vec<Tile> {
        let rows = || self.start_of.iter().enumerate();
        let tile = |row: usize| {
            let (from, to) = self.range_of(row as u32);
            self.tile(row as u32, from, to, self.allocations.died[row])
        };
        // Where the tiles of each start begin, in the order of lanes. Columns are read from front to back: rows are
        // written to their places, not collected for them.
        let mut places = vec![0_usize; self.starts.len()];
        for (row, &start) in rows() {
            if tile(row).is_some() {
                places[start as usize] += 1;
            }
        }
        let mut by_lane: Vec<usize> = (0..self.starts.len()).collect();
        by_lane.sort_by_key(|&start| self.lane_of[start]);
        let mut before = 0;
        for start in by_lane {
            before += std::mem::replace(&mut places[start], before);
        }
        let mut tiles = vec![Tile::default(); before];
        for (row, &start) in rows() {
            if let Some(tile) = tile(row) {
                let place = &mut places[start as usize];
                tiles[*place] = tile;
                *place += 1;
            }
        }
        tiles
    }

    /// Rectangles of the parts of allocations that no newer one covers.
    fn cut_tiles(&self) -> Vec<Tile> {
        let (born, died) = (&self.allocations.born, &self.allocations.died);
        let mut sweep = Sweep {
            plan: self,
            live: BTreeMap::new(),
            parts: BTreeSet::new(),
            tiles: Vec::with_capacity(self.start_of.len()),
        };
        let mut deaths = self.by_death.iter().peekable();
        for row in 0..born.len() {
            while let Some(&gone) = deaths.next_if(|&&gone| died[gone as usize] <= born[row]) {
                sweep.end(gone);
            }
            if born[row] < died[row] {
                sweep.begin(row as u32);
            }
        }
        for &gone in deaths {
            sweep.end(gone);
        }
        for (start, (end, row)) in std::mem::take(&mut sweep.live) {
            sweep.emit(row, start, end, NEVER);
        }
        let mut tiles = sweep.tiles;
        tiles.sort_unstable_by(|a, b| {
            let later = || (a.born, a.row).cmp(&(b.born, b.row));
            a.low.total_cmp(&b.low).then_with(later)
        });
        tiles
    }

    /// The addresses of an allocation's block.
    fn range_of(&self, row: u32) -> (u64, u64) {
        let index = row as usize;
        (self.allocations.address[index], self.ends[index])
    }

    /// The rectangle of a part of an allocation; `None` if it is empty.
    fn tile(&self, row: u32, start: u64, end: u64, died: u32) -> Option<Tile> {
        let (table, index) = (self.allocations, row as usize);
        if start >= end || table.born[index] >= died {
            return None;
        }
        let lane = self.lane_of[self.start_of[index] as usize];
        let lane = &self.lanes.lanes[lane as usize];
        let y = |address: u64| lane.y + (address - lane.address) as f64;
        let (low, high) = (y(start), y(end));
        let requested_end = table.address[index].saturating_add(table.bytes[index]);
        let requested = low + requested_end.saturating_sub(start) as f64;
        Some(Tile {
            low,
            requested: requested.min(high),
            high,
            born: table.born[index],
            free_requested: table.free_requested[index],
            died,
            row,
        })
    }
}

/// The live parts of allocations while sweeping over the moments.
struct Sweep<'a> {
    plan: &'a Plan<'a>,
    /// Start address → (end, allocation).
    live: BTreeMap<u64, (u64, u32)>,
    /// The same by allocation, with the start address.
    parts: BTreeSet<(u32, u64)>,
    tiles: Vec<Tile>,
}

impl Sweep<'_> {
    fn begin(&mut self, row: u32) {
        let (start, end) = self.plan.range_of(row);
        if start >= end {
            return;
        }
        let moment = self.plan.allocations.born[row as usize];
        let below = self.live.range(..start).next_back();
        if let Some((&older, &(older_end, older_row))) = below
            && older_end > start
        {
            self.live.insert(older, (start, older_row));
            self.emit(older_row, start, older_end.min(end), moment);
            if older_end > end {
                self.put(end, older_end, older_row);
            }
        }
        self.cover(start, end, moment);
        self.put(start, end, row);
    }

    fn put(&mut self, start: u64, end: u64, row: u32) {
        self.live.insert(start, (end, row));
        self.parts.insert((row, start));
    }

    /// Ends live parts that begin between two addresses; nearly always there are none.
    fn cover(&mut self, start: u64, end: u64, moment: u32) {
        while let Some((&older, &(older_end, older_row))) = self.live.range(start..end).next() {
            self.live.remove(&older);
            self.parts.remove(&(older_row, older));
            self.emit(older_row, older, older_end.min(end), moment);
            if older_end > end {
                self.put(end, older_end, older_row);
            }
        }
    }

    /// Ends the remaining parts of an allocation.
    fn end(&mut self, row: u32) {
        let died = self.plan.allocations.died[row as usize];
        while let Some(&part) = self.parts.range((row, 0)..=(row, u64::MAX)).next() {
            self.parts.remove(&part);
            let (_, start) = part;
            if let Some((end, _)) = self.live.remove(&start) {
                self.emit(row, start, end, died);
            }
        }
    }

    fn emit(&mut self, row: u32, start: u64, end: u64, died: u32) {
        self.tiles.extend(self.plan.tile(row, start, end, died));
    }
}

#[cfg(test)]
pub(super) fn both_ways(
    allocations: &AllocationTable,
    lanes: &Lanes,
    held_bytes: impl Fn(usize) -> u64,
) -> Option<[Vec<Tile>; 2]> {
    let plan = Plan::of(allocations, lanes, held_bytes);
    plan.is_disjoint()
        .then(|| [plan.whole_tiles(), plan.cut_tiles()])
}
