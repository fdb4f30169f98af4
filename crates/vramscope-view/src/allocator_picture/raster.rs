//! Draws the visible lines. The pixels of a line are computed once and copied to each of its rows.

use std::ops::Range;

use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, PlacedBlock, SegmentState,
};

use super::layout::{Piece, StateLayout, blocks_between, offsets};
use crate::colour::{Rgb, linear};
use crate::raster::{DIMMED, PENDING, Paint, Shades, opaque, shadow};

/// Blocks at least this many device px wide get a dark right edge, to separate neighbours.
const EDGED_PX: f64 = 5.0;

/// The fill of a whole pixel: a shade of [`Shades`], or one of the constants below.
type Code = u16;
const FREE: Code = 1024;
const ROUNDING: Code = 1025;
const DIM_ROUNDING: Code = 1026;
/// Added to a shade for its dark edge.
const EDGE: Code = 2048;
const NOTHING: Code = u16::MAX;

/// A drawn picture; its buffer is reused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePicture {
    /// Width in device px.
    pub width_px: u32,
    /// Height in device px.
    pub height_px: u32,
    /// `width × height` pixels of R, G, B, A (not premultiplied), the top row first; transparent where
    /// no segment is.
    pub rgba: Vec<u8>,
}

/// Draws states; keeps its working memory between pictures.
#[derive(Clone, Debug, Default)]
pub struct StateRaster {
    shades: Shades,
    tones: Tones,
    line: Line,
}

/// The colours that are not shades.
#[derive(Clone, Debug, Default)]
struct Tones {
    free: u32,
    /// The stripes of rounding: normal, dimmed.
    rounding: [u32; 2],
    /// Linear light and a coverage of 1: free, rounding, dimmed rounding.
    light: [[f32; 4]; 3],
}

impl Tones {
    fn of(paint: &Paint<'_>) -> Self {
        let theme = paint.theme;
        let light = |rgb: Rgb| {
            let [r, g, b] = rgb.map(|channel| linear(channel) * 4095.0);
            [r, g, b, 1.0]
        };
        let free = light(theme.grid);
        let dimmed = theme.dim(theme.rounding);
        // The average colour of the hatch, which colours two of five pixels.
        let striped = |rgb: Rgb| {
            let stripe = light(rgb);
            std::array::from_fn(|c| (3.0 * free[c] + 2.0 * stripe[c]) / 5.0)
        };
        Self {
            free: opaque(theme.grid),
            rounding: [opaque(theme.rounding), opaque(dimmed)],
            light: [free, striped(theme.rounding), striped(dimmed)],
        }
    }
}

/// A line of segments under construction, and the pixels of its rows.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Light × coverage, and the coverage, of pixels shared by several blocks.
    light: Vec<[f32; 4]>,
    /// The fill of each whole pixel; `NOTHING` where several blocks share it.
    codes: Vec<Code>,
    /// Ranges of pixels that differ from row to row.
    hatched: Vec<Range<usize>>,
    pixels: Vec<u32>,
}

impl StateRaster {
    /// A raster with no working memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the rows of pixels `rows` of a laid out state.
    pub fn draw(
        &mut self,
        state: &AllocatorState,
        layout: &StateLayout,
        rows: Range<u32>,
        paint: &Paint<'_>,
        picture: &mut StatePicture,
    ) {
        let width = layout.metrics().width_px;
        let height = rows.end.saturating_sub(rows.start);
        (picture.width_px, picture.height_px) = (width, height);
        picture.rgba.clear();
        picture.rgba.resize(width as usize * height as usize * 4, 0);
        self.shades
            .fill(&paint.colours.palette, paint.theme.pending_free, |colour| {
                paint.theme.dim(colour)
            });
        self.tones = Tones::of(paint);
        let mut open: Option<u32> = None;
        for run in layout.runs_in(rows.clone()) {
            let segment = &state.segments[run.segment as usize];
            for piece in layout.pieces(run, segment.bytes, rows.clone()) {
                if open != Some(piece.y_px) {
                    self.emit(open, layout, &rows, picture);
                    self.line.clear(width as usize);
                    open = Some(piece.y_px);
                }
                self.add(segment, &piece, layout.bytes_per_px(), paint);
            }
        }
        self.emit(open, layout, &rows, picture);
    }

    fn add(&mut self, segment: &SegmentState, piece: &Piece, bytes_per_px: f64, paint: &Paint<'_>) {
        let x = |bytes: f64| {
            let bytes = bytes.clamp(piece.from_bytes, piece.to_bytes);
            piece.x_px + (bytes - piece.from_bytes) / bytes_per_px
        };
        for block in &segment.blocks[blocks_between(segment, piece.from_bytes, piece.to_bytes)] {
            let (from, to) = offsets(segment, block);
            let used = from + block.requested_bytes as f64;
            let (code, rounding) = codes(block, paint);
            let (left, middle, right) = (x(from), x(used), x(to));
            if code == FREE {
                self.span(left, right, FREE);
                continue;
            }
            self.span(left, middle, code);
            if right > middle {
                self.span(middle, right, rounding);
            }
            if right - left >= EDGED_PX {
                self.line.edge(right);
            }
        }
    }

    /// Adds light from `x0` to `x1`.
    fn span(&mut self, x0: f64, x1: f64, code: Code) {
        let light = self.light_of(code);
        self.line.add(x0, x1, code, light);
    }

    fn light_of(&self, code: Code) -> [f32; 4] {
        match code {
            FREE | ROUNDING | DIM_ROUNDING => self.tones.light[usize::from(code - FREE)],
            shade => self.shades.light_f32(usize::from(shade)),
        }
    }

    fn emit(
        &mut self,
        open: Option<u32>,
        layout: &StateLayout,
        rows: &Range<u32>,
        picture: &mut StatePicture,
    ) {
        let Some(top) = open else { return };
        let width = layout.metrics().width_px as usize;
        let bottom = top.saturating_add(layout.metrics().line_px).min(rows.end);
        self.compose(width);
        for y_px in top.max(rows.start)..bottom {
            let start = (y_px - rows.start) as usize * width * 4;
            let row = &mut picture.rgba[start..start + width * 4];
            for range in &self.line.hatched {
                for x_px in range.clone() {
                    self.line.pixels[x_px] = self.pixel(x_px, y_px as usize);
                }
            }
            for (pixel, value) in row.chunks_exact_mut(4).zip(&self.line.pixels) {
                pixel.copy_from_slice(&value.to_le_bytes());
            }
        }
    }

    fn compose(&mut self, width: usize) {
        let mut pixels = std::mem::take(&mut self.line.pixels);
        pixels.clear();
        pixels.extend((0..width).map(|x_px| self.pixel(x_px, 0)));
        self.line.pixels = pixels;
    }

    fn pixel(&self, x_px: usize, y_px: usize) -> u32 {
        let code = self.line.codes[x_px];
        match code {
            NOTHING => self.shades.blended(self.line.light[x_px]),
            FREE => self.tones.free,
            ROUNDING | DIM_ROUNDING if (x_px + y_px) % 5 < 2 => {
                self.tones.rounding[usize::from(code - ROUNDING)]
            }
            ROUNDING | DIM_ROUNDING => self.tones.free,
            code if code & EDGE != 0 => {
                let [r, g, b, _] = self.shades.solid(usize::from(code & !EDGE)).to_le_bytes();
                opaque(shadow([r, g, b]))
            }
            shade if usize::from(shade) & PENDING != 0 => {
                self.shades.hatched(usize::from(shade), x_px, y_px)
            }
            shade => self.shades.solid(usize::from(shade)),
        }
    }
}

impl Line {
    fn clear(&mut self, width: usize) {
        self.light.clear();
        self.light.resize(width, [0.0; 4]);
        self.codes.clear();
        self.codes.resize(width, NOTHING);
        self.hatched.clear();
    }

    /// Adds light from `x0` to `x1`.
    fn add(&mut self, x0: f64, x1: f64, code: Code, light: [f32; 4]) {
        let (first, last) = (x0.ceil().max(0.0) as usize, x1.floor().max(0.0) as usize);
        let last = last.min(self.codes.len());
        let mut part = |x_px: usize, coverage: f64| {
            if let Some(sum) = self.light.get_mut(x_px) {
                for (sum, value) in sum.iter_mut().zip(light) {
                    *sum += value * coverage as f32;
                }
            }
        };
        if last < first {
            // Within one pixel.
            part(last, x1 - x0);
            return;
        }
        if (first as f64) > x0 {
            part(first - 1, first as f64 - x0);
        }
        if x1 > last as f64 {
            part(last, x1 - last as f64);
        }
        if first < last {
            self.codes[first..last].fill(code);
            let is_hatched =
                matches!(code, ROUNDING | DIM_ROUNDING) || usize::from(code) & PENDING != 0;
            if is_hatched && code != FREE {
                self.hatched.push(first..last);
            }
        }
    }

    /// Darkens the last whole pixel before `x1`, if a shade covers it.
    fn edge(&mut self, x1: f64) {
        let Some(last) = (x1.floor() as usize).checked_sub(1) else {
            return;
        };
        if let Some(code) = self.codes.get_mut(last)
            && *code < FREE
        {
            *code |= EDGE;
        }
    }
}

/// The codes of a block's requested part and of its rounding.
fn codes(block: &PlacedBlock, paint: &Paint<'_>) -> (Code, Code) {
    let Some(id) = block.allocation else {
        return (FREE, FREE);
    };
    let entry = paint.colours.index.get(id.index()).copied().unwrap_or(0);
    let is_dimmed = paint
        .matches
        .is_some_and(|matches| !matches.contains(id.index()));
    let state = if is_dimmed { DIMMED } else { 0 }
        + if block.usage == BlockUse::PendingFree {
            PENDING
        } else {
            0
        };
    let rounding = if is_dimmed { DIM_ROUNDING } else { ROUNDING };
    ((usize::from(entry) + state) as Code, rounding)
}
