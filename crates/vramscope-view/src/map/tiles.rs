//! Allocations as rectangles that do not overlap.
//!
//! Genuine allocations never do. In a damaged file, or where events are missing, one may begin where
//! another is still thought to live: then the newer wins, and what it covers of the older is gone from
//! that moment on.

use std::collections::BTreeMap;

use super::lanes::Lanes;
use crate::raster::sorted_by_moment;
use vramscope_core::analysis::history::{AllocationTable, NEVER};

/// A rectangle of one allocation: y × moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Lower edge.
    pub low: f64,
    /// Where what was requested ends; above it is what rounding takes.
    pub requested: f64,
    /// Upper edge.
    pub high: f64,
    /// First moment.
    pub born: u32,
    /// Moment from which the free is pending; [`NEVER`] = never was.
    pub free_requested: u32,
    /// First moment after it; [`NEVER`] = none.
    pub died: u32,
    /// The allocation.
    pub row: u32,
}

/// Where an allocation lies.
#[derive(Clone, Copy)]
struct Place {
    /// Its lane.
    lane: u32,
    /// The address after what it holds, no further than its lane; 0 for one without a lane.
    end: u64,
}

/// What is live while the moments go by: start → (end, allocation).
struct Sweep<'a> {
    allocations: &'a AllocationTable,
    lanes: &'a Lanes,
    places: Vec<Place>,
    live: BTreeMap<u64, (u64, u32)>,
    tiles: Vec<Tile>,
}

/// The rectangles of all allocations, by place and then by birth.
pub(super) fn tiles(
    allocations: &AllocationTable,
    lanes: &Lanes,
    held_bytes: impl Fn(usize) -> u64,
) -> Vec<Tile> {
    let rows = allocations.len();
    let last = allocations.died.iter().filter(|&&died| died != NEVER).max();
    let moments = last.map_or(0, |&last| last as usize + 1);
    let by_death = sorted_by_moment(moments, rows, |row| allocations.died[row]);
    let mut deaths = by_death.into_iter().peekable();
    let places = (0..rows).map(|row| {
        let start = allocations.address[row];
        let lane = lanes.row_of(start)?;
        let bytes = held_bytes(row).max(allocations.bytes[row]);
        let lane_end = lanes.lanes[lane as usize].end();
        let end = start.saturating_add(bytes).min(lane_end);
        Some(Place { lane, end })
    });
    let nowhere = Place { lane: 0, end: 0 };
    let mut sweep = Sweep {
        allocations,
        lanes,
        places: places.map(|place| place.unwrap_or(nowhere)).collect(),
        live: BTreeMap::new(),
        tiles: Vec::with_capacity(rows),
    };
    for row in 0..rows {
        let born = allocations.born[row];
        while let Some(gone) = deaths.next_if(|&gone| allocations.died[gone as usize] <= born) {
            sweep.end(gone);
        }
        if born < allocations.died[row] {
            sweep.begin(row as u32);
        }
    }
    for gone in deaths {
        sweep.end(gone);
    }
    for (start, (end, row)) in std::mem::take(&mut sweep.live) {
        sweep.emit(row, start, end, NEVER);
    }
    let mut tiles = sweep.tiles;
    tiles.sort_unstable_by(|a, b| a.low.total_cmp(&b.low).then(a.born.cmp(&b.born)));
    tiles
}

impl Sweep<'_> {
    fn begin(&mut self, row: u32) {
        let (start, end) = self.range_of(row);
        if start >= end {
            return;
        }
        let moment = self.allocations.born[row as usize];
        let below = self.live.range(..start).next_back();
        if let Some((&older, &(older_end, older_row))) = below
            && older_end > start
        {
            self.live.insert(older, (start, older_row));
            self.emit(older_row, start, older_end.min(end), moment);
            if older_end > end {
                self.live.insert(end, (older_end, older_row));
            }
        }
        self.cover(start, end, moment);
        self.live.insert(start, (end, row));
    }

    /// Ends what is live between two addresses, and does not begin below the first; nearly always nothing.
    fn cover(&mut self, start: u64, end: u64, moment: u32) {
        while let Some((&older, &(older_end, older_row))) = self.live.range(start..end).next() {
            self.live.remove(&older);
            self.emit(older_row, older, older_end.min(end), moment);
            if older_end > end {
                self.live.insert(end, (older_end, older_row));
            }
        }
    }

    /// Ends what is left of an allocation.
    fn end(&mut self, row: u32) {
        let (start, end) = self.range_of(row);
        let died = self.allocations.died[row as usize];
        let mut from = start;
        while from < end
            && let Some((&at, &(at_end, of))) = self.live.range(from..end).next()
        {
            if of == row {
                self.live.remove(&at);
                self.emit(row, at, at_end, died);
            }
            // Only what was cut goes on behind its first part.
            if of == row && at == start && at_end == end {
                return;
            }
            from = at_end.max(at.saturating_add(1));
        }
    }

    fn range_of(&self, row: u32) -> (u64, u64) {
        let index = row as usize;
        (self.allocations.address[index], self.places[index].end)
    }

    fn emit(&mut self, row: u32, start: u64, end: u64, died: u32) {
        let (table, index) = (self.allocations, row as usize);
        let lane = &self.lanes.lanes[self.places[index].lane as usize];
        let y = |address: u64| lane.y + (address - lane.address) as f64;
        if table.born[index] >= died {
            return;
        }
        let (low, high) = (y(start), y(end));
        let requested_end = table.address[index].saturating_add(table.bytes[index]);
        let requested = low + requested_end.saturating_sub(start) as f64;
        self.tiles.push(Tile {
            low,
            requested: requested.min(high),
            high,
            born: table.born[index],
            free_requested: table.free_requested[index],
            died,
            row,
        });
    }
}
