//! The contents of a pixel of the map.

use vramscope_core::analysis::time::history::AllocationTable;
use vramscope_core::sorting::SortFew;

use super::MemoryMap;
use crate::raster::{Bands, Composition};
use crate::viewport::Viewport;

/// Reserved memory between two allocations, or between an allocation and the end of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeRange {
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The part of a segment under the pixel: a row of
    /// [`SegmentHistory`](vramscope_core::analysis::memory::segment_history::SegmentHistory).
    pub piece: u32,
}

/// The contents of a point of the map. Every `moment` is the one at the middle of the pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapHit {
    /// Outside the picture or the recorded time.
    Outside,
    /// The gap between two lanes.
    Between {
        /// The moment.
        moment: u32,
    },
    /// An address that no segment covers at this moment.
    Unmapped {
        /// The moment.
        moment: u32,
        /// The lane, a row of [`Lanes`](super::Lanes).
        lane: u32,
        /// The address at the middle of the pixel.
        address: u64,
    },
    /// Free memory of a segment.
    Free {
        /// The moment.
        moment: u32,
        /// The lane, a row of [`Lanes`](super::Lanes).
        lane: u32,
        /// The free range around the point.
        range: FreeRange,
    },
    /// One allocation, or the rounding above it.
    Allocation {
        /// The moment.
        moment: u32,
        /// The lane, a row of [`Lanes`](super::Lanes).
        lane: u32,
        /// The allocation's row.
        row: u32,
    },
    /// Several allocations, too small to distinguish.
    Several {
        /// The moment.
        moment: u32,
        /// The lane at the middle of the pixel, if there is one.
        lane: Option<u32>,
        /// The allocations and their sum.
        composition: Composition,
    },
}

/// The allocations that overlap a pixel.
#[derive(Default)]
struct Overlaps {
    /// Allocation, lower edge, and the covered share of the pixel's area. An allocation has an entry per tile.
    rows: Vec<(u32, f64, f64)>,
}

impl MemoryMap {
    /// Finds the contents of device px (`x_px`, `y_px`) in a picture of `viewport`. Takes one pass over the allocations near
    /// that height.
    #[must_use]
    pub fn hit(
        &self,
        allocations: &AllocationTable,
        bands: &Bands<'_>,
        viewport: &Viewport,
        at_px: (u32, u32),
    ) -> MapHit {
        self.under(&allocations.bytes, bands, viewport, at_px)
    }

    /// Like [`hit`](Self::hit), with sizes of allocations given by `bytes`.
    pub(super) fn under(
        &self,
        bytes: &[u64],
        bands: &Bands<'_>,
        viewport: &Viewport,
        (x_px, y_px): (u32, u32),
    ) -> MapHit {
        let is_inside = x_px < viewport.width_px && y_px < viewport.height_px;
        let (left, top) = (f64::from(x_px), f64::from(y_px));
        let (x, y) = (viewport.x_at(left + 0.5), viewport.bytes_at(top + 0.5));
        let moment = bands.moment_at(x).filter(|_| is_inside);
        let Some(moment) = moment else {
            return MapHit::Outside;
        };
        let columns = (viewport.x_at(left), viewport.x_at(left + 1.0));
        let rows = (viewport.bytes_at(top + 1.0), viewport.bytes_at(top));
        let found = self.overlaps(bands, columns, rows);
        let lane = self.lanes.at(y);
        let area = (columns.1 - columns.0) * (rows.1 - rows.0);
        if let Some((row, low)) = found.owner(area) {
            let lane = self.lanes.at(low).map_or(0, |(lane, _)| lane);
            return MapHit::Allocation { moment, lane, row };
        }
        if !found.rows.is_empty() {
            return MapHit::Several {
                moment,
                lane: lane.map(|(lane, _)| lane),
                composition: found.composition(bytes),
            };
        }
        let Some((lane, address)) = lane else {
            return MapHit::Between { moment };
        };
        match self.free_range(moment, y) {
            Some(range) => MapHit::Free {
                moment,
                lane,
                range,
            },
            None => MapHit::Unmapped {
                moment,
                lane,
                address,
            },
        }
    }

    fn overlaps(&self, bands: &Bands<'_>, columns: (f64, f64), rows: (f64, f64)) -> Overlaps {
        let mut found = Overlaps::default();
        let Some(moments) = bands.moments_in(columns.0, columns.1) else {
            return found;
        };
        for tile in self.tiles_between(rows.0, rows.1) {
            if tile.high > rows.0 && tile.born <= *moments.end() && tile.died > *moments.start() {
                let height = tile.high.min(rows.1) - tile.low.max(rows.0);
                let left = bands.moment_x(tile.born as usize).max(columns.0);
                let right = bands.moment_x(tile.died as usize).min(columns.1);
                if right > left {
                    let part = (right - left) * height;
                    found.rows.push((tile.row, tile.low, part));
                }
            }
        }
        found
    }

    /// The free range around `y` at a moment; `None` if no segment covers it.
    fn free_range(&self, moment: u32, y: f64) -> Option<FreeRange> {
        let lives = |born: u32, died: u32| born <= moment && moment < died;
        let mut held: Vec<(f64, f64, u32)> = (0..)
            .zip(&self.pieces)
            .filter(|(_, piece)| lives(piece.born, piece.died))
            .map(|(row, piece)| (piece.low, piece.high, row))
            .collect();
        held.sort_few_by(|a, b| a.0.total_cmp(&b.0));
        let at = held.partition_point(|&(low, ..)| low <= y).checked_sub(1)?;
        let (mut low, mut high, piece) = held[at];
        let lane = self.lanes.lanes.get(self.lanes.at(y)?.0 as usize)?;
        if y >= high {
            return None;
        }
        // Adjacent parts of an expandable segment form one range. Other segments have a gap between
        // them.
        for pair in held[..=at].windows(2).rev() {
            if pair[0].1 < pair[1].0 {
                break;
            }
            low = pair[0].0;
        }
        for pair in held[at..].windows(2) {
            if pair[0].1 < pair[1].0 {
                break;
            }
            high = pair[1].1;
        }
        (low, high) = (low.max(lane.y), high.min(lane.y_end()));
        for tile in self.tiles_between(low, high) {
            if tile.high > low && lives(tile.born, tile.died) {
                if tile.high <= y {
                    low = tile.high;
                } else if tile.low >= y {
                    high = high.min(tile.low);
                }
            }
        }
        let (_, address) = self.lanes.at(low)?;
        Some(FreeRange {
            address,
            bytes: (high - low) as u64,
            piece,
        })
    }
}

impl Overlaps {
    /// The allocation that covers half of the pixel in one tile, or is the only one there, with the lower edge of that tile.
    fn owner(&self, area: f64) -> Option<(u32, f64)> {
        let &(first, low, _) = self.rows.first()?;
        if self.rows.iter().all(|&(row, ..)| row == first) {
            return Some((first, low));
        }
        let half = self.rows.iter().find(|(.., part)| *part >= area / 2.0);
        half.map(|&(row, low, _)| (row, low))
    }

    fn composition(&self, bytes: &[u64]) -> Composition {
        let mut rows: Vec<u32> = self.rows.iter().map(|&(row, ..)| row).collect();
        rows.sort_few_by(Ord::cmp);
        rows.dedup();
        let bytes = rows.iter().fold(0_u64, |sum, &row| {
            sum.saturating_add(bytes.get(row as usize).copied().unwrap_or(0))
        });
        Composition {
            allocations: rows,
            bytes,
        }
    }
}
