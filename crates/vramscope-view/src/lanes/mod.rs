//! Lanes of named ranges above a view: which ranges a viewport shows, and their layout.
//!
//! A row of a lane may hold a million ranges. Ranges narrower than a few px are merged with their
//! neighbours into one item with a count. They are found by bisection, so a row costs O(px · log
//! ranges), and every range is drawn or counted. Positions are in data units, so the items of one
//! viewport can be drawn in the next until its own arrive.

mod layout;

pub use layout::{
    ItemPosition, LaneLayout, LayoutRow, MOST_ROWS, ROW_CSS, drawn_px, elided, lane_fill,
};

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::lanes::LaneRange;

use crate::raster::Bands;
use crate::viewport::Viewport;

/// Ranges narrower than this are merged with their neighbours, css px.
pub const LEAST_CSS: f64 = 4.0;

/// A drawn item: one range, or several narrow neighbours.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// Start and end, in the axis's unit; may be equal.
    pub x: (f64, f64),
    /// Index of the first range in its row.
    pub first: u32,
    /// Number of ranges, at least 1.
    pub count: u32,
}

/// Start and end of a range on the axis of `bands`: in events or in time.
#[must_use]
pub fn span(bands: &Bands<'_>, range: &LaneRange) -> (f64, f64) {
    let Some(starts) = bands.moment_start_us else {
        let x = |moment: u32| bands.moment_x(moment as usize + 1);
        return (x(range.from), x(range.to));
    };
    let zero = starts.first().unwrap_or(0);
    let x = |us: i64| (us.saturating_sub(zero) as f64).clamp(0.0, bands.x_end());
    (x(range.start_us), x(range.end_us))
}

/// The items of `row` within the viewport, from left to right. Ranges narrower than `least_px`
/// (device px) are merged.
///
/// In a row whose ranges overlap (a lane's last row), ranges that begin left of the viewport may be
/// missing.
#[must_use]
pub fn visible(row: &[LaneRange], bands: &Bands<'_>, view: &Viewport, least_px: f64) -> Vec<Item> {
    let least_px = least_px.max(1.0);
    let mut place = row.partition_point(|range| span(bands, range).1 < view.x_min);
    let end = row.partition_point(|range| span(bands, range).0 <= view.x_max);
    let mut items: Vec<Item> = Vec::new();
    while place < end {
        let (start, stop) = span(bands, &row[place]);
        if px(view, stop) - px(view, start) >= least_px {
            items.push(Item {
                x: (start, stop),
                first: place as u32,
                count: 1,
            });
            place += 1;
            continue;
        }
        let next = place + narrow_from(&row[place..end], bands, view, least_px);
        let stop = span(bands, &row[next - 1]).1.max(stop);
        let count = (next - place) as u32;
        let touches = |last: &Item| {
            let last_is_narrow =
                last.count > 1 || px(view, last.x.1) - px(view, last.x.0) < least_px;
            let drawn_to = px(view, last.x.1).max(px(view, last.x.0) + least_px);
            last_is_narrow && px(view, start) < drawn_to + 1.0
        };
        match items.last_mut().filter(|last| touches(last)) {
            Some(last) => {
                last.x.1 = last.x.1.max(stop);
                last.count += count;
            }
            None => items.push(Item {
                x: (start, stop),
                first: place as u32,
                count,
            }),
        }
        place = next;
    }
    items
}

/// How many of `ranges` begin within `least_px` of the first one, which is narrow; at least 1. Only the last of them can be
/// wide; it is then excluded, to become an item of its own.
fn narrow_from(ranges: &[LaneRange], bands: &Bands<'_>, view: &Viewport, least_px: f64) -> usize {
    let begin = |range: &LaneRange| px(view, span(bands, range).0);
    let edge = begin(&ranges[0]) + least_px;
    let count = ranges.partition_point(|range| begin(range) < edge).max(1);
    let (start, stop) = span(bands, &ranges[count - 1]);
    let last_is_wide = px(view, stop) - px(view, start) >= least_px;
    if last_is_wide {
        (count - 1).max(1)
    } else {
        count
    }
}

fn px(view: &Viewport, x: f64) -> f64 {
    view.x_px(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Totals;
    use proptest::prelude::*;
    use vramscope_core::analysis::time::lanes::RangeName;
    use vramscope_core::analysis::time::moment_times::MomentTimes;

    fn ranges(cuts: &[(u32, u32)]) -> Vec<LaneRange> {
        let mut at = 0;
        cuts.iter()
            .map(|&(gap, length)| {
                let from = at + gap;
                at = from + length;
                LaneRange {
                    name: RangeName::Step,
                    from,
                    to: at,
                    start_us: i64::from(from) * 3,
                    end_us: i64::from(at) * 3,
                    is_open_start: false,
                    is_open_end: false,
                    mark: None,
                }
            })
            .collect()
    }

    fn bands<'a>(totals: &'a [u64], times: Option<&'a MomentTimes>) -> Bands<'a> {
        Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes: Totals::Each(totals),
            moment_start_us: times,
        }
    }

    fn view(x_min: f64, x_max: f64, width_px: u32) -> Viewport {
        Viewport {
            x_min,
            x_max,
            y_min_bytes: 0.0,
            y_max_bytes: 1.0,
            width_px,
            height_px: 1,
        }
    }

    proptest! {
        #[test]
        fn every_range_in_view_is_counted_once_and_wide_ones_stand_alone(
            cuts in prop::collection::vec((0_u32..9, 0_u32..40), 1..200),
            from in 0.0..0.9, width in 0.01..1.0, width_px in 1_u32..800, with_time in any::<bool>()
        ) {
            let row = ranges(&cuts);
            let moments = row.last().unwrap().to as usize + 2;
            let totals = vec![0; moments];
            let times: MomentTimes = (0..moments as i64).map(|moment| moment * 3).collect();
            let bands = bands(&totals, with_time.then_some(&times));
            let x_min = from * bands.x_end();
            let view = view(x_min, x_min + width * bands.x_end(), width_px);
            let items = visible(&row, &bands, &view, 4.0);
            let is_visible = |range: &&LaneRange| {
                let (start, stop) = span(&bands, range);
                stop >= view.x_min && start <= view.x_max
            };
            let expected: Vec<usize> = (0..row.len()).filter(|&i| is_visible(&&row[i])).collect();
            let mut found = Vec::new();
            for item in &items {
                found.extend(item.first as usize..(item.first + item.count) as usize);
            }
            prop_assert_eq!(found, expected);
            for item in items.iter().filter(|item| item.count > 1) {
                for range in &row[item.first as usize..(item.first + item.count) as usize] {
                    let (start, stop) = span(&bands, range);
                    prop_assert!(view.x_px(stop) - view.x_px(start) < 4.0);
                    prop_assert!(start >= item.x.0 && stop <= item.x.1);
                }
            }
            // At most as many items as fit: each narrow item has its distance to the next.
            prop_assert!(items.len() <= width_px as usize / 2 + 3, "{} items", items.len());
        }
    }

    #[test]
    fn a_million_narrow_ranges_are_a_few_items() {
        let row = ranges(&vec![(1, 1); 1_000_000]);
        let totals = vec![0; 2_000_002];
        let bands = bands(&totals, None);
        let items = visible(&row, &bands, &view(0.0, bands.x_end(), 1_000), 4.0);
        assert_eq!(items.len(), 1, "they touch");
        assert_eq!(items[0].count, 1_000_000);
    }
}
