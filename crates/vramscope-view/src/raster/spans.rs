//! Where one allocation's band runs, for the outline of what is hovered or pinned.
//!
//! The page draws it on a canvas above the picture, so hovering never draws the picture again.

use super::NONE;
use super::bands::Bands;
use crate::viewport::Viewport;

/// One band in one pixel column; not clipped to the picture in y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnSpan {
    /// Column, device px from the left.
    pub x_px: u32,
    /// Upper edge, device px from the top.
    pub top_px: f64,
    /// Lower edge, device px from the top.
    pub bottom_px: f64,
}

impl ColumnSpan {
    /// The spans of allocation `row` in a frame that shows the moments `column_moment`: one for each
    /// column whose moment it is live at, from left to right. O(rows below it).
    #[must_use]
    pub fn of_row(
        bands: &Bands<'_>,
        column_moment: &[u32],
        viewport: &Viewport,
        row: u32,
    ) -> Vec<Self> {
        let row = row as usize;
        if row >= bands.rows() {
            return Vec::new();
        }
        let columns = |row: usize| {
            // Columns outside the data stand at either end; those to the left count as "before".
            let outside_left = column_moment.iter().take_while(|&&m| m == NONE).count();
            let shown = &column_moment[outside_left..];
            let first = shown.partition_point(|&m| m < bands.born[row]);
            let end = shown.partition_point(|&m| m < bands.died[row] && m != NONE);
            outside_left + first..outside_left + end.max(first)
        };
        let own = columns(row);
        let Some(moments) = column_moment
            .get(own.clone())
            .filter(|shown| !shown.is_empty())
        else {
            return Vec::new();
        };
        let (first_moment, last_moment) = (moments[0], moments[moments.len() - 1]);

        // What lies below, as differences from column to column.
        let mut below_change = vec![0_i128; own.len() + 1];
        for other in 0..row {
            if bands.born[other] > last_moment || bands.died[other] <= first_moment {
                continue;
            }
            let first = moments.partition_point(|&m| m < bands.born[other]);
            let end = moments
                .partition_point(|&m| m < bands.died[other])
                .max(first);
            below_change[first] += i128::from(bands.bytes[other]);
            below_change[end] -= i128::from(bands.bytes[other]);
        }
        let mut below_bytes = 0;
        own.zip(below_change)
            .map(|(x, change)| {
                below_bytes += change;
                let top = below_bytes + i128::from(bands.bytes[row]);
                Self {
                    x_px: x as u32,
                    top_px: viewport.y_px(top as f64),
                    bottom_px: viewport.y_px(below_bytes as f64),
                }
            })
            .collect()
    }

    /// The outline of a band as a closed polygon in device px: along the top, back along the bottom,
    /// with corners only where the height changes.
    #[must_use]
    pub fn outline(spans: &[Self]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let push = |points: &mut Vec<(f64, f64)>, x: f64, y: f64| {
            // A third point on one level only moves the second.
            if let [.., (_, before), (last_x, last)] = points.as_mut_slice()
                && *before == y
                && *last == y
            {
                *last_x = x;
                return;
            }
            points.push((x, y));
        };
        for span in spans {
            push(&mut points, f64::from(span.x_px), span.top_px);
            push(&mut points, f64::from(span.x_px + 1), span.top_px);
        }
        for span in spans.iter().rev() {
            push(&mut points, f64::from(span.x_px + 1), span.bottom_px);
            push(&mut points, f64::from(span.x_px), span.bottom_px);
        }
        points
    }
}
