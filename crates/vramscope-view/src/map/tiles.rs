//! Allocations as disjoint rectangles.
//!
//! Allocations of an intact file never overlap. In a damaged file, or where events are missing, one may begin inside another
//! that still seems alive. Then the newer one wins, and the part of the older one that it covers ends at that moment.

use std::collections::{BTreeMap, BTreeSet};

use super::lanes::Lanes;
use super::ranks::Ranks;
use vramscope_core::analysis::time::history::{AllocationTable, NEVER};
use vramscope_core::sorting::{Numbers, rows_by_end};

/// A rectangle of one allocation: y × moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tile {
    pub(super) low: f64,
    /// Upper edge of the requested bytes; the rounding is above it.
    pub(super) requested: f64,
    pub(super) high: f64,
    /// First moment alive.
    pub(super) born: u32,
    /// Moment from which the free is pending; [`NEVER`] if there is none.
    pub(super) free_requested: u32,
    /// First moment after its life; [`NEVER`] if it lives to the end.
    pub(super) died: u32,
    pub(super) row: u32,
}

/// Rectangles sorted by lower edge, then by birth. Allocators reuse the same addresses and sizes, so rectangles store
/// numbers of these: 24 bytes each instead of 40.
#[derive(Clone, Debug, Default)]
pub(super) struct Tiles {
    tiles: Vec<Numbered>,
    /// The distinct lower edges, ascending.
    lows: Vec<f64>,
    /// Heights of the requested bytes, and total heights.
    heights: Vec<(f64, f64)>,
}

/// A [`Tile`] with numbers for its edges.
#[derive(Clone, Copy, Debug, Default)]
struct Numbered {
    low: u32,
    height: u32,
    born: u32,
    free_requested: u32,
    died: u32,
    row: u32,
}

impl Tiles {
    pub(super) fn len(&self) -> usize {
        self.tiles.len()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Tile {
        self.tile(&self.tiles[at])
    }

    /// The allocation of a rectangle.
    #[inline]
    pub(super) fn row(&self, at: usize) -> usize {
        self.tiles[at].row as usize
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Tile> {
        self.tiles.iter().map(|tile| self.tile(tile))
    }

    pub(super) fn tallest(&self) -> f64 {
        let heights = self.heights.iter();
        heights.fold(0.0, |tallest, &(_, height)| tallest.max(height))
    }

    /// The tiles that reach between these two y, and a few others. None is higher than `tallest`.
    pub(super) fn between(
        &self,
        (low, high): (f64, f64),
        tallest: f64,
    ) -> impl Iterator<Item = Tile> {
        let first = self.lows.partition_point(|&edge| edge + tallest < low);
        let end = self.lows.partition_point(|&edge| edge < high);
        let until = |edge: usize| {
            self.tiles
                .partition_point(|tile| (tile.low as usize) < edge)
        };
        let tiles = self.tiles.get(until(first)..until(end));
        tiles.into_iter().flatten().map(|tile| self.tile(tile))
    }

    #[inline]
    fn tile(&self, tile: &Numbered) -> Tile {
        let low = self.lows[tile.low as usize];
        let (requested, height) = self.heights[tile.height as usize];
        Tile {
            low,
            requested: low + requested,
            high: low + height,
            born: tile.born,
            free_requested: tile.free_requested,
            died: tile.died,
            row: tile.row,
        }
    }
}

/// Addresses and sizes of allocations' blocks, by numbers.
#[derive(Default)]
pub(super) struct Blocks {
    addresses: Numbers,
    /// Requested and held bytes.
    sizes: Numbers<(u64, u64)>,
    /// By allocation: the numbers of its address and of its size; [`NOWHERE`] if it is not drawn.
    rows: Vec<(u32, u32)>,
}

impl Blocks {
    /// Blocks for so many allocations, none of them placed yet.
    pub(super) fn nowhere(rows: usize) -> Self {
        Self {
            rows: vec![(NOWHERE, NOWHERE); rows],
            ..Self::default()
        }
    }

    /// Sets the address of an allocation's block, and its requested and held bytes.
    pub(super) fn put(&mut self, row: usize, address: u64, requested_and_held: (u64, u64)) {
        self.rows[row] = (
            self.addresses.of(address),
            self.sizes.of(requested_and_held),
        );
    }
}

/// The input for both ways of computing tiles.
struct Plan<'a> {
    allocations: &'a AllocationTable,
    lanes: &'a Lanes,
    /// The distinct addresses of allocations in lanes, ascending.
    starts: Vec<u64>,
    /// The lane of each start.
    lane_of: Vec<u32>,
    /// By allocation, the index of its address in `starts` ([`NOWHERE`] if in no lane), and the number of its size.
    rows: Vec<(u32, u32)>,
    sizes: Vec<(u64, u64)>,
}

/// Stands for the index of an address that is in no lane.
const NOWHERE: u32 = u32::MAX;

pub(super) fn tiles(allocations: &AllocationTable, lanes: &Lanes, blocks: Blocks) -> Tiles {
    let plan = Plan::of(allocations, lanes, blocks);
    if plan.is_disjoint() {
        plan.whole_tiles()
    } else {
        plan.cut_tiles()
    }
}

impl<'a> Plan<'a> {
    fn of(allocations: &'a AllocationTable, lanes: &'a Lanes, blocks: Blocks) -> Self {
        let Blocks {
            addresses,
            sizes,
            mut rows,
        } = blocks;
        // Sorting the distinct addresses is faster than sorting all rows.
        let addresses = addresses.values;
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
        for (start, _) in &mut rows {
            *start = places.get(*start as usize).copied().unwrap_or(NOWHERE);
        }
        Self {
            allocations,
            lanes,
            starts,
            lane_of,
            rows,
            sizes: sizes.values,
        }
    }

    /// Whether no allocation begins inside another that is still alive, as in every intact file.
    fn is_disjoint(&self) -> bool {
        let (born, died) = (&self.allocations.born, &self.allocations.died);
        let starts = &self.starts;
        // The last allocation at each start, alive or not: most of the dead ones are never looked at again.
        let mut live = Ranks::new(starts.len());
        let mut tenant = vec![0_u32; starts.len()];
        for (row, &(start, _)) in self.rows.iter().enumerate() {
            let at = start as usize;
            if at >= starts.len() || born[row] >= died[row] {
                continue;
            }
            let lives = |start: usize| died[tenant[start] as usize] > born[row];
            if !live.insert(at) && lives(at) {
                return false;
            }
            while let Some(below) = live.below(at) {
                if lives(below) {
                    if self.end_of(tenant[below]) > starts[at] {
                        return false;
                    }
                    break;
                }
                live.remove(below);
            }
            let end = self.end_of(row as u32);
            while let Some(above) = live.above(at).filter(|&above| starts[above] < end) {
                if lives(above) {
                    return false;
                }
                live.remove(above);
            }
            tenant[at] = row as u32;
        }
        true
    }

    fn whole_tiles(&self) -> Tiles {
        let rows = || (0..).zip(&self.rows);
        let (born, died) = (&self.allocations.born, &self.allocations.died);
        let is_drawn = |row: u32, start: u32| {
            let is_alive = || born[row as usize] < died[row as usize];
            start != NOWHERE && is_alive() && self.end_of(row) > self.starts[start as usize]
        };
        // The starts in the order of lanes, with the position of the first tile of each. The columns are read front to back,
        // and rows are written directly to their positions.
        let mut places = vec![0_u32; self.starts.len()];
        for (row, &(start, _)) in rows() {
            if is_drawn(row, start) {
                places[start as usize] += 1;
            }
        }
        let mut by_lane: Vec<u32> = (0..self.starts.len() as u32).collect();
        by_lane.sort_by_key(|&start| self.lane_of[start as usize]);
        let mut tiles = Tiles::default();
        let mut low_of = vec![0_u32; self.starts.len()];
        let mut before = 0;
        for start in by_lane {
            let start = start as usize;
            low_of[start] = tiles.lows.len() as u32;
            tiles.lows.push(self.y(start, self.starts[start]));
            before += std::mem::replace(&mut places[start], before);
        }
        let sizes = self.sizes.iter();
        let heights = sizes.map(|&(requested, held)| (requested.min(held) as f64, held as f64));
        tiles.heights = heights.collect();
        tiles.tiles = vec![Numbered::default(); before as usize];
        for (row, &(start, size)) in rows() {
            if !is_drawn(row, start) {
                continue;
            }
            let (requested, held) = self.sizes[size as usize];
            let (start, index) = (start as usize, row as usize);
            let bytes = self.end_of(row) - self.starts[start];
            let mut height = size;
            // A lane ends within a block only in damaged files.
            if bytes < held {
                height = tiles.heights.len() as u32;
                tiles
                    .heights
                    .push((requested.min(bytes) as f64, bytes as f64));
            }
            let place = &mut places[start];
            tiles.tiles[*place as usize] = Numbered {
                low: low_of[start],
                height,
                born: born[index],
                free_requested: self.allocations.free_requested[index],
                died: died[index],
                row,
            };
            *place += 1;
        }
        tiles
    }

    /// Rectangles of the parts of allocations that no newer one covers.
    fn cut_tiles(&self) -> Tiles {
        let (born, died) = (&self.allocations.born, &self.allocations.died);
        let mut sweep = Sweep {
            plan: self,
            live: BTreeMap::new(),
            parts: BTreeSet::new(),
            tiles: Vec::with_capacity(self.rows.len()),
        };
        let by_death = rows_by_end(died);
        let mut deaths = by_death.iter().peekable();
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
        let mut numbered = Tiles::default();
        numbered.tiles.reserve_exact(tiles.len());
        for tile in tiles {
            if numbered.lows.last() != Some(&tile.low) {
                numbered.lows.push(tile.low);
            }
            let height = (tile.requested - tile.low, tile.high - tile.low);
            if numbered.heights.last() != Some(&height) {
                numbered.heights.push(height);
            }
            numbered.tiles.push(Numbered {
                low: numbered.lows.len() as u32 - 1,
                height: numbered.heights.len() as u32 - 1,
                born: tile.born,
                free_requested: tile.free_requested,
                died: tile.died,
                row: tile.row,
            });
        }
        numbered
    }

    /// The addresses of an allocation's block, clipped to the lane; none if it is in no lane.
    fn range_of(&self, row: u32) -> (u64, u64) {
        let (start, size) = self.rows[row as usize];
        let Some(&address) = self.starts.get(start as usize) else {
            return (0, 0);
        };
        let lane = self.lane_of[start as usize];
        let end = address.saturating_add(self.sizes[size as usize].1);
        (address, end.min(self.lanes.lanes[lane as usize].end()))
    }

    /// The address after an allocation's block.
    fn end_of(&self, row: u32) -> u64 {
        self.range_of(row).1
    }

    /// The y of an address in the lane of a start.
    fn y(&self, start: usize, address: u64) -> f64 {
        let lane = &self.lanes.lanes[self.lane_of[start] as usize];
        lane.y + (address - lane.address) as f64
    }

    /// The rectangle of a part of an allocation; `None` if it is empty.
    fn tile(&self, row: u32, from: u64, to: u64, died: u32) -> Option<Tile> {
        let (table, index) = (self.allocations, row as usize);
        if from >= to || table.born[index] >= died {
            return None;
        }
        let (start, size) = self.rows[index];
        let low = self.y(start as usize, from);
        let requested_end = self.starts[start as usize].saturating_add(self.sizes[size as usize].0);
        let requested = requested_end.saturating_sub(from).min(to - from);
        Some(Tile {
            low,
            requested: low + requested as f64,
            high: low + (to - from) as f64,
            born: table.born[index],
            free_requested: table.free_requested[index],
            died,
            row,
        })
    }
}

/// The live parts of allocations during the sweep over the moments.
struct Sweep<'a> {
    plan: &'a Plan<'a>,
    /// Start address → (end, allocation).
    live: BTreeMap<u64, (u64, u32)>,
    /// The same parts by allocation, with their start addresses.
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

    /// Ends live parts that begin between two addresses; there are almost never any.
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
    blocks: Blocks,
) -> Option<[Vec<Tile>; 2]> {
    let plan = Plan::of(allocations, lanes, blocks);
    plan.is_disjoint()
        .then(|| [plan.whole_tiles(), plan.cut_tiles()].map(|tiles| tiles.iter().collect()))
}
