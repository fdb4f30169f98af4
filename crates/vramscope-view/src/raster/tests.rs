//! The fast raster against the slow reference, pixel by pixel, on random traces of many shapes.

use super::*;
use crate::viewport::Bounds;
use proptest::prelude::*;
use vramscope_core::analysis::time::moment_times::MomentTimes;

/// A timeline that owns its columns.
#[derive(Clone, Debug, Default)]
struct Trace {
    born: Vec<u32>,
    died: Vec<u32>,
    free_requested: Vec<u32>,
    bytes: Vec<u64>,
    total_bytes: Vec<u64>,
    moment_start_us: Option<MomentTimes>,
}

impl Trace {
    fn bands(&self) -> Bands<'_> {
        Bands {
            born: &self.born,
            died: &self.died,
            free_requested: &self.free_requested,
            bytes: &self.bytes,
            total_bytes: (&self.total_bytes).into(),
            moment_start_us: self.moment_start_us.as_ref(),
        }
    }

    /// Rows are (birth, life, pending, size); they include lives of 0 and to the end.
    fn new(moments: u32, rows: &[(u32, u32, u32, u64)], sorted: bool) -> Self {
        let mut rows = rows.to_vec();
        if sorted {
            rows.sort_by_key(|row| row.0);
        }
        let mut trace = Self::default();
        for &(born, life, pending, bytes) in &rows {
            let died = if life == NEVER { NEVER } else { born + life };
            trace.born.push(born);
            trace.died.push(died);
            trace.bytes.push(bytes);
            trace.free_requested.push(match (pending, died) {
                (NEVER, _) => NEVER,
                (pending, NEVER) => born + pending,
                (pending, died) => died.saturating_sub(pending).max(born),
            });
        }
        trace.total_bytes = (0..moments)
            .map(|m| {
                let live =
                    (0..rows.len()).filter(|&row| trace.born[row] <= m && m < trace.died[row]);
                let total: u128 = live.map(|row| u128::from(trace.bytes[row])).sum();
                u64::try_from(total).unwrap_or(u64::MAX)
            })
            .collect();
        trace
    }
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 1_u64..2_000,
        4 => (9_u32..30).prop_map(|power| 1 << power),
        1 => Just(0),
        1 => any::<u64>().prop_map(|v| v >> 20),
    ]
}

fn traces(size: impl Strategy<Value = u64> + 'static, most: usize) -> impl Strategy<Value = Trace> {
    let size = size.boxed();
    (1_u32..200, any::<bool>(), 0..3).prop_flat_map(move |(moments, sorted, axis)| {
        let life = prop_oneof![4 => 0..moments + 5, 1 => Just(NEVER)];
        let pending = prop_oneof![2 => Just(NEVER), 1 => 0..20_u32];
        let row = (0..moments, life, pending, size.clone());
        let rows = prop::collection::vec(row, 0..most);
        let gaps = prop::collection::vec(prop_oneof![Just(0_i64), 0..50_i64], moments as usize);
        (rows, gaps).prop_map(move |(rows, gaps)| {
            let mut trace = Trace::new(moments, &rows, sorted);
            if axis == 0 {
                let mut now = 1_700_000_000_000_000;
                let starts = gaps.iter().map(|gap| {
                    now += gap;
                    now
                });
                trace.moment_start_us = Some(starts.collect());
            }
            trace
        })
    })
}

fn views() -> impl Strategy<Value = (u32, u32, [f64; 4])> {
    let whole = Just([0.0, 1.0, 0.0, 1.0]);
    let part = (0.0..0.8, 0.01..1.0, 0.0..0.8, 0.001..1.0).prop_map(|(x, w, y, h)| [x, w, y, h]);
    let beyond = Just([-0.3, 1.9, 0.0, 1.5]);
    (
        1_u32..60,
        1_u32..50,
        prop_oneof![2 => whole, 4 => part, 1 => beyond],
    )
}

fn viewport(trace: &Trace, (width_px, height_px, [x, w, y, h]): (u32, u32, [f64; 4])) -> Viewport {
    let bands = trace.bands();
    let index = TimelineIndex::new(&bands);
    let bounds = Bounds::new(bands.x_end(), index.peak_bytes());
    Viewport {
        x_min: x * bounds.x_end,
        x_max: (x + w) * bounds.x_end,
        y_min_bytes: y * bounds.y_end_bytes,
        y_max_bytes: (y + h) * bounds.y_end_bytes,
        width_px,
        height_px,
    }
}

fn check(trace: &Trace, view: &Viewport, matches: Option<&BitSet>) -> Result<(), TestCaseError> {
    let bands = trace.bands();
    let theme = Theme::light();
    let hashes = (0..bands.rows()).map(|row| Some(row as u64 * 7));
    let colours = ColourColumn::by_hash(&theme, hashes);
    let paint = Paint {
        colours: &colours,
        matches,
        theme: &theme,
    };
    let mut fast = Frame::default();
    TimelineRaster::new().draw(&bands, &TimelineIndex::new(&bands), view, &paint, &mut fast);
    let slow = reference::draw(&bands, view, &paint);
    prop_assert_eq!(&fast.column_moment, &slow.column_moment);
    prop_assert_eq!(&fast.ids, &slow.ids);
    for (i, (a, b)) in fast.rgba.iter().zip(&slow.rgba).enumerate() {
        let pixel = i / 4;
        let at = (
            pixel % view.width_px as usize,
            pixel / view.width_px as usize,
        );
        prop_assert!(
            a.abs_diff(*b) <= 1,
            "pixel {at:?} channel {}: {a} for {b}",
            i % 4
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn as_the_reference(trace in traces(sizes(), 120), view in views()) {
        check(&trace, &viewport(&trace, view), None)?;
    }

    #[test]
    fn as_the_reference_when_filtered(trace in traces(sizes(), 120), view in views(), seed in any::<u64>()) {
        let matches = BitSet::from_fn(trace.born.len(), |row| seed >> (row % 64) & 1 == 1);
        check(&trace, &viewport(&trace, view), Some(&matches))?;
    }

    #[test]
    fn as_the_reference_when_huge(trace in traces(any::<u64>(), 60), view in views()) {
        check(&trace, &viewport(&trace, view), None)?;
    }
}

proptest! {
    // Thousands of rows, so that words and groups are painted from their sums.
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn as_the_reference_when_crowded(trace in traces(512_u64..5_000, 9_000), view in views()) {
        check(&trace, &viewport(&trace, view), None)?;
    }

    /// Pixels of many kilobytes: words of thin bands are cut at the edges of pixels, with and without higher bands
    /// among them.
    #[test]
    fn as_the_reference_when_thin(
        trace in traces(prop_oneof![200 => 9_000_u64..70_000, 1 => 1_u64 << 20..1 << 23], 9_000),
        view in views(),
        seed in any::<Option<u64>>(),
    ) {
        let matches = seed.map(|seed| BitSet::from_fn(trace.born.len(), |row| seed >> (row % 64) & 1 == 1));
        check(&trace, &viewport(&trace, view), matches.as_ref())?;
    }

    #[test]
    fn spans_agree_with_the_ids(trace in traces(sizes(), 100), view in views()) {
        let view = viewport(&trace, view);
        let bands = trace.bands();
        let theme = Theme::light();
        let colours = ColourColumn::by_hash(&theme, (0..bands.rows()).map(|row| Some(row as u64)));
        let paint = Paint { colours: &colours, matches: None, theme: &theme };
        let mut frame = Frame::default();
        TimelineRaster::new().draw(&bands, &TimelineIndex::new(&bands), &view, &paint, &mut frame);
        for y in 0..view.height_px {
            for x in 0..view.width_px {
                match Hit::test(&bands, &frame, &view, x, y) {
                    Hit::Allocation { row, .. } => {
                        let spans = ColumnSpan::of_row(&bands, &frame.column_moment, &view, row);
                        let span = spans.iter().find(|span| span.x_px == x);
                        let span = span.expect("a hit allocation has a span in its column");
                        prop_assert!(span.top_px < f64::from(y) + 1.001, "{span:?} at {x} {y}");
                        prop_assert!(span.bottom_px > f64::from(y) - 0.001, "{span:?} at {x} {y}");
                    }
                    Hit::Several { composition, .. } => {
                        prop_assert!(composition.allocations.len() > 1);
                    }
                    Hit::Free { .. } | Hit::Outside => {}
                }
            }
        }
    }
}

fn draw(trace: &Trace, width_px: u32, height_px: u32) -> Frame {
    let bands = trace.bands();
    let theme = Theme::dark();
    let colours = ColourColumn::by_size(&theme, &trace.bytes);
    let paint = Paint {
        colours: &colours,
        matches: None,
        theme: &theme,
    };
    let view = viewport(trace, (width_px, height_px, [0.0, 1.0, 0.0, 1.0]));
    let mut frame = Frame::default();
    TimelineRaster::new().draw(
        &bands,
        &TimelineIndex::new(&bands),
        &view,
        &paint,
        &mut frame,
    );
    frame
}

#[test]
fn nothing_is_drawn_of_nothing() {
    assert_eq!(draw(&Trace::default(), 3, 2).column_moment, [NONE; 3]);
    assert_eq!(draw(&Trace::new(1, &[], true), 3, 2).ids, [NONE; 6]);
    assert!(
        draw(&Trace::new(1, &[(0, NEVER, NEVER, 9)], true), 0, 5)
            .rgba
            .is_empty()
    );
    assert!(
        draw(&Trace::new(1, &[(0, NEVER, NEVER, 9)], true), 5, 0)
            .rgba
            .is_empty()
    );
}

#[test]
fn a_state_without_events_is_flat_bands() {
    let frame = draw(
        &Trace::new(
            1,
            &[(0, NEVER, NEVER, 1 << 20), (0, NEVER, NEVER, 1 << 20)],
            true,
        ),
        2,
        26,
    );
    let column: Vec<u32> = frame.ids.chunks(2).map(|row| row[1]).collect();
    // One row of pixels is the margin; then the later allocation, then the earlier.
    let mut expected = vec![NONE];
    expected.extend([1; 12]);
    expected.extend([0; 13]);
    assert_eq!(column, expected);
}

#[test]
fn a_peak_of_one_moment_is_seen_among_thousands() {
    let mut rows = vec![(0, NEVER, NEVER, 1 << 20)];
    rows.push((777, 1, NEVER, 1 << 30));
    let frame = draw(&Trace::new(5_000, &rows, true), 10, 20);
    assert_eq!(frame.column_moment[1], 777);
    assert!(frame.ids.contains(&1));
}

#[test]
fn a_reused_raster_draws_the_same() {
    let a = Trace::new(50, &[(0, 30, 5, 700), (3, NEVER, NEVER, 512)], true);
    let b = Trace::new(
        9_000,
        &(0..9_000).map(|i| (i, 40, 2, 512)).collect::<Vec<_>>(),
        true,
    );
    let mut raster = TimelineRaster::new();
    let mut frame = Frame::default();
    for trace in [&b, &a, &b] {
        let bands = trace.bands();
        let theme = Theme::dark();
        let colours = ColourColumn::by_size(&theme, &trace.bytes);
        let paint = Paint {
            colours: &colours,
            matches: None,
            theme: &theme,
        };
        let view = viewport(trace, (40, 30, [0.0, 1.0, 0.0, 1.0]));
        raster.draw(
            &bands,
            &TimelineIndex::new(&bands),
            &view,
            &paint,
            &mut frame,
        );
        assert_eq!(frame, draw(trace, 40, 30));
    }
}

#[test]
fn an_outline_has_corners_only_where_the_height_changes() {
    let span = |x_px, top_px, bottom_px| ColumnSpan {
        x_px,
        top_px,
        bottom_px,
    };
    let spans = [span(3, 10.0, 20.0), span(4, 10.0, 20.0), span(5, 8.0, 18.0)];
    let outline = ColumnSpan::outline(&spans);
    let expected = [
        (3.0, 10.0),
        (5.0, 10.0),
        (5.0, 8.0),
        (6.0, 8.0),
        (6.0, 18.0),
        (5.0, 18.0),
        (5.0, 20.0),
        (3.0, 20.0),
    ];
    assert_eq!(outline, expected);
}
