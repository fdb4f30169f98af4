//! Reserved memory over the picture: its curve, and the part that private pools hold without using it.
//!
//! The gap between the active and the reserved curve is memory that the allocator holds unused at
//! that moment. Memory of private pools cannot be used by others, so the unused part of each is
//! stacked on the active curve, one envelope per pool and stream. What remains up to the reserved
//! curve is rounding and free memory of the default pool.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::byte_steps::bytes_at;

use crate::raster::{Bands, TimelineIndex};
use crate::viewport::Viewport;

/// A step function of bytes: (first moment, bytes from there on), ascending.
pub type Steps = [(u32, u64)];

/// Most columns of a curve; more than any screen is wide.
const MOST_COLUMNS: u32 = 16_384;

/// A curve in columns of equal width over the viewport. A value applies to its whole column.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Curve {
    /// Left edge of the first column, in the axis's unit.
    pub x_min: f64,
    /// Right edge of the last column.
    pub x_max: f64,
    /// The highest value of each column.
    pub bytes: Vec<u64>,
}

/// The lower and upper edge of an area, in the columns of a [`Curve`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Envelope {
    /// Lower edge.
    pub low_bytes: Vec<u64>,
    /// Upper edge, nowhere below the lower edge.
    pub high_bytes: Vec<u64>,
}

impl Envelope {
    /// The right end and the middle (device px from the left and the top) of a label of width `label_px`: as far right as
    /// the envelope is at least `least_px` high under the whole label, with the middle visible. `None` if there is no such
    /// place.
    #[must_use]
    pub fn label_px(&self, view: &Viewport, label_px: f64, least_px: f64) -> Option<(f64, f64)> {
        let (columns, width) = (self.low_bytes.len(), (label_px as usize).max(1));
        let mut ends = (width.min(columns)..=columns)
            .rev()
            .step_by(width.div_ceil(4));
        ends.find_map(|end| {
            let under = end.saturating_sub(width)..end;
            let low = self.low_bytes.get(under.clone())?.iter().max()?;
            let high = self.high_bytes.get(under)?.iter().min()?;
            let (top, bottom) = (view.y_px(*high as f64), view.y_px(*low as f64));
            let middle = f64::midpoint(top, bottom);
            let is_seen = (0.0..f64::from(view.height_px)).contains(&middle);
            (bottom - top >= least_px && is_seen).then_some((end as f64, middle))
        })
    }
}

/// Least share of the height for the picture when the capacity above it is drawn by default.
const LEAST_BELOW_CAPACITY: f64 = 0.6;
/// The same for reserved memory. It is lower, because the distance of that line above the picture is of interest.
const LEAST_BELOW_RESERVED: f64 = 0.25;

/// Whether the capacity is drawn by default over a picture of height `picture_bytes`: only if that leaves the picture a
/// large share of the height.
#[must_use]
pub fn capacity_leaves_room(capacity_bytes: u64, picture_bytes: u64) -> bool {
    leaves_room(capacity_bytes, picture_bytes, LEAST_BELOW_CAPACITY)
}

/// Whether reserved memory is drawn by default over a picture of height `picture_bytes`.
#[must_use]
pub fn reserved_leaves_room(reserved_bytes: u64, picture_bytes: u64) -> bool {
    leaves_room(reserved_bytes, picture_bytes, LEAST_BELOW_RESERVED)
}

/// Whether a line leaves a picture of height `picture_bytes` at least this share of the height.
pub(crate) fn leaves_room(line_bytes: u64, picture_bytes: u64, least_share: f64) -> bool {
    line_bytes as f64 * least_share <= picture_bytes as f64
}

/// The highest value of `steps` per device px column of the viewport; empty without steps.
#[must_use]
pub fn curve(steps: &Steps, bands: &Bands<'_>, view: &Viewport) -> Curve {
    let mut curve = Curve {
        x_min: view.x_min,
        x_max: view.x_max,
        bytes: Vec::new(),
    };
    if steps.is_empty() {
        return curve;
    }
    curve.bytes = columns(bands, view, |first, last| {
        let begin = steps.partition_point(|&(from, _)| from <= first);
        let end = steps.partition_point(|&(from, _)| from <= last);
        let within = steps[begin.saturating_sub(1)..end].iter();
        within.map(|&(_, bytes)| bytes).max().unwrap_or(0)
    });
    curve
}

/// The envelope of the unused memory of each pool, stacked on the active curve. Each column shows
/// the moment of its highest active memory, as the timeline does. A pool is given by its reserved
/// and its active bytes.
#[must_use]
pub fn envelopes(
    pools: &[(&Steps, &Steps)],
    bands: &Bands<'_>,
    index: &TimelineIndex,
    view: &Viewport,
) -> Vec<Envelope> {
    let moments = columns(bands, view, |first, last| {
        index.highest_in(bands, first..=last)
    });
    let mut low: Vec<u64> = moments
        .iter()
        .map(|&moment| bands.total_bytes.at(moment))
        .collect();
    let stacked = pools.iter().map(|&(reserved, active)| {
        let unused =
            |moment: u32| bytes_at(reserved, moment).saturating_sub(bytes_at(active, moment));
        let high: Vec<u64> = low
            .iter()
            .zip(&moments)
            .map(|(&low, &moment)| low.saturating_add(unused(moment)))
            .collect();
        Envelope {
            low_bytes: std::mem::replace(&mut low, high.clone()),
            high_bytes: high,
        }
    });
    stacked.collect()
}

/// A value per device px column of the viewport, from the first and last moment in it. A column without a moment (on the
/// time axis) has the value of the previous column, whose moment lasts through it.
fn columns<T: Copy + Default>(
    bands: &Bands<'_>,
    view: &Viewport,
    mut value: impl FnMut(u32, u32) -> T,
) -> Vec<T> {
    let count = view.width_px.clamp(1, MOST_COLUMNS);
    let width = view.width() / f64::from(count);
    let mut values: Vec<T> = Vec::with_capacity(count as usize);
    for column in 0..count {
        let from = view.x_min + width * f64::from(column);
        let found = bands
            .moments_in(from, from + width)
            .map(|moments| value(*moments.start(), *moments.end()));
        values.push(found.or(values.last().copied()).unwrap_or_default());
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Totals;
    use proptest::prelude::*;

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

    #[test]
    fn a_label_is_as_far_right_as_its_area_is_high_enough() {
        let view = Viewport {
            y_max_bytes: 100.0,
            width_px: 100,
            height_px: 100,
            ..view(0.0, 100.0, 100)
        };
        let area = |from: usize, to: usize| Envelope {
            low_bytes: vec![10; 100],
            high_bytes: (0..100)
                .map(|column| if (from..to).contains(&column) { 50 } else { 10 })
                .collect(),
        };
        let whole = area(0, 100).label_px(&view, 20.0, 15.0);
        assert_eq!(whole, Some((100.0, 70.0)));
        let left = area(10, 40).label_px(&view, 20.0, 15.0);
        assert_eq!(left, Some((40.0, 70.0)));
        assert_eq!(area(10, 29).label_px(&view, 20.0, 15.0), None);
        assert_eq!(area(0, 100).label_px(&view, 20.0, 50.0), None);
        assert_eq!(Envelope::default().label_px(&view, 20.0, 15.0), None);
    }

    fn bands(totals: &[u64]) -> Bands<'_> {
        Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes: Totals::Each(totals),
            moment_start_us: None,
        }
    }

    proptest! {
        #[test]
        fn a_column_has_the_highest_value_in_it(
            changes in prop::collection::btree_map(0_u32..200, 0_u64..1_000, 1..40),
            from in 0.0..0.9, width in 0.02..1.0, width_px in 1_u32..300
        ) {
            let mut steps: Vec<_> = changes.into_iter().collect();
            steps[0].0 = 0;
            let totals = vec![0; 200];
            let bands = bands(&totals);
            let view = view(from * 200.0, f64::min(from + width, 1.0) * 200.0, width_px);
            let curve = curve(&steps, &bands, &view);
            prop_assert_eq!(curve.bytes.len(), width_px as usize);
            let column = view.width() / f64::from(width_px);
            for (i, &bytes) in curve.bytes.iter().enumerate() {
                let left = view.x_min + column * i as f64;
                let moments = bands.moments_in(left, left + column).unwrap();
                let expected = moments.map(|moment| bytes_at(&steps, moment)).max().unwrap();
                prop_assert_eq!(bytes, expected);
            }
        }
    }

    #[test]
    fn envelopes_lie_on_the_active_curve_and_on_each_other() {
        let totals = [0, 10, 30, 20];
        let bands = bands(&totals);
        let index = TimelineIndex::new(&bands);
        let first: (&Steps, &Steps) = (&[(0, 8), (2, 16)], &[(1, 4)]);
        let second: (&Steps, &Steps) = (&[(2, 5)], &[(2, 9)]);
        let found = envelopes(&[first, second], &bands, &index, &view(0.0, 4.0, 4));
        assert_eq!(found[0].low_bytes, totals);
        assert_eq!(found[0].high_bytes, [8, 14, 42, 32]);
        assert_eq!(found[1].low_bytes, found[0].high_bytes);
        assert_eq!(
            found[1].high_bytes, found[1].low_bytes,
            "more active than reserved is no gap"
        );
        let both = envelopes(&[first], &bands, &index, &view(0.0, 4.0, 2));
        assert_eq!(
            both[0].low_bytes,
            [10, 30],
            "at the highest moment of the column"
        );
        assert_eq!(both[0].high_bytes, [14, 42]);
    }

    #[test]
    fn without_steps_there_is_no_curve() {
        let totals = [0; 4];
        assert!(
            curve(&[], &bands(&totals), &view(0.0, 4.0, 9))
                .bytes
                .is_empty()
        );
    }
}
