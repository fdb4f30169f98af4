//! The map's raster against the slow reference, and its tiles against single cells, for random
//! data.

use super::*;
use crate::bitset::BitSet;
use crate::colour::ColourColumn;
use crate::raster::{Frame, NEVER, Paint};
use crate::theme::Theme;
use crate::viewport::Viewport;
use proptest::prelude::*;
use vramscope_core::analysis::memory::segment_history::SegmentLife;
use vramscope_core::analysis::time::moment_times::MomentTimes;
use vramscope_core::model::PoolId;

/// The data of a map.
#[derive(Clone, Debug, Default)]
struct Story {
    allocations: AllocationTable,
    segments: SegmentHistory,
    moments: u32,
    starts: Option<MomentTimes>,
    totals: Vec<u64>,
}

/// Block sizes are multiples of this.
const UNIT: u64 = 16;

impl Story {
    /// Allocations are given as (address, bytes, born, life, pending), segments as an address and
    /// parts of (bytes, born, life).
    fn new(moments: u32, rows: &[[u32; 5]], segments: &[(u32, Vec<[u32; 3]>)]) -> Self {
        let mut story = Self {
            moments,
            totals: vec![0; moments as usize],
            ..Self::default()
        };
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| row[2]);
        let table = &mut story.allocations;
        for [address, bytes, born, life, pending] in rows {
            let died = if life > moments {
                NEVER
            } else {
                born + 1 + life
            };
            table.address.push(u64::from(address));
            table.bytes.push(u64::from(bytes));
            table.born.push(born);
            table.died.push(died);
            table.free_requested.push(if pending > 20 {
                NEVER
            } else {
                died.min(moments).saturating_sub(pending).max(born)
            });
            table.version.push(0);
        }
        for (address, pieces) in segments {
            story.segment(u64::from(*address), pieces);
        }
        story
    }

    fn segment(&mut self, address: u64, pieces: &[[u32; 3]]) {
        let history = &mut self.segments;
        let first_piece = history.bytes.len() as u32;
        let mut end = address;
        for &[bytes, born, life] in pieces {
            history.address.push(end);
            history.bytes.push(u64::from(bytes));
            history.born.push(born);
            history
                .died
                .push(born.saturating_add(life).saturating_add(1));
            history.segment.push(history.segments.len() as u32);
            end = end.saturating_add(u64::from(bytes));
        }
        history.segments.push(SegmentLife {
            address,
            extent_bytes: end - address,
            born: 0,
            died: NEVER,
            stream: (address / 300) as i64,
            pool: (address > 500).then_some(PoolId(0, 0)),
            is_expandable: true,
            page_bytes: None,
            kind: None,
            final_segment: None,
            first_piece,
            pieces: pieces.len() as u32,
        });
    }

    fn map(&self) -> MemoryMap {
        let bytes = &self.allocations.bytes;
        let lanes = Lanes::new(&self.allocations, &self.segments);
        MemoryMap::new(&self.allocations, &self.segments, lanes, |row| {
            bytes[row].next_multiple_of(UNIT)
        })
    }

    fn bands(&self) -> Bands<'_> {
        Bands {
            born: &self.allocations.born,
            died: &self.allocations.died,
            free_requested: &self.allocations.free_requested,
            bytes: &self.allocations.bytes,
            total_bytes: (&self.totals).into(),
            moment_start_us: self.starts.as_ref(),
        }
    }

    /// The allocation at an address of this lane at a moment: the newest that covers the address, if still alive.
    /// Allocations that begin in another lane do not count.
    fn tenant(&self, lane: &Lane, address: u64, moment: u32) -> Option<u32> {
        let table = &self.allocations;
        let newest = (0..table.len()).rev().find(|&row| {
            let end = table.address[row] + table.bytes[row].next_multiple_of(UNIT);
            table.born[row] <= moment
                && (lane.address..=address).contains(&table.address[row])
                && address < end
        })?;
        let ended = table.died[newest] <= moment;
        // An older allocation that the newest has covered does not reappear.
        (!ended).then_some(newest as u32)
    }
}

fn stories(most: usize) -> impl Strategy<Value = Story> {
    (2_u32..60, 0..3_u32).prop_flat_map(move |(moments, axis)| {
        let row = (
            0_u32..1_000,
            1_u32..200,
            0..moments,
            0..moments + 9,
            0..60_u32,
        )
            .prop_map(|(a, b, c, d, e)| [a, b, c, d, e]);
        let piece = (1_u32..90, 0..moments, 0..moments + 9).prop_map(|(a, b, c)| [a, b, c]);
        let pieces = prop::collection::vec(piece, 1..4);
        (
            prop::collection::vec(row, 0..most),
            prop::collection::vec(pieces, 0..5),
            prop::collection::vec(prop_oneof![Just(0_i64), 0..50_i64], moments as usize),
        )
            .prop_map(move |(rows, pieces, gaps)| {
                let segments: Vec<_> = pieces
                    .into_iter()
                    .enumerate()
                    .map(|(i, pieces)| (i as u32 * 270, pieces))
                    .collect();
                let mut story = Story::new(moments, &rows, &segments);
                if axis == 0 {
                    let mut now = 1_700_000_000_000_000;
                    let starts = gaps.iter().map(|gap| {
                        now += gap;
                        now
                    });
                    story.starts = Some(starts.collect());
                }
                story
            })
    })
}

fn views() -> impl Strategy<Value = (u32, u32, [f64; 4])> {
    let whole = Just([0.0, 1.0, 0.0, 1.0]);
    let part = (0.0..0.8, 0.01..1.0, 0.0..0.8, 0.005..1.0).prop_map(|(x, w, y, h)| [x, w, y, h]);
    let beyond = Just([-0.3, 1.9, -0.1, 1.5]);
    (
        1_u32..50,
        1_u32..40,
        prop_oneof![2 => whole, 4 => part, 1 => beyond],
    )
}

fn viewport(
    map: &MemoryMap,
    bands: &Bands<'_>,
    (width_px, height_px, [x, w, y, h]): (u32, u32, [f64; 4]),
) -> Viewport {
    let (x_end, y_end) = (bands.x_end(), map.lanes.y_end().max(1.0));
    Viewport {
        x_min: x * x_end,
        x_max: (x + w) * x_end,
        y_min_bytes: y * y_end,
        y_max_bytes: (y + h) * y_end,
        width_px,
        height_px,
    }
}

/// The fast picture, then two slow ones: in the first of these, nearly covered pixels count as covered, in the second they
/// do not.
fn draw(story: &Story, map: &MemoryMap, view: &Viewport, matches: Option<&BitSet>) -> [Frame; 3] {
    let theme = Theme::dark();
    let rows = 0..story.allocations.len();
    let colours = ColourColumn::by_hash(&theme, rows.map(|row| Some(row as u64 * 7)));
    let paint = Paint {
        colours: &colours,
        matches,
        theme: &theme,
    };
    let mut fast = Frame::default();
    let bands = story.bands();
    MapRaster::new().draw(map, &bands, view, &paint, &mut fast);
    let slow = |gap| reference::draw(map, &bands, view, &paint, gap);
    [fast, slow(1e-3), slow(1e-7)]
}

fn check(story: &Story, view: &Viewport, matches: Option<&BitSet>) -> Result<(), TestCaseError> {
    let [fast, slow, strict] = draw(story, &story.map(), view, matches);
    prop_assert_eq!(&fast.column_moment, &slow.column_moment);
    let both = slow.rgba.iter().zip(&strict.rgba);
    for (i, (a, (b, c))) in fast.rgba.iter().zip(both).enumerate() {
        let (pixel, width) = (i / 4, view.width_px as usize);
        // The colour of a pixel that is hardly covered is imprecise.
        let alpha = slow.rgba[pixel * 4 + 3];
        let tolerance = if i % 4 < 3 && alpha < 16 {
            255 / (u8::max(alpha, 1))
        } else {
            1
        };
        prop_assert!(
            a.abs_diff(*b).min(a.abs_diff(*c)) <= tolerance,
            "pixel {:?} channel {}: {a} for {b} or {c}",
            (pixel % width, pixel / width),
            i % 4
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn as_the_reference(story in stories(60), view in views()) {
        check(&story, &viewport(&story.map(), &story.bands(), view), None)?;
    }

    #[test]
    fn as_the_reference_when_filtered(story in stories(60), view in views(), seed in any::<u64>()) {
        let matches = BitSet::from_fn(story.allocations.len(), |row| seed >> (row % 64) & 1 == 1);
        check(&story, &viewport(&story.map(), &story.bands(), view), Some(&matches))?;
    }

    #[test]
    fn every_cell_has_the_newest_tenant(story in stories(40)) {
        let map = story.map();
        for moment in 0..story.moments {
            for lane in &map.lanes.lanes {
                for offset in 0..lane.bytes {
                    let y = lane.y + offset as f64 + 0.5;
                    let inside = |tile: &Tile| {
                        tile.low < y && y < tile.high && tile.born <= moment && moment < tile.died
                    };
                    let here: Vec<u32> = map.tiles.iter().filter(inside).map(|tile| tile.row).collect();
                    let tenant = story.tenant(lane, lane.address + offset, moment);
                    let expected: Vec<u32> = tenant.into_iter().collect();
                    prop_assert_eq!(here, expected, "{} at {}", lane.address + offset, moment);
                }
            }
        }
    }

    #[test]
    fn where_nothing_overlaps_nothing_is_cut(story in stories(9)) {
        let bytes = &story.allocations.bytes;
        let lanes = Lanes::new(&story.allocations, &story.segments);
        let mut blocks = Blocks::nowhere(bytes.len());
        for (row, (&address, &bytes)) in story.allocations.address.iter().zip(bytes).enumerate() {
            blocks.put(row, address, (bytes, bytes.next_multiple_of(UNIT)));
        }
        if let Some([whole, cut]) = tiles::both_ways(&story.allocations, &lanes, blocks) {
            prop_assert_eq!(whole, cut);
        }
    }

    #[test]
    fn a_hit_is_what_is_there(story in stories(30), view in views()) {
        let (map, bands) = (story.map(), story.bands());
        let view = viewport(&map, &bands, view);
        for at in [(0, 0), (view.width_px / 2, view.height_px / 2), (view.width_px - 1, view.height_px / 3)] {
            let y = view.bytes_at(f64::from(at.1) + 0.5);
            match map.hit(&story.allocations, &bands, &view, at) {
                MapHit::Outside => prop_assert!(bands.moment_at(view.x_at(f64::from(at.0) + 0.5)).is_none()),
                MapHit::Between { .. } => prop_assert!(map.lanes.at(y).is_none()),
                MapHit::Unmapped { moment, address, .. } => {
                    prop_assert_eq!(story.segments.piece_at(address, moment), None);
                }
                MapHit::Free { moment, range, lane } => {
                    let (row, address) = map.lanes.at(y).unwrap();
                    prop_assert_eq!(lane, row);
                    let own = &map.lanes.lanes[row as usize];
                    prop_assert_eq!(story.segments.piece_at(address, moment), Some(range.piece as usize));
                    prop_assert!(range.address <= address && address < range.address + range.bytes);
                    for free in [range.address, range.address + range.bytes - 1] {
                        prop_assert_eq!(story.tenant(own, free, moment), None);
                        prop_assert!(story.segments.piece_at(free, moment).is_some());
                    }
                }
                MapHit::Allocation { row, .. } => {
                    let (x, (low, _)) = map.place_of(&story.allocations, &bands, row as usize).unwrap();
                    let top = view.bytes_at(f64::from(at.1));
                    prop_assert!(low < top && x.0 < view.x_at(f64::from(at.0) + 1.0));
                }
                MapHit::Several { composition, .. } => prop_assert!(composition.allocations.len() > 1),
            }
        }
    }
}

proptest! {
    // Many rectangles per pixel.
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn as_the_reference_when_crowded(story in stories(3_000), width_px in 1_u32..9, height_px in 1_u32..9) {
        let view = (width_px, height_px, [0.0, 1.0, 0.0, 1.0]);
        check(&story, &viewport(&story.map(), &story.bands(), view), None)?;
    }
}

#[test]
fn nothing_is_drawn_of_nothing() {
    let story = Story::new(1, &[], &[]);
    let map = story.map();
    let view = viewport(&map, &story.bands(), (3, 2, [0.0, 1.0, 0.0, 1.0]));
    let [fast, ..] = draw(&story, &map, &view, None);
    assert_eq!(fast.rgba, [0; 24]);
    let hit = map.hit(&story.allocations, &story.bands(), &view, (1, 1));
    assert_eq!(hit, MapHit::Between { moment: 0 });
    for (width_px, height_px) in [(0, 5), (5, 0)] {
        let view = view.resized(width_px, height_px);
        assert!(draw(&story, &map, &view, None)[0].rgba.is_empty());
    }
}

#[test]
fn lanes_hold_their_segments_and_what_lies_outside_of_all() {
    let rows = [
        [40, 20, 0, 99, 99],
        [5_000, 10, 0, 99, 99],
        [5_500, 10, 0, 99, 99],
        [9_000_000, 10, 0, 99, 99],
    ];
    let segments = [
        (0, vec![[100, 0, 99]]),
        (600, vec![[50, 0, 99], [50, 3, 99]]),
    ];
    let map = Story::new(9, &rows, &segments).map();
    let lanes: Vec<_> = map
        .lanes
        .lanes
        .iter()
        .map(|lane| (lane.address, lane.bytes, lane.group, lane.segment))
        .collect();
    let expected = [
        (0, 100, 0, Some(0)),
        (600, 100, 1, Some(1)),
        (5_000, 510, 2, None),
        (9_000_000, 10, 2, None),
    ];
    assert_eq!(lanes, expected);
    assert_eq!(map.lanes.groups[1].pool, Some(PoolId(0, 0)));
    assert_eq!(map.lanes.groups[2].stream, None);
    let second = map.lanes.lanes[1];
    assert_eq!(map.lanes.at(second.y + 7.5), Some((1, 607)));
    assert_eq!(
        map.lanes.span(650, 1_000),
        (second.y + 50.0, second.y_end())
    );
    assert_eq!(map.lanes.span(200, 10), (0.0, 0.0));
}

#[test]
fn an_allocation_beyond_all_bounds_does_no_harm() {
    let mut story = Story::new(4, &[[0, 10, 0, 99, 99], [5, 10, 1, 99, 99]], &[]);
    story.allocations.bytes[1] = u64::MAX;
    story.segment(u64::MAX - 5, &[[100, 0, 99]]);
    let lanes = Lanes::new(&story.allocations, &story.segments);
    let map = MemoryMap::new(&story.allocations, &story.segments, lanes, |_| u64::MAX);
    let view = viewport(&map, &story.bands(), (30, 20, [0.0, 1.0, 0.0, 1.0]));
    let [fast, ..] = draw(&story, &map, &view, None);
    assert_eq!(fast.rgba.len(), 30 * 20 * 4);
    let _ = map.hit(&story.allocations, &story.bands(), &view, (3, 3));
}
