//! The position of an allocation's band, for the outline of the hovered or pinned allocation.
//!
//! The page draws the outline on a canvas above the picture, so hovering never redraws the picture.

use std::ops::Range;

use super::NONE;
use super::bands::Bands;
use crate::viewport::Viewport;

/// A band in one pixel column; not clipped to the picture in y.
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
    /// The spans of allocation `row` in a frame whose columns show the moments `column_moment`: one
    /// per column in which it is live, from left to right. O(rows below it).
    #[must_use]
    pub fn of_row(
        bands: &Bands<'_>,
        column_moment: &[u32],
        viewport: &Viewport,
        row: u32,
    ) -> Vec<Self> {
        let row = row as usize;
        Self::of_rows(bands, column_moment, viewport, row..row + 1)
    }

    /// The spans of neighbouring rows taken as one band: from the first column in which any of them
    /// is live to the last. Height 0 in columns in between where none is live.
    #[must_use]
    pub fn of_rows(
        bands: &Bands<'_>,
        column_moment: &[u32],
        viewport: &Viewport,
        rows: Range<usize>,
    ) -> Vec<Self> {
        if rows.is_empty() || rows.end > bands.rows() {
            return Vec::new();
        }
        // Columns outside the data are at either end.
        let outside_left = column_moment.iter().take_while(|&&m| m == NONE).count();
        let shown = &column_moment[outside_left..];
        let columns = |row: usize| {
            let first = shown.partition_point(|&m| m < bands.born[row]);
            let end = shown.partition_point(|&m| m < bands.died[row] && m != NONE);
            first..end.max(first)
        };
        let own = rows.clone().map(columns).filter(|own| !own.is_empty());
        let Some(own) = own.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)) else {
            return Vec::new();
        };
        let moments = &shown[own.clone()];
        let (first_moment, last_moment) = (moments[0], moments[moments.len() - 1]);

        // Bytes below the rows, and bytes of the rows, as changes from column to column.
        let mut changes = vec![[0_i128; 2]; own.len() + 1];
        for other in 0..rows.end {
            if bands.born[other] > last_moment || bands.died[other] <= first_moment {
                continue;
            }
            let first = moments.partition_point(|&m| m < bands.born[other]);
            let end = moments
                .partition_point(|&m| m < bands.died[other])
                .max(first);
            let kind = usize::from(rows.contains(&other));
            changes[first][kind] += i128::from(bands.bytes[other]);
            changes[end][kind] -= i128::from(bands.bytes[other]);
        }
        let [mut below_bytes, mut own_bytes] = [0; 2];
        own.zip(changes)
            .map(|(x, [below, inside])| {
                below_bytes += below;
                own_bytes += inside;
                Self {
                    x_px: (outside_left + x) as u32,
                    top_px: viewport.y_px((below_bytes + own_bytes) as f64),
                    bottom_px: viewport.y_px(below_bytes as f64),
                }
            })
            .collect()
    }

    /// The outline of a band as a closed polygon in device px: along the top, then back along the
    /// bottom, with corners only where the height changes.
    #[must_use]
    pub fn outline(spans: &[Self]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let push = |points: &mut Vec<(f64, f64)>, x: f64, y: f64| {
            // A third point of the same height only moves the second.
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
