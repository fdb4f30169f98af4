//! Drawing the map: every rectangle's area, in one pass over the rows of pixels.
//!
//! A rectangle covers a pixel by the product of what it covers of the column and of the row, so along a
//! row its coverage changes at no more than four places: where it begins and ends, each spread over two
//! pixels. Only these changes are written down, in a row of sums that is turned into pixels by adding
//! them up; and a rectangle is touched in the row where it begins and in the one where it ends. So a
//! frame costs O(rectangles in view + pixels), however large they are. All sums are integers: whatever
//! was added is taken away again to the last bit.

use super::{MemoryMap, Piece, Tile};
use crate::colour::{Rgb, linear12};
use crate::raster::{Bands, DIMMED, Frame, NONE, PENDING, Paint, Shades};
use crate::theme::Theme;
use crate::viewport::Viewport;

/// A whole pixel. Light has 12 bits, so that sums stay within 31.
const WHOLE: f32 = 32_768.0;
/// What is thinner than this, in px, and only rounding, is left out: a colour cannot show it.
const LEAST_ROUNDING_PX: f64 = 1.0 / 256.0;
/// A span of held memory, in [`Span::shade`].
const HELD: u32 = u32::MAX;
/// A span of rounding, likewise; with the filter's dimming on top.
const ROUNDING: u32 = u32::MAX - 2;
const ROUNDING_DIMMED: u32 = u32::MAX - 1;
/// The end of a list.
const END: u32 = u32::MAX;
/// In the fourth sum the coverage by allocations is in the low half, that by held memory in the high one.
const HELD_UNIT: i32 = 1 << 16;

/// Red, green, blue (12-bit light × coverage), and both coverages.
type Sums = [i32; 4];

/// A rectangle in px of the picture, clipped to it; y from the top.
#[derive(Clone, Copy, Debug)]
struct Span {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
    /// An entry of [`Shades`], or one of the constants.
    shade: u32,
    /// The next span that is touched in the same row.
    next: u32,
}

/// Draws maps; keeps its working memory between frames.
#[derive(Clone, Debug, Default)]
pub struct MapRaster {
    shades: Shades,
    rounding: Rounding,
    spans: Vec<Span>,
    /// Row of pixels → the first span that is touched there.
    first: Vec<u32>,
    /// Spans with a pattern that cover whole pixels.
    patterned: Vec<u32>,
    /// Changes from pixel to pixel in one row, and in that row and all below it.
    once: Vec<Sums>,
    on: Vec<Sums>,
}

/// The looks of what rounding takes, and of held memory that is free.
#[derive(Clone, Copy, Debug, Default)]
struct Rounding {
    /// Lit and dimmed: the ground and the stripes.
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

    /// A pixel of what rounding takes: diagonal stripes against the direction of those of a pending free.
    fn pattern(&self, dimmed: bool, x_px: usize, y_px: usize) -> Rgb {
        let stripe = (x_px + 3 * y_px) % 4 < 2;
        self.colours[usize::from(dimmed)][usize::from(stripe)]
    }
}

/// From the map's data to px of the picture.
struct Scale<'a> {
    bands: &'a Bands<'a>,
    /// The moments that are at least partly in view.
    first_moment: u32,
    last_moment: u32,
    x_min: f64,
    px_per_x: f64,
    width_px: f64,
    y_max: f64,
    y_min: f64,
    px_per_y: f64,
    height_px: f64,
}

impl<'a> Scale<'a> {
    /// `None` if nothing is in view.
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
            y_max: view.y_max_bytes,
            y_min: view.y_min_bytes,
            px_per_y: height_px / view.height_bytes(),
            height_px,
        })
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

    /// From the top.
    #[inline]
    fn y_px(&self, y: f64) -> f32 {
        ((self.y_max - y) * self.px_per_y).clamp(0.0, self.height_px) as f32
    }
}

impl MapRaster {
    /// A raster with no working memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the part of the map in `viewport` into `frame`, whose ids stay empty; its columns' moments are
    /// those at their middles. Nothing is allocated once the buffers have their size.
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
        self.spans.clear();
        self.patterned.clear();
        self.first.clear();
        self.first.resize(viewport.height_px as usize, END);
        if let Some(scale) = Scale::of(bands, viewport) {
            for piece in &map.pieces {
                self.hold(&scale, piece);
            }
            for tile in &map.tiles {
                if scale.sees(tile.low, tile.high, tile.born, tile.died) {
                    self.place(&scale, tile, paint);
                }
            }
        }
        self.rows(frame);
        self.patterns(frame);
    }

    fn hold(&mut self, scale: &Scale<'_>, piece: &Piece) {
        if scale.sees(piece.low, piece.high, piece.born, piece.died) {
            let x = (scale.x_px(piece.born), scale.x_px(piece.died));
            let y = (scale.y_px(piece.high), scale.y_px(piece.low));
            self.add(x, y, HELD);
        }
    }

    /// Adds the spans of an allocation: in use, pending free, and what rounding takes above both.
    fn place(&mut self, scale: &Scale<'_>, tile: &Tile, paint: &Paint<'_>) {
        let row = tile.row as usize;
        let lit = paint.matches.is_none_or(|matches| matches.contains(row));
        let entry = usize::from(paint.colours.index.get(row).copied().unwrap_or(0));
        let shade = entry + usize::from(!lit) * DIMMED;
        let (born, died) = (scale.x_px(tile.born), scale.x_px(tile.died));
        let (top, bottom) = (scale.y_px(tile.requested), scale.y_px(tile.low));
        let pending = if tile.free_requested < tile.died {
            scale.x_px(tile.free_requested.max(tile.born))
        } else {
            died
        };
        self.add((born, pending), (top, bottom), shade as u32);
        self.add((pending, died), (top, bottom), (shade + PENDING) as u32);
        if (tile.high - tile.requested) * scale.px_per_y >= LEAST_ROUNDING_PX {
            let shade = if lit { ROUNDING } else { ROUNDING_DIMMED };
            self.add((born, died), (scale.y_px(tile.high), top), shade);
        }
    }

    #[inline]
    fn add(&mut self, (left, right): (f32, f32), (top, bottom): (f32, f32), shade: u32) {
        if left >= right || top >= bottom {
            return;
        }
        let span = self.spans.len() as u32;
        // Clipped to the picture, a top is below its height.
        let Some(first) = self.first.get_mut(top as usize) else {
            return;
        };
        self.spans.push(Span {
            left,
            right,
            top,
            bottom,
            shade,
            next: *first,
        });
        *first = span;
        let has_pattern = shade != HELD && (shade >= ROUNDING || shade as usize & PENDING != 0);
        if has_pattern && right.floor() > left.ceil() && bottom.floor() > top.ceil() {
            self.patterned.push(span);
        }
    }

    /// Turns the spans into pixels, row by row from the top.
    fn rows(&mut self, frame: &mut Frame) {
        let width = frame.width_px as usize;
        // One more for what changes behind the last pixel, and one behind that.
        self.once.clear();
        self.once.resize(width + 2, [0; 4]);
        self.on.clear();
        self.on.resize(width + 2, [0; 4]);
        for (y_px, pixels) in frame.rgba.chunks_exact_mut(width * 4).enumerate() {
            let mut next = self.first[y_px];
            while let Some(&span) = self.spans.get(next as usize) {
                self.touch(next, &span, y_px);
                next = span.next;
            }
            self.emit(pixels);
        }
    }

    /// Writes down what changes in row `y_px` because a span begins or ends in it.
    #[inline]
    fn touch(&mut self, id: u32, span: &Span, y_px: usize) {
        let light = self.light(span.shade);
        let row = y_px as f32;
        let end = span.bottom as usize;
        let begins = span.top >= row;
        let rest = span.bottom - row;
        if begins && rest <= 1.0 {
            change(&mut self.once, span, span.bottom - span.top, light);
        } else if begins {
            change(&mut self.on, span, 1.0, light);
            change(&mut self.once, span, row - span.top, light);
            // A span that ends at the picture's edge is never taken away.
            if let Some(first) = self.first.get_mut(end) {
                self.spans[id as usize].next = *first;
                *first = id;
            }
        } else {
            change(&mut self.on, span, -1.0, light);
            change(&mut self.once, span, rest, light);
        }
    }

    /// What a whole pixel of a shade adds to the sums.
    #[inline]
    fn light(&self, shade: u32) -> Sums {
        match shade {
            HELD => [0, 0, 0, HELD_UNIT],
            ROUNDING | ROUNDING_DIMMED => {
                let [r, g, b] = self.rounding.light[(shade - ROUNDING) as usize];
                [r, g, b, 1]
            }
            shade => {
                let [r, g, b] = self.shades.light(shade as usize).map(i32::from);
                [r, g, b, 1]
            }
        }
    }

    /// Adds the changes up to pixels, and forgets those of this row.
    fn emit(&mut self, pixels: &mut [u8]) {
        let mut sums: Sums = [0; 4];
        let mut pixel = [0; 4];
        let mut row = std::mem::take(&mut self.once);
        let columns = row.iter_mut().zip(&self.on);
        for ((once, on), out) in columns.zip(pixels.chunks_exact_mut(4)) {
            let change: Sums = std::array::from_fn(|c| once[c].wrapping_add(on[c]));
            if change != [0; 4] {
                for (sum, change) in sums.iter_mut().zip(change) {
                    *sum = sum.wrapping_add(change);
                }
                *once = [0; 4];
                pixel = self.pixel(sums);
            } else {
                // They may cancel one another.
                *once = [0; 4];
            }
            out.copy_from_slice(&pixel);
        }
        for beyond in row.iter_mut().rev().take(2) {
            *beyond = [0; 4];
        }
        self.once = row;
    }

    fn pixel(&self, sums: Sums) -> [u8; 4] {
        let in_use = sums[3] & 0xffff;
        let held = (sums[3] >> 16) & 0xffff;
        // Where more is in use than held, the file does not tell all that was held.
        let free = (held - in_use).max(0);
        let light = |c: usize| {
            let sum = sums[c].max(0) as f32 + (free * self.rounding.held_light[c]) as f32;
            sum / WHOLE
        };
        let covered = (in_use + free) as f32 / WHOLE;
        self.shades
            .blended([light(0), light(1), light(2), covered])
            .to_le_bytes()
    }

    /// Draws the patterns over the pixels that one span covers whole: no others are in them.
    fn patterns(&self, frame: &mut Frame) {
        let width = frame.width_px as usize;
        for &id in &self.patterned {
            let span = &self.spans[id as usize];
            let columns = span.left.ceil() as usize..(span.right as usize).min(width);
            for y_px in span.top.ceil() as usize..(span.bottom as usize) {
                let row = y_px * width;
                for x_px in columns.clone() {
                    let at = (row + x_px) * 4;
                    let Some(pixel) = frame.rgba.get_mut(at..at + 4) else {
                        return;
                    };
                    let colour = if span.shade >= ROUNDING {
                        let dimmed = span.shade == ROUNDING_DIMMED;
                        let [r, g, b] = self.rounding.pattern(dimmed, x_px, y_px);
                        [r, g, b, 255]
                    } else {
                        let shade = span.shade as usize;
                        self.shades.hatched(shade, x_px, y_px).to_le_bytes()
                    };
                    pixel.copy_from_slice(&colour);
                }
            }
        }
    }
}

/// Adds a span of this height (of a row of pixels; negative to take away) to a row's changes.
#[inline]
fn change(row: &mut [Sums], span: &Span, height: f32, light: Sums) {
    let first = span.left as usize;
    let last = span.right as usize;
    // 1.5 · 2^23 added leaves the rounded number in the low bits: one instruction where rounding is a call.
    let rounded = |value: f32| (value + 12_582_912.0).to_bits() as i32 - 0x4b40_0000;
    let coverage = |part: f32| rounded(part * height * WHOLE);
    if first == last {
        let inside = coverage(span.right - span.left);
        add(row, first, inside, light);
        add(row, first + 1, -inside, light);
        return;
    }
    let whole = coverage(1.0);
    let begin = coverage((first + 1) as f32 - span.left);
    let end = coverage(span.right - last as f32);
    add(row, first, begin, light);
    add(row, first + 1, whole - begin, light);
    add(row, last, end - whole, light);
    add(row, last + 1, -end, light);
}

#[inline]
fn add(row: &mut [Sums], at: usize, coverage: i32, light: Sums) {
    if let Some(sums) = row.get_mut(at) {
        for (sum, light) in sums.iter_mut().zip(light) {
            *sum = sum.wrapping_add(coverage.wrapping_mul(light));
        }
    }
}
