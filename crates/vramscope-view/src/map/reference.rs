//! A slow, obvious way to draw the map, as a reference for [`MapRaster`](super::MapRaster).
//!
//! For every pixel it visits all rectangles: O(pixels × rectangles), in floating point.

use super::MemoryMap;
use crate::colour::{Rgb, linear12, srgb8};
use crate::raster::{Bands, Frame, NONE, Paint};
use crate::viewport::Viewport;

/// A rectangle in data units, and its fill.
struct Rect {
    x: (f64, f64),
    y: (f64, f64),
    look: Look,
}

#[derive(Clone, Copy)]
enum Look {
    Held,
    Plain(Rgb),
    /// Colour, hatch.
    Pending(Rgb, Rgb),
    /// Ground, stripe.
    Rounding(Rgb, Rgb),
}

/// Draws the same as [`MapRaster::draw`](super::MapRaster::draw). A pixel counts as completely covered, and shows a
/// pattern, if at most `gap` of it is not covered: the raster's positions have only 24 bits.
#[must_use]
pub fn draw(
    map: &MemoryMap,
    bands: &Bands<'_>,
    view: &Viewport,
    paint: &Paint<'_>,
    gap: f64,
) -> Frame {
    let mut frame = Frame {
        width_px: view.width_px,
        height_px: view.height_px,
        ..Frame::default()
    };
    let rects = rects(map, bands, view, paint);
    for x_px in 0..view.width_px {
        let x = view.x_at(f64::from(x_px) + 0.5);
        let after =
            (0..bands.moments()).rfind(|&moment| bands.moment_x(moment) <= x && x < bands.x_end());
        frame
            .column_moment
            .push(after.map_or(NONE, |moment| moment as u32));
    }
    for y_px in 0..view.height_px {
        for x_px in 0..view.width_px {
            let pixel = pixel(&rects, view, paint, (x_px, y_px), gap);
            frame.rgba.extend(pixel);
        }
    }
    frame
}

fn rects(map: &MemoryMap, bands: &Bands<'_>, view: &Viewport, paint: &Paint<'_>) -> Vec<Rect> {
    let x = |moment: u32| bands.moment_x(moment as usize);
    let mut rects: Vec<Rect> = map
        .pieces
        .iter()
        .map(|piece| Rect {
            x: (x(piece.born), x(piece.died)),
            y: (piece.low, piece.high),
            look: Look::Held,
        })
        .collect();
    for tile in map.tiles.iter() {
        let row = tile.row as usize;
        let lit = paint.matches.is_none_or(|matches| matches.contains(row));
        let shade = |rgb| if lit { rgb } else { paint.theme.dim(rgb) };
        let (plain, hatch) = (
            shade(paint.colours.rgb(row)),
            shade(paint.theme.pending_free),
        );
        let stripe = shade(paint.theme.rounding);
        let pending = tile.free_requested.clamp(tile.born, tile.died);
        let requested = (tile.low, tile.requested);
        rects.push(Rect {
            x: (x(tile.born), x(pending)),
            y: requested,
            look: Look::Plain(plain),
        });
        rects.push(Rect {
            x: (x(pending), x(tile.died)),
            y: requested,
            look: Look::Pending(plain, hatch),
        });
        if (tile.high - tile.requested) / view.height_bytes() * f64::from(view.height_px)
            >= 1.0 / 256.0
        {
            rects.push(Rect {
                x: (x(tile.born), x(tile.died)),
                y: (tile.requested, tile.high),
                look: Look::Rounding(paint.theme.held_free, stripe),
            });
        }
    }
    rects
}

/// The pixel of a fill's pattern; `None` if it has none.
fn pattern(look: Look, x_px: u32, y_px: u32) -> Option<Rgb> {
    match look {
        Look::Held | Look::Plain(_) => None,
        Look::Pending(plain, hatch) => Some(match (x_px + y_px) % 6 {
            0 | 1 => hatch,
            2 => plain.map(|channel| channel / 8 * 5),
            _ => plain,
        }),
        Look::Rounding(ground, stripe) => Some(if (x_px + 3 * y_px) % 4 < 2 {
            stripe
        } else {
            ground
        }),
    }
}

/// Light of a channel in 12 bits, averaged over the pattern.
fn light_of(look: Look, c: usize) -> f64 {
    let light = |rgb: Rgb| f64::from(linear12(rgb[c]));
    match look {
        Look::Held => 0.0,
        Look::Plain(plain) => light(plain),
        Look::Pending(plain, hatch) => (3.0 * light(plain) + 2.0 * light(hatch)) / 5.0,
        Look::Rounding(ground, stripe) => (light(ground) + light(stripe)) / 2.0,
    }
}

fn pixel(
    rects: &[Rect],
    view: &Viewport,
    paint: &Paint<'_>,
    (x_px, y_px): (u32, u32),
    gap: f64,
) -> [u8; 4] {
    let (x, y) = (f64::from(x_px), f64::from(y_px));
    let columns = (view.x_at(x), view.x_at(x + 1.0));
    let rows = (view.bytes_at(y + 1.0), view.bytes_at(y));
    let common = |(a, b): (f64, f64), (c, d): (f64, f64)| (b.min(d) - a.max(c)).max(0.0);
    let all = (columns.1 - columns.0) * (rows.1 - rows.0);
    let (mut held, mut used, mut light) = (0.0, 0.0, [0.0; 3]);
    for rect in rects {
        let area = common(rect.x, columns) * common(rect.y, rows) / all;
        if matches!(rect.look, Look::Held) {
            held += area;
            continue;
        }
        let pattern = pattern(rect.look, x_px, y_px).filter(|_| area > 1.0 - gap);
        if let Some([r, g, b]) = pattern {
            return [r, g, b, 255];
        }
        for (c, sum) in light.iter_mut().enumerate() {
            *sum += light_of(rect.look, c) * area;
        }
        used += area;
    }
    let free: f64 = f64::max(held - used, 0.0);
    let covered = used + free;
    if covered < 0.5 / 32_768.0 {
        return [0; 4];
    }
    let [r, g, b] = std::array::from_fn(|c| {
        let ground = f64::from(linear12(paint.theme.held_free[c]));
        srgb8(((light[c] + free * ground) / covered / 4095.0) as f32)
    });
    [r, g, b, (covered.min(1.0) * 255.0).round() as u8]
}
