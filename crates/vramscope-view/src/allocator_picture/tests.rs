//! Layout and picture of random states: nothing overlaps, nothing is lost, and every pixel is the
//! sum of the blocks that touch it.

use proptest::prelude::*;
use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, Group, PlacedBlock, SegmentState, StateSums,
};
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::{AllocationId, StackId};

use super::*;
use crate::colour::{ColourColumn, linear, srgb8};
use crate::raster::Paint;
use crate::theme::Theme;

/// A segment of a test state: bytes, group, whether it is expandable, and its blocks as (bytes,
/// requested bytes of 256, use).
type Made = (u64, u32, bool, Vec<(u64, u64, u8)>);

fn state(made: &[Made]) -> AllocatorState {
    let mut state = AllocatorState::default();
    let mut address = 1 << 20;
    let mut allocation = 0;
    for (bytes, group, is_expandable, blocks) in made {
        let mut segment = SegmentState {
            address,
            bytes: *bytes,
            stream: 0,
            pool: None,
            is_expandable: *is_expandable,
            size_class: None,
            page_bytes: None,
            mapped_by: None,
            stack: StackId::ABSENT,
            group: *group,
            blocks: Vec::new(),
            sums: StateSums::default(),
        };
        let mut left = *bytes;
        for &(bytes, requested, usage) in blocks.iter().chain(&[(u64::MAX, 0, 2)]) {
            let bytes = bytes.min(left);
            if bytes == 0 {
                continue;
            }
            let is_free = usage == 2;
            segment.blocks.push(PlacedBlock {
                address: address + (segment.bytes - left),
                bytes,
                requested_bytes: if is_free { 0 } else { bytes * requested / 256 },
                usage: [BlockUse::Allocated, BlockUse::PendingFree, BlockUse::Free][usage as usize],
                allocation: (!is_free).then_some(AllocationId(allocation)),
            });
            allocation += u32::from(!is_free);
            left -= bytes;
        }
        state.total.reserved_bytes += bytes;
        address += bytes + 4096;
        state.segments.push(segment);
    }
    let groups = made
        .iter()
        .map(|made| made.1)
        .max()
        .map_or(0, |group| group + 1);
    state.groups = (0..groups)
        .map(|stream| Group {
            pool: None,
            stream: i64::from(stream),
            sums: StateSums::default(),
        })
        .collect();
    state
}

fn metrics(width_px: u32) -> Metrics {
    Metrics {
        width_px,
        line_px: 6,
        gap_px: 2,
        heading_px: 10,
        apart_px: 2.0,
    }
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let block = (1..3000_u64, 0..=256_u64, 0..3_u8);
    let blocks = proptest::collection::vec(block, 0..12);
    let segment = (1..20_000_u64, 0..3_u32, any::<bool>(), blocks);
    proptest::collection::vec(segment, 1..12).prop_map(|mut made| {
        made.sort_by_key(|made| made.1);
        made
    })
}

#[test]
fn lines_by_group_and_size() {
    let made = [
        (100, 0, false, vec![]),
        (300, 0, false, vec![]),
        (1000, 0, true, vec![]),
        (50, 1, false, vec![]),
    ];
    let layout = StateLayout::of(&state(&made), metrics(100), 512.0);
    let runs: Vec<_> = layout
        .runs_in(0..1000)
        .map(|run| (run.segment, run.y_px, run.lines))
        .collect();
    // 512 bytes per line: the expandable segment takes two lines, the others share one.
    assert_eq!(runs, [(2, 10, 2), (1, 26, 1), (0, 26, 1), (3, 44, 1)]);
    let headings: Vec<_> = layout.headings.iter().map(|heading| heading.y_px).collect();
    assert_eq!(headings, [0, 34]);
    assert_eq!(layout.height_px, 52);
}

#[test]
fn a_whole_that_fits() {
    let made: Vec<Made> = (0..200).map(|_| (2 << 20, 0, false, vec![])).collect();
    let state = state(&made);
    let metrics = Metrics::of_screen(900, 1.0);
    let (metrics, scale) = StateLayout::fit(&state, metrics, 500);
    let layout = StateLayout::of(&state, metrics, scale);
    assert!(
        layout.height_px <= 500 && layout.height_px > 350,
        "{}",
        layout.height_px
    );
    assert!((layout.bytes_per_line() - scale).abs() < 1.0);
    let few = self::state(&[(1 << 30, 0, false, vec![])]);
    let (higher, _) = StateLayout::fit(&few, metrics, 500);
    assert_eq!(higher.line_px, 3 * metrics.line_px);
    let nothing = AllocatorState::default();
    assert!(StateLayout::fit(&nothing, metrics, 500).1.is_finite());
    assert_eq!(StateLayout::of(&nothing, metrics, f64::NAN).height_px, 0);
    let huge = self::state(&[(u64::MAX >> 1, 0, true, vec![])]);
    assert!(StateLayout::of(&huge, metrics, 1.0).height_px < 9_000_000);
}

/// The light of a pixel with its coverage, linear, as the sum over all blocks.
fn naive(
    state: &AllocatorState,
    layout: &StateLayout,
    paint: &Paint<'_>,
    (x_px, y_px): (u32, u32),
) -> [f64; 4] {
    let theme = paint.theme;
    let light = |rgb: crate::colour::Rgb| rgb.map(|channel| f64::from(linear(channel)));
    let mut sum = [0.0; 4];
    for (row, segment) in state.segments.iter().enumerate() {
        for (place, block) in segment.blocks.iter().enumerate() {
            for [left, top, right, bottom] in layout.rectangles(state, row, place, 0..u32::MAX) {
                if !(top..bottom).contains(&f64::from(y_px)) {
                    continue;
                }
                let coverage = right.min(f64::from(x_px + 1)) - left.max(f64::from(x_px));
                if coverage <= 0.0 {
                    continue;
                }
                // The test's states have no rounding and no pending frees.
                let rgb = match block.allocation {
                    None => theme.grid,
                    Some(id) => {
                        let rgb = paint.colours.rgb(id.index());
                        let is_lit = paint.matches.is_none_or(|set| set.contains(id.index()));
                        if is_lit { rgb } else { theme.dim(rgb) }
                    }
                };
                let rgb = light(rgb);
                for channel in 0..3 {
                    sum[channel] += rgb[channel] * coverage;
                }
                sum[3] += coverage;
            }
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_has_its_place(made in made(), width_px in 20..200_u32, bytes_per_line in 600.0..30_000.0_f64) {
        let state = state(&made);
        let layout = StateLayout::of(&state, metrics(width_px), bytes_per_line);
        let mut rectangles = Vec::new();
        let mut bytes = 0.0;
        for (row, segment) in state.segments.iter().enumerate() {
            for place in 0..segment.blocks.len() {
                for rectangle in layout.rectangles(&state, row, place, 0..u32::MAX) {
                    let [left, top, right, bottom] = rectangle;
                    prop_assert!(left >= 0.0 && left <= right && right <= f64::from(width_px) + 1e-6);
                    prop_assert!(top >= 0.0 && bottom <= f64::from(layout.height_px));
                    bytes += (right - left) * layout.bytes_per_line() / f64::from(width_px);
                    rectangles.push(rectangle);
                }
                let offset = segment.blocks[place].address - segment.address;
                let top = layout.line_of(row, offset).unwrap();
                prop_assert_eq!(f64::from(top), layout.rectangles(&state, row, place, 0..u32::MAX)[0][1]);
            }
        }
        prop_assert!((bytes - state.total.reserved_bytes as f64).abs() < 1.0, "{} bytes", bytes);
        rectangles.sort_by(|a, b| (a[1], a[0]).partial_cmp(&(b[1], b[0])).unwrap());
        for pair in rectangles.windows(2) {
            prop_assert!(pair[0][1] < pair[1][1] || pair[0][2] <= pair[1][0] + 1e-6);
        }
    }

    #[test]
    fn a_hit_is_what_is_there(made in made(), width_px in 20..200_u32, x in 0.0..1.0_f64, y in 0.0..1.0_f64) {
        let state = state(&made);
        let layout = StateLayout::of(&state, metrics(width_px), 5000.0);
        let (x_px, y_px) = ((x * f64::from(width_px)).floor(), (y * f64::from(layout.height_px)).floor());
        let mut there = Vec::new();
        for (row, segment) in state.segments.iter().enumerate() {
            for place in 0..segment.blocks.len() {
                for [left, top, right, bottom] in layout.rectangles(&state, row, place, 0..u32::MAX) {
                    if top <= y_px && y_px < bottom && left < x_px + 1.0 - 1e-6 && right > x_px + 1e-6 {
                        there.push((row, place));
                    }
                }
            }
        }
        match layout.hit(&state, x_px, y_px) {
            StateHit::Outside => prop_assert!(there.is_empty(), "{:?}", there),
            // Where two segments share a pixel, `hit` returns one of them.
            StateHit::Blocks { segment, blocks } => {
                let hit: Vec<_> = blocks.clone().map(|block| (segment, block)).collect();
                let there: Vec<_> = there.into_iter().filter(|(row, _)| *row == segment).collect();
                prop_assert!(there.iter().all(|block| hit.contains(block)), "{:?} in {:?}", there, hit);
                prop_assert!(hit.len() <= there.len() + 2);
            }
        }
    }

    #[test]
    fn pixels_are_sums_of_blocks(made in made(), width_px in 20..120_u32, lit: u64, from in 0..60_u32) {
        let mut made = made;
        for (_, _, _, blocks) in &mut made {
            for (_, requested, usage) in blocks {
                *requested = 256;
                *usage &= 2;
            }
        }
        let state = state(&made);
        let layout = StateLayout::of(&state, metrics(width_px), 3000.0);
        let theme = Theme::light();
        let colours = ColourColumn::by_ordinal(&theme, (0..200).map(Some));
        let matches = BitSet::from_fn(200, |row| lit >> (row % 64) & 1 == 1);
        let paint = Paint { colours: &colours, matches: Some(&matches), theme: &theme };
        let mut picture = StatePicture::default();
        let rows = from..layout.height_px.min(from + 50).max(from);
        StateRaster::new().draw(&state, &layout, rows.clone(), &paint, &mut picture);
        for y_px in rows.clone() {
            for x_px in 0..width_px {
                let at = ((y_px - from) * width_px + x_px) as usize * 4;
                let drawn = &picture.rgba[at..at + 4];
                let sum = naive(&state, &layout, &paint, (x_px, y_px));
                let alpha = (sum[3].min(1.0) * 255.0).round();
                prop_assert!((f64::from(drawn[3]) - alpha).abs() <= 1.0, "alpha at {},{}: {:?}, {}", x_px, y_px, drawn, alpha);
                // Only the dark edges differ from the sum.
                let wanted: [u8; 3] = std::array::from_fn(|c| srgb8((sum[c] / sum[3].max(1e-9)) as f32));
                let edge = crate::raster::shadow(wanted);
                let near = |colour: [u8; 3]| (0..3).all(|c| drawn[c].abs_diff(colour[c]) <= 3);
                prop_assert!(sum[3] < 0.02 || near(wanted) || near(edge), "{},{}: {:?} for {:?}", x_px, y_px, drawn, wanted);
            }
        }
    }
}

#[test]
fn hatches_show() {
    let theme = Theme::light();
    let state = state(&[(1000, 0, false, vec![(500, 128, 0), (300, 256, 1)])]);
    let layout = StateLayout::of(&state, metrics(100), 1000.0);
    let colours = ColourColumn::by_ordinal(&theme, (0..2).map(Some));
    let paint = Paint {
        colours: &colours,
        matches: None,
        theme: &theme,
    };
    let mut picture = StatePicture::default();
    StateRaster::new().draw(&state, &layout, 0..20, &paint, &mut picture);
    let colours_in = |x: std::ops::Range<usize>, y: usize| {
        let row = &picture.rgba[y * 400..(y + 1) * 400];
        let mut colours: Vec<_> = x.map(|x| row[x * 4..x * 4 + 3].to_vec()).collect();
        colours.sort();
        colours.dedup();
        colours
    };
    assert_eq!(colours_in(0..25, 12).len(), 1, "requested");
    let rounding = colours_in(26..49, 12);
    assert!(rounding.contains(&theme.rounding.to_vec()) && rounding.contains(&theme.grid.to_vec()));
    assert!(colours_in(50..79, 12).contains(&theme.pending_free.to_vec()));
    assert_eq!(colours_in(81..99, 12), [theme.grid.to_vec()], "free");
    assert_eq!(picture.rgba[3], 0, "nothing in the heading");
}
