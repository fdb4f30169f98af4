//! Draws the map: [`Coverage`] sums up the areas of all rectangles.

use std::ops::Range;

use super::tiles::Tile;
use super::{MemoryMap, Piece};
use crate::colour::{Rgb, linear12};
use crate::coverage::{Coverage, Sums, WHOLE, stripes};
use crate::raster::{Bands, DIMMED, Frame, NONE, PENDING, Paint, Shades};
use crate::theme::Theme;
use crate::viewport::Viewport;

/// Thinner rounding is left out, in px: an 8-bit colour cannot show it.
const LEAST_ROUNDING_PX: f64 = 1.0 / 256.0;
/// The shades of rounding, normal and dimmed by the filter.
const ROUNDING: u32 = u32::MAX - 2;
const ROUNDING_DIMMED: u32 = u32::MAX - 1;
/// The fourth sum holds the coverage by allocations in its low half and by reserved memory in its
/// high half.
const HELD_UNIT: i32 = 1 << 16;

/// Rectangles are drawn in groups of this size, whose colours are looked up first: these are scattered in memory, and
/// processors wait for several at a time if no other work is in between.
const GROUP: usize = 32;

/// Draws maps; keeps its working memory between pictures.
#[derive(Clone, Debug, Default)]
pub struct MapRaster {
    shades: Shades,
    rounding: Rounding,
    coverage: Coverage<i32>,
    /// Reserved memory and allocations that reach into the current stripe.
    held: Reaching,
    used: Reaching,
    /// Spans of the stripe with a pattern that cover at least one whole pixel.
    patterned: Vec<Patterned>,
}

/// A span with a pattern: its edges in px, and its shade.
#[derive(Clone, Copy, Debug)]
struct Patterned {
    x: (f32, f32),
    y: (f32, f32),
    shade: u32,
}

/// Finds the rectangles that reach into each stripe of a picture. They are sorted by lower edge and stripes come from the
/// bottom up, so each rectangle is searched for only once.
#[derive(Clone, Debug, Default)]
struct Reaching {
    /// The rectangles of earlier stripes that reach above them.
    above: Vec<u32>,
    /// The first that is in no stripe so far.
    next: u32,
}

impl Reaching {
    fn begin(&mut self) {
        self.above.clear();
        self.next = 0;
    }

    /// Calls `see` for those of `count` rectangles that are visible in the next stripe, several at a time. `place` returns
    /// the lower and upper edge of one, and the moments of its birth and death.
    fn visit(
        &mut self,
        stripe: &Scale<'_>,
        count: usize,
        place: impl Fn(u32) -> (f64, f64, u32, u32),
        mut see: impl FnMut(&[u32]),
    ) {
        self.above.chunks(GROUP).for_each(&mut see);
        self.above.retain(|&at| place(at).1 > stripe.y_max);
        let (mut group, mut seen) = ([0; GROUP], 0);
        while (self.next as usize) < count {
            let at = self.next;
            let (low, high, born, died) = place(at);
            if low >= stripe.y_max {
                break;
            }
            self.next += 1;
            if !stripe.sees(low, high, born, died) {
                continue;
            }
            if high > stripe.y_max {
                self.above.push(at);
            }
            group[seen] = at;
            seen += 1;
            if seen == GROUP {
                see(&group);
                seen = 0;
            }
        }
        see(&group[..seen]);
    }
}

/// The colours of rounding, and of reserved memory that is free.
#[derive(Clone, Copy, Debug, Default)]
struct Rounding {
    /// Normal and dimmed: background and stripes.
    colours: [[Rgb; 2]; 2],
    light: [[i32; 3]; 2],
    held_light: [i32; 3],
}

impl Rounding {
    fn of(theme: &Theme) -> Self {
        let lit = [theme.held_free, theme.rounding];
        let colours = [lit, [theme.held_free, theme.dim(theme.rounding)]];
        Self {
            colours,
            light: colours.map(|[ground, stripe]| {
                std::array::from_fn(|c| {
                    (i32::from(linear12(ground[c])) + i32::from(linear12(stripe[c]))) / 2
                })
            }),
            held_light: theme.held_free.map(|channel| i32::from(linear12(channel))),
        }
    }

    /// A pixel of rounding's pattern: diagonal stripes, in the other direction than those of a pending free.
    fn pattern(&self, dimmed: bool, x_px: usize, y_px: usize) -> Rgb {
        let stripe = (x_px + 3 * y_px) % 4 < 2;
        self.colours[usize::from(dimmed)][usize::from(stripe)]
    }
}

/// Maps the map's data to px of the picture.
struct Scale<'a> {
    bands: &'a Bands<'a>,
    /// First and last moment that are at least partly visible.
    first_moment: u32,
    last_moment: u32,
    x_min: f64,
    px_per_x: f64,
    width_px: f64,
    /// The upper edge of the picture.
    y_top: f64,
    px_per_y: f64,
    height_px: f64,
    /// The edges of the current stripe.
    y_max: f64,
    y_min: f64,
}

impl<'a> Scale<'a> {
    /// `None` if no moment is visible.
    fn of(bands: &'a Bands<'a>, view: &Viewport) -> Option<Self> {
        let moments = bands.moments_in(view.x_min, view.x_max)?;
        let (width_px, height_px) = (f64::from(view.width_px), f64::from(view.height_px));
        Some(Self {
            bands,
            first_moment: *moments.start(),
            last_moment: *moments.end(),
            x_min: view.x_min,
            px_per_x: width_px / view.width(),
            width_px,
            y_top: view.y_max_bytes,
            px_per_y: height_px / view.height_bytes(),
            height_px,
            y_max: view.y_max_bytes,
            y_min: view.y_min_bytes,
        })
    }

    /// The scale for only these rows of the picture.
    fn of_rows(&self, rows: &Range<usize>) -> Self {
        let y = |row: usize| self.y_top - row as f64 / self.px_per_y;
        Self {
            y_max: y(rows.start),
            y_min: y(rows.end),
            ..*self
        }
    }

    fn sees(&self, low: f64, high: f64, born: u32, died: u32) -> bool {
        high > self.y_min
            && low < self.y_max
            && died > self.first_moment
            && born <= self.last_moment
    }

    #[inline]
    fn x_px(&self, moment: u32) -> f32 {
        let x = self.bands.moment_x(moment as usize);
        ((x - self.x_min) * self.px_per_x).clamp(0.0, self.width_px) as f32
    }

    #[inline]
    fn y_px(&self, y: f64) -> f32 {
        ((self.y_top - y) * self.px_per_y).clamp(0.0, self.height_px) as f32
    }
}

impl MapRaster {
    /// A raster with no working memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the visible part of the map into `frame`. Its ids stay empty; the moments of its columns are those at their
    /// middles. Allocates nothing once the buffers are large enough.
    pub fn draw(
        &mut self,
        map: &MemoryMap,
        bands: &Bands<'_>,
        viewport: &Viewport,
        paint: &Paint<'_>,
        frame: &mut Frame,
    ) {
        frame.reset_pixels(viewport.width_px, viewport.height_px);
        frame.ids.clear();
        if viewport.width_px == 0 || viewport.height_px == 0 {
            return;
        }
        for x_px in 0..viewport.width_px {
            let x = viewport.x_at(f64::from(x_px) + 0.5);
            frame.column_moment[x_px as usize] = bands.moment_at(x).unwrap_or(NONE);
        }
        self.shades
            .fill(&paint.colours.palette, paint.theme.pending_free, |c| {
                paint.theme.dim(c)
            });
        self.rounding = Rounding::of(paint.theme);
        let scale = Scale::of(bands, viewport);
        let width = viewport.width_px;
        for reaching in [&mut self.held, &mut self.used] {
            reaching.begin();
        }
        for (rows, rgba) in stripes(&mut frame.rgba, width).rev() {
            self.coverage.begin(width, rows.clone());
            self.patterned.clear();
            if let Some(scale) = &scale {
                self.add_all(map, &scale.of_rows(&rows), paint);
            }
            let (shades, rounding) = (&self.shades, &self.rounding);
            self.coverage
                .pixels(rgba, |sums| pixel(shades, rounding, sums));
            self.patterns(rgba, width as usize, &rows);
        }
    }

    /// Adds the visible spans of the next stripe.
    fn add_all(&mut self, map: &MemoryMap, stripe: &Scale<'_>, paint: &Paint<'_>) {
        let piece = |at: u32| &map.pieces[map.pieces_upwards[at as usize] as usize];
        let mut held = std::mem::take(&mut self.held);
        let place = |at: u32| {
            let piece = piece(at);
            (piece.low, piece.high, piece.born, piece.died)
        };
        held.visit(stripe, map.pieces.len(), place, |pieces| {
            for &at in pieces {
                self.hold(stripe, piece(at));
            }
        });
        self.held = held;
        let mut used = std::mem::take(&mut self.used);
        let place = |at: u32| {
            let tile = map.tiles.get(at as usize);
            (tile.low, tile.high, tile.born, tile.died)
        };
        let mut shades = [0; GROUP];
        used.visit(stripe, map.tiles.len(), place, |tiles| {
            for (shade, &at) in shades.iter_mut().zip(tiles) {
                let row = map.tiles.row(at as usize);
                let lit = paint.matches.is_none_or(|matches| matches.contains(row));
                let entry = paint.colours.index.get(row).copied().unwrap_or(0);
                *shade = usize::from(entry) + usize::from(!lit) * DIMMED;
            }
            for (&at, &shade) in tiles.iter().zip(&shades) {
                self.place(stripe, map.tiles.get(at as usize), shade);
            }
        });
        self.used = used;
    }

    fn hold(&mut self, scale: &Scale<'_>, piece: &Piece) {
        let y = (scale.y_px(piece.high), scale.y_px(piece.low));
        let light = [0, 0, 0, HELD_UNIT];
        let part = (scale.x_px(piece.died), light);
        self.coverage.add(scale.x_px(piece.born), [part], y);
    }

    /// Adds the spans of an allocation: in use, pending free, and the rounding above both.
    #[inline]
    fn place(&mut self, scale: &Scale<'_>, tile: Tile, shade: usize) {
        let (born, died) = (scale.x_px(tile.born), scale.x_px(tile.died));
        let (top, bottom) = (scale.y_px(tile.requested), scale.y_px(tile.low));
        let pending = if tile.free_requested < tile.died {
            scale.x_px(tile.free_requested.max(tile.born))
        } else {
            died
        };
        let (waits, y) = (shade + PENDING, (top, bottom));
        let parts = [(pending, self.light(shade)), (died, self.light(waits))];
        self.coverage.add(born, parts, y);
        self.note_pattern((pending, died), y, waits as u32);
        if (tile.high - tile.requested) * scale.px_per_y >= LEAST_ROUNDING_PX {
            let dimmed = usize::from(shade >= DIMMED);
            let [r, g, b] = self.rounding.light[dimmed];
            let y = (scale.y_px(tile.high), top);
            self.coverage.add(born, [(died, [r, g, b, 1])], y);
            self.note_pattern((born, died), y, ROUNDING + dimmed as u32);
        }
    }

    /// What a whole pixel of an allocation's shade adds to the sums.
    #[inline]
    fn light(&self, shade: usize) -> Sums<i32> {
        let [r, g, b] = self.shades.light(shade).map(i32::from);
        [r, g, b, 1]
    }

    /// Notes a span with a pattern if it covers a whole pixel.
    #[inline]
    fn note_pattern(&mut self, x: (f32, f32), y: (f32, f32), shade: u32) {
        // Most are narrower than a pixel, so this check avoids rounding.
        let is_wide = x.1 - x.0 >= 1.0;
        if is_wide && x.1.floor() > x.0.ceil() && y.1.floor() > y.0.ceil() {
            self.patterned.push(Patterned { x, y, shade });
        }
    }

    /// Draws patterns over the pixels that a span covers completely; no other span overlaps these. `rgba` are the pixels of
    /// these rows.
    fn patterns(&self, rgba: &mut [u8], width: usize, rows: &Range<usize>) {
        for &Patterned { x, y, shade } in &self.patterned {
            let columns = x.0.ceil() as usize..(x.1 as usize).min(width);
            let whole = (y.0.ceil() as usize).max(rows.start)..(y.1 as usize).min(rows.end);
            for y_px in whole {
                let row = (y_px - rows.start) * width;
                for x_px in columns.clone() {
                    let at = (row + x_px) * 4;
                    let Some(pixel) = rgba.get_mut(at..at + 4) else {
                        return;
                    };
                    let colour = if shade >= ROUNDING {
                        let dimmed = shade == ROUNDING_DIMMED;
                        let [r, g, b] = self.rounding.pattern(dimmed, x_px, y_px);
                        [r, g, b, 255]
                    } else {
                        self.shades
                            .hatched(shade as usize, x_px, y_px)
                            .to_le_bytes()
                    };
                    pixel.copy_from_slice(&colour);
                }
            }
        }
    }
}

fn pixel(shades: &Shades, rounding: &Rounding, sums: Sums<i32>) -> [u8; 4] {
    let in_use = sums[3] & 0xffff;
    let held = (sums[3] >> 16) & 0xffff;
    // More can be in use than reserved if the file does not record all segments.
    let free = (held - in_use).max(0);
    let light = |c: usize| {
        let sum = sums[c].max(0) as f32 + (free * rounding.held_light[c]) as f32;
        sum / WHOLE
    };
    let covered = (in_use + free) as f32 / WHOLE;
    shades
        .blended([light(0), light(1), light(2), covered])
        .to_le_bytes()
}
