//! A slow, obvious way to draw the timeline, as a reference for
//! [`TimelineRaster`](super::TimelineRaster).
//!
//! For every column it visits all moments, for every moment all allocations, for every band all
//! pixels: O(columns × (moments + allocations) + pixels × bands). No running set, no sums, no
//! shortcuts.

use super::{BLEND, Bands, Frame, NONE, Paint, TimelineIndex};
use crate::colour::{linear12, srgb8};
use crate::viewport::Viewport;

/// Draws the same as [`TimelineRaster::draw`](super::TimelineRaster::draw).
#[must_use]
pub fn draw(bands: &Bands<'_>, viewport: &Viewport, paint: &Paint<'_>) -> Frame {
    let mut frame = Frame::default();
    frame.reset(viewport.width_px, viewport.height_px);
    frame.rgba.fill(0);
    frame.ids.fill(NONE);
    // With petabytes live, heights are drawn in units larger than a byte, which the index chooses.
    let shift = TimelineIndex::new(bands).unit_shift;
    for x_px in 0..viewport.width_px {
        let moment = moment_of_column(bands, viewport, x_px);
        frame.column_moment[x_px as usize] = moment.unwrap_or(NONE);
        if let Some(moment) = moment {
            draw_column(&mut frame, bands, viewport, paint, x_px, moment, shift);
        }
    }
    frame
}

fn moment_of_column(bands: &Bands<'_>, viewport: &Viewport, x_px: u32) -> Option<u32> {
    let (from, to) = (
        viewport.x_at(f64::from(x_px)),
        viewport.x_at(f64::from(x_px + 1)),
    );
    let mut best: Option<u32> = None;
    for moment in 0..bands.moments() {
        let (start, end) = (bands.moment_x(moment), bands.moment_x(moment + 1));
        let instant = start == end && from <= start && start < to;
        if instant || (start < end && start < to && end > from && from < to) {
            let total = bands.total_bytes.at(moment as u32);
            if best.is_none_or(|b| total > bands.total_bytes.at(b)) {
                best = Some(moment as u32);
            }
        }
    }
    best
}

/// A live band, with its edges in px above the picture's lower edge.
struct Band {
    row: usize,
    low: f64,
    high: f64,
}

fn draw_column(
    frame: &mut Frame,
    bands: &Bands<'_>,
    viewport: &Viewport,
    paint: &Paint<'_>,
    x_px: u32,
    moment: u32,
    shift: u32,
) {
    let height = f64::from(viewport.height_px);
    let unit = 2_f64.powi(shift as i32);
    let scale = height / (viewport.height_bytes() / unit);
    let y = |units: u128| (units as f64 - viewport.y_min_bytes / unit) * scale;
    let mut stack = Vec::new();
    let mut below = 0_u128;
    for row in 0..bands.rows() {
        let units = u128::from(bands.bytes[row] >> shift);
        if units == 0 || !bands.is_live(row, moment) {
            continue;
        }
        let (low, high) = (y(below), y(below + units));
        below += units;
        if high > 0.0 && low < height {
            stack.push(Band {
                row,
                low: low.max(0.0),
                high: high.min(height),
            });
        }
    }
    for pixel in 0..viewport.height_px {
        let from_top = viewport.height_px - 1 - pixel;
        let bottom = f64::from(pixel);
        let inside = |band: &&Band| {
            band.low < bottom + 1.0
                && (band.high > bottom || (band.low == band.high && band.low == bottom))
        };
        let here: Vec<&Band> = stack.iter().filter(inside).collect();
        let at = from_top as usize * frame.width_px as usize + x_px as usize;
        let (colour, id) = draw_pixel(&here, bands, paint, moment, bottom, (x_px, from_top));
        frame.rgba[at * 4..at * 4 + 4].copy_from_slice(&colour);
        frame.ids[at] = id;
    }
}

fn draw_pixel(
    here: &[&Band],
    bands: &Bands<'_>,
    paint: &Paint<'_>,
    moment: u32,
    bottom: f64,
    (x_px, y_px): (u32, u32),
) -> ([u8; 4], u32) {
    let coverage = |band: &Band| band.high.min(bottom + 1.0) - band.low.max(bottom);
    let covered: f64 = here.iter().map(|band| coverage(band)).sum();
    let owner = here
        .iter()
        .find(|band| coverage(band) as f32 >= 0.5)
        .map(|band| band.row as u32);
    let id = match here {
        [] => NONE,
        [alone] => alone.row as u32,
        _ => owner.unwrap_or(BLEND),
    };
    if covered <= 0.0 {
        return ([0; 4], id);
    }
    let look = |row: usize| {
        let pending = bands.free_requested[row] <= moment;
        let lit = paint.matches.is_none_or(|matches| matches.contains(row));
        let shade = |rgb| if lit { rgb } else { paint.theme.dim(rgb) };
        (
            shade(paint.colours.rgb(row)),
            shade(paint.theme.pending_free),
            pending,
        )
    };
    if let Some(band) = here
        .iter()
        .find(|band| band.low <= bottom && band.high >= bottom + 1.0)
    {
        let (plain, hatch, pending) = look(band.row);
        let rgb = match (x_px + y_px) % 6 {
            0 | 1 if pending => hatch,
            2 if pending => plain.map(|channel| channel / 8 * 5),
            _ => plain,
        };
        return ([rgb[0], rgb[1], rgb[2], 255], id);
    }
    let channel = |c: usize| {
        let light: f64 = here
            .iter()
            .map(|band| {
                let (plain, hatch, pending) = look(band.row);
                let (plain, hatch) = (linear12(plain[c]), linear12(hatch[c]));
                let light = if pending {
                    (3 * plain + 2 * hatch) / 5
                } else {
                    plain
                };
                f64::from(light) * coverage(band)
            })
            .sum();
        srgb8((light / covered / 4095.0) as f32)
    };
    let alpha = (covered.min(1.0) * 255.0).round() as u8;
    ([channel(0), channel(1), channel(2), alpha], id)
}
