//! The map of a packing: allocations at the addresses assigned by a solution of the packing problem.
//!
//! It is a [`MemoryMap`] of the same allocations at other addresses. Each group (a pool and stream, which share no memory
//! with others) is one range, as high as its packing and held all the time. The groups are stacked without gaps, so the y
//! axis is the total of bytes needed.

use vramscope_core::analysis::memory::segment_history::{SegmentHistory, SegmentLife};
use vramscope_core::analysis::time::history::{AllocationTable, NEVER};
use vramscope_core::model::PoolId;

use super::lanes::Lane;
use super::tiles::Blocks;
use super::{Lanes, MapHit, MemoryMap};
use crate::raster::Bands;
use crate::viewport::Viewport;

/// Allocations packed into one range: those of one pool and stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedGroup<'a> {
    /// The `cudaStream_t` as a number; `None` if all streams are packed together.
    pub stream: Option<i64>,
    /// The pool; `None` if all pools are packed together.
    pub pool: Option<PoolId>,
    /// Rows of the allocation table; a row is in at most one group.
    pub rows: &'a [u32],
    /// First byte of each row in the group's range.
    pub offset: &'a [u64],
    /// Bytes of each row's block, rounding included.
    pub bytes: &'a [u64],
    /// Bytes of the range.
    pub height: u64,
}

/// The map of a packing. Allocations in no group are left out.
#[derive(Clone, Debug, Default)]
pub struct PackedMap {
    /// The map to draw.
    pub map: MemoryMap,
    /// By allocation: the index of its rectangle in the map, or [`u32::MAX`].
    tile_of: Vec<u32>,
}

impl PackedMap {
    /// Stacks the groups from the bottom up.
    #[must_use]
    pub fn new(allocations: &AllocationTable, groups: &[PackedGroup<'_>]) -> Self {
        let rows = allocations.len();
        let mut blocks = Blocks::nowhere(rows);
        let (mut lanes, mut segments) = (Lanes::default(), SegmentHistory::default());
        let mut base = 0_u64;
        for group in groups.iter().filter(|group| group.height > 0) {
            for ((&row, &offset), &bytes) in group.rows.iter().zip(group.offset).zip(group.bytes) {
                let row = row as usize;
                if row < rows && bytes > 0 && offset < group.height {
                    let requested = allocations.bytes[row].min(bytes);
                    blocks.put(row, base.saturating_add(offset), (requested, bytes));
                }
            }
            hold(&mut segments, group, base);
            lanes.put(
                Lane {
                    address: base,
                    bytes: group.height,
                    y: base as f64,
                    group: 0,
                    segment: Some((segments.segments.len() - 1) as u32),
                    segments: 1,
                },
                (group.pool, group.stream),
            );
            base = base.saturating_add(group.height);
        }
        let map = MemoryMap::of(allocations, &segments, lanes, blocks);
        let mut tile_of = vec![u32::MAX; rows];
        for (number, tile) in (0..).zip(map.tiles.iter()) {
            tile_of[tile.row as usize] = number;
        }
        Self { map, tile_of }
    }

    /// Total bytes of all groups.
    #[must_use]
    pub fn height_bytes(&self) -> u64 {
        // The cast saturates.
        self.map.lanes.y_end() as u64
    }

    /// The contents of device px (`x_px`, `y_px`) in a picture of `viewport`.
    #[must_use]
    pub fn hit(&self, bands: &Bands<'_>, viewport: &Viewport, at_px: (u32, u32)) -> MapHit {
        self.map.under(bands.bytes, bands, viewport, at_px)
    }

    /// The rectangle of an allocation, as in [`MemoryMap::place_of`]; `None` also for one in no group.
    #[must_use]
    pub fn place_of(&self, bands: &Bands<'_>, row: usize) -> Option<((f64, f64), (f64, f64))> {
        let number = self
            .tile_of
            .get(row)
            .filter(|&&number| number != u32::MAX)?;
        let tile = self.map.tiles.get(*number as usize);
        let x = |moment: u32| bands.moment_x(moment as usize);
        Some(((x(tile.born), x(tile.died)), (tile.low, tile.requested)))
    }
}

/// Adds the group's range as a segment that is held all the time.
fn hold(segments: &mut SegmentHistory, group: &PackedGroup<'_>, base: u64) {
    let piece = segments.bytes.len() as u32;
    segments.address.push(base);
    segments.bytes.push(group.height);
    segments.born.push(0);
    segments.died.push(NEVER);
    segments.segment.push(segments.segments.len() as u32);
    segments.segments.push(SegmentLife {
        address: base,
        extent_bytes: group.height,
        born: 0,
        died: NEVER,
        stream: group.stream.unwrap_or(0),
        pool: group.pool,
        is_expandable: false,
        page_bytes: None,
        kind: None,
        final_segment: None,
        first_piece: piece,
        pieces: 1,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Totals;
    use crate::viewport::Bounds;
    use proptest::prelude::*;

    /// Allocations of (bytes, born, life).
    fn table(rows: &[(u64, u32, u32)]) -> AllocationTable {
        let mut table = AllocationTable::default();
        for &(bytes, born, life) in rows {
            table.address.push(7);
            table.bytes.push(bytes);
            table.born.push(born);
            table.free_requested.push(NEVER);
            table.died.push(born + life);
            table.version.push(0);
        }
        table
    }

    fn bands(table: &AllocationTable) -> Bands<'_> {
        static TOTALS: [u64; 16] = [0; 16];
        Bands {
            born: &table.born,
            died: &table.died,
            free_requested: &table.free_requested,
            bytes: &table.bytes,
            total_bytes: Totals::Each(&TOTALS),
            moment_start_us: None,
        }
    }

    fn group<'a>(rows: &'a [u32], offset: &'a [u64], bytes: &'a [u64]) -> PackedGroup<'a> {
        let ends = offset
            .iter()
            .zip(bytes)
            .map(|(offset, bytes)| offset + bytes);
        PackedGroup {
            stream: None,
            pool: None,
            rows,
            offset,
            bytes,
            height: ends.max().unwrap_or(0),
        }
    }

    #[test]
    fn groups_lie_on_each_other_and_points_know_their_allocation() {
        let table = table(&[(500, 0, 8), (400, 0, 8), (512, 8, 8), (9, 0, 16)]);
        let groups = [
            group(&[0, 2], &[0, 0], &[512, 512]),
            PackedGroup {
                stream: Some(7),
                ..group(&[1], &[512], &[512])
            },
        ];
        let packed = PackedMap::new(&table, &groups);
        assert_eq!(packed.height_bytes(), 512 + 1_024);
        assert_eq!(packed.map.lanes.groups.len(), 2);
        let bands = bands(&table);
        let view = Viewport::fit_all(&Bounds::new(16.0, 1_536), 16, 96);
        let at = |x: u32, bytes: u64| {
            let y_px = view.y_px(bytes as f64) as u32;
            packed.hit(&bands, &view, (x, y_px))
        };
        let row = |hit: MapHit| match hit {
            MapHit::Allocation { row, .. } => Some(row),
            _ => None,
        };
        assert_eq!(row(at(2, 100)), Some(0));
        assert_eq!(row(at(10, 100)), Some(2), "the same place, later");
        assert_eq!(row(at(2, 512 + 512 + 100)), Some(1));
        assert!(
            matches!(at(2, 512 + 100), MapHit::Free { .. }),
            "under it is air"
        );
        let place = packed.place_of(&bands, 1);
        assert_eq!(
            place,
            Some(((0.0, 8.0), (1_024.0, 1_424.0))),
            "what was requested"
        );
        assert_eq!(packed.place_of(&bands, 3), None, "not packed");
        assert_eq!(packed.place_of(&bands, 99), None);
    }

    #[test]
    fn nothing_and_nonsense_do_no_harm() {
        let table = table(&[(8, 0, 4)]);
        for groups in [
            vec![],
            vec![group(&[], &[], &[])],
            vec![group(&[5, 0], &[0, u64::MAX - 9], &[8, 8])],
        ] {
            let packed = PackedMap::new(&table, &groups);
            assert_eq!(packed.place_of(&bands(&table), 5), None);
        }
    }

    proptest! {
        /// Allocations with disjoint lives may all be at offset 0; a hit finds the one alive at that moment.
        #[test]
        fn one_after_the_other(bytes in prop::collection::vec(1_u64..2_000, 1..8)) {
            let rows: Vec<_> = (0..).zip(&bytes).map(|(at, &bytes)| (bytes, at * 2, 2)).collect();
            let table = table(&rows);
            let numbers: Vec<u32> = (0..rows.len() as u32).collect();
            let offsets = vec![0; rows.len()];
            let groups = [group(&numbers, &offsets, &bytes)];
            let packed = PackedMap::new(&table, &groups);
            let highest = bytes.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(packed.height_bytes(), highest);
            let bands = bands(&table);
            let view = Viewport::fit_all(&Bounds::new(16.0, highest), 16, 400);
            for row in 0..rows.len() as u32 {
                let hit = packed.hit(&bands, &view, (row * 2, 399));
                prop_assert_eq!(hit, MapHit::Allocation { moment: row * 2, lane: 0, row });
            }
        }
    }
}
