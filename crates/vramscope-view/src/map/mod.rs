//! The memory map: address × time, with every allocation a rectangle from birth to death.
//!
//! The y axis shows the addresses that were ever reserved, without the unused ranges between them. Every segment is a lane
//! as high as its bytes, with small gaps between lanes ([`Lanes`]); an expandable segment's lane is as high as all that was
//! ever mapped of it. The x axis shows the moments, on either of the timeline's axes. Each pixel mixes its contents by area:
//! free memory a thousandth of a pixel high contributes a thousandth of its colour, and nothing is left out at any zoom.
//! Reserved but free memory has a pale fill; memory that is not reserved shows the background.
//!
//! Unlike in the timeline, a column does not show only one of its moments, because fragmentation
//! between the peaks matters too.

mod hit;
mod labels;
mod lanes;
mod packing;
mod ranks;
mod raster;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod tiles;

pub use hit::{FreeRange, MapHit};
pub use labels::{GroupMark, LaneMark, MapLabel, MapLabels};
pub use lanes::{Lane, LaneGroup, Lanes};
pub use packing::{PackedGroup, PackedMap};
pub use raster::MapRaster;

use self::tiles::{Blocks, Tile, Tiles};
use crate::raster::Bands;
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::time::history::AllocationTable;
use vramscope_core::sorting::SortFew;

/// The map of one device: the rectangles of all allocations and segments. Computed once, drawn at
/// any zoom.
#[derive(Clone, Debug, Default)]
pub struct MemoryMap {
    /// The y axis.
    pub lanes: Lanes,
    /// Rectangles of allocations, disjoint.
    tiles: Tiles,
    /// The greatest height of a tile.
    tallest: f64,
    /// Rectangles of reserved memory, in the order of [`SegmentHistory`]'s rows.
    pieces: Vec<Piece>,
    /// Rows of `pieces`, sorted by lower edge.
    pieces_upwards: Vec<u32>,
}

/// A rectangle of reserved memory: y × moments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    low: f64,
    high: f64,
    born: u32,
    died: u32,
}

impl MemoryMap {
    /// Lays out a device's allocations in its lanes. `held_bytes` returns the bytes of an allocation's block, rounding
    /// included, as far as known; the result is at least the requested bytes.
    #[must_use]
    pub fn new(
        allocations: &AllocationTable,
        segments: &SegmentHistory,
        lanes: Lanes,
        held_bytes: impl Fn(usize) -> u64,
    ) -> Self {
        let mut blocks = Blocks::nowhere(allocations.len());
        let rows = allocations.address.iter().zip(&allocations.bytes);
        for (row, (&address, &bytes)) in rows.enumerate() {
            blocks.put(row, address, (bytes, held_bytes(row).max(bytes)));
        }
        Self::of(allocations, segments, lanes, blocks)
    }

    fn of(
        allocations: &AllocationTable,
        segments: &SegmentHistory,
        lanes: Lanes,
        blocks: Blocks,
    ) -> Self {
        let tiles = tiles::tiles(allocations, &lanes, blocks);
        let pieces: Vec<Piece> = (0..segments.len())
            .map(|row| {
                let (low, high) = lanes.span(segments.address[row], segments.bytes[row]);
                Piece {
                    low,
                    high,
                    born: segments.born[row],
                    died: segments.died[row],
                }
            })
            .collect();
        let mut pieces_upwards: Vec<u32> = (0..pieces.len() as u32).collect();
        let low = |piece: u32| pieces[piece as usize].low;
        pieces_upwards.sort_few_by(|&a, &b| low(a).total_cmp(&low(b)));
        Self {
            lanes,
            tallest: tiles.tallest(),
            tiles,
            pieces,
            pieces_upwards,
        }
    }

    /// The tiles that reach between these two y, and a few others.
    fn tiles_between(&self, low: f64, high: f64) -> impl Iterator<Item = Tile> {
        self.tiles.between((low, high), self.tallest)
    }

    /// The rectangle of an allocation: (left, right) on the axis of `bands` and (low, high) in y;
    /// `None` if there is no such allocation.
    #[must_use]
    pub fn place_of(
        &self,
        allocations: &AllocationTable,
        bands: &Bands<'_>,
        row: usize,
    ) -> Option<((f64, f64), (f64, f64))> {
        let (&address, &bytes) = (allocations.address.get(row)?, allocations.bytes.get(row)?);
        let x = |moment: u32| bands.moment_x(moment as usize);
        let life = (x(allocations.born[row]), x(allocations.died[row]));
        Some((life, self.lanes.span(address, bytes)))
    }

    /// The rectangle of a row of [`SegmentHistory`], as in [`Self::place_of`].
    #[must_use]
    pub fn place_of_piece(
        &self,
        bands: &Bands<'_>,
        piece: usize,
    ) -> Option<((f64, f64), (f64, f64))> {
        let piece = self.pieces.get(piece)?;
        let x = |moment: u32| bands.moment_x(moment as usize);
        Some(((x(piece.born), x(piece.died)), (piece.low, piece.high)))
    }
}

#[cfg(test)]
mod tests;
