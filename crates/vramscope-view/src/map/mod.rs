//! The memory map: address × time, every allocation a rectangle at its place from birth to death.
//!
//! Upwards are the addresses that were ever held from CUDA, without the vast emptiness between them:
//! every segment is a lane as high as its bytes, an expandable one as high as all that was ever mapped of
//! it, and a little air between lanes ([`Lanes`]). To the right are the moments, on the timeline's two
//! axes. What is drawn is what the area holds: each pixel is the mix, by area, of what lies in it, so a
//! free strip of a thousandth of a pixel is a thousandth of its colour and nothing is left out at any
//! zoom. Memory that is held but free is a quiet fill, memory that is not held is the ground.
//!
//! Unlike the timeline's, a column does not stand for one of its moments: fragmentation is a matter of
//! what happens between the peaks, too.

mod hit;
mod labels;
mod lanes;
mod packed;
mod ranks;
mod raster;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod tiles;

pub use hit::{FreeRange, MapHit};
pub use labels::{GroupMark, LaneMark, MapLabel, MapLabels};
pub use lanes::{Lane, LaneGroup, Lanes};
pub use packed::{PackedGroup, PackedMap};
pub use raster::MapRaster;
pub use tiles::Tile;

use crate::raster::Bands;
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::time::history::AllocationTable;

/// The map of one device: what is where, and when. Made once, drawn at any zoom on either axis.
#[derive(Clone, Debug, Default)]
pub struct MemoryMap {
    /// The y axis.
    pub lanes: Lanes,
    /// Rectangles of allocations, disjoint, by address.
    tiles: Vec<Tile>,
    /// Rectangles of held memory, in the order of [`SegmentHistory`]'s pieces.
    pieces: Vec<Piece>,
}

/// A rectangle of memory held from CUDA: y × moments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    low: f64,
    high: f64,
    born: u32,
    died: u32,
}

impl MemoryMap {
    /// Lays out a device's allocations in its lanes. `held_bytes` tells what an allocation takes, rounding included, as
    /// far as that is known: at least what was requested.
    #[must_use]
    pub fn new(
        allocations: &AllocationTable,
        segments: &SegmentHistory,
        lanes: Lanes,
        held_bytes: impl Fn(usize) -> u64,
    ) -> Self {
        let tiles = tiles::tiles(allocations, &lanes, held_bytes);
        let pieces = (0..segments.len())
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
        Self {
            lanes,
            tiles,
            pieces,
        }
    }

    /// Where an allocation lies: (left, right) on the axis of `bands` and (low, high) in y; `None` where
    /// there is no such allocation.
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

    /// Where a piece of a segment lies, likewise.
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
