//! The stacked timeline of every allocation, exact at every zoom, as pixels.
//!
//! A frame is a sweep over moments with one ordered set of live allocations (`live.rs`). Each pixel
//! column shows one real moment: the earliest with the highest total in the column's interval, so
//! no peak is lost. No allocation is left out either: bands thinner than a pixel are blended by
//! area. Cost: O((events in view + pixels) · log n), in whatever order allocations are freed.
//!
//! Rows of pixels count from the top, as in an image. Pixels without allocations are transparent,
//! so that a grid can be drawn below. `reference.rs` is a slow, obvious version that the tests
//! compare with.

mod bands;
mod column;
mod composition;
mod index;
mod live;
#[cfg(any(test, feature = "reference"))]
pub mod reference;
mod rooms;
mod runs;
mod shades;
mod spans;
mod sweep;
#[cfg(test)]
mod tests;

pub use bands::{Bands, NEVER, Totals};
pub use composition::{Composition, Hit};
pub use index::TimelineIndex;
pub use rooms::{BandRoom, TextSizes};
pub use spans::ColumnSpan;

use crate::bitset::BitSet;
use crate::colour::ColourColumn;
use crate::theme::Theme;
use crate::viewport::Viewport;
use column::{Column, Scale};
use runs::Runs;
pub(crate) use shades::{DIMMED, PENDING, Shades, opaque, shadow};
use sweep::{Coloured, Sweep};

/// In a frame's ids: no allocation. In its moments: the column is outside the data.
pub const NONE: u32 = u32::MAX;
/// In a frame's ids: several allocations, none of which covers half the pixel.
pub const BLEND: u32 = u32::MAX - 1;

/// Number of columns drawn before they are written into rows.
const TILE: usize = 64;

/// Colours of the bands.
#[derive(Clone, Copy, Debug)]
pub struct Paint<'a> {
    /// Colour of each allocation.
    pub colours: &'a ColourColumn,
    /// Allocations that match the filter; the others are dimmed. `None` if all match.
    pub matches: Option<&'a BitSet>,
    /// The theme.
    pub theme: &'a Theme,
}

/// A drawn picture. All three buffers are reused from frame to frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Width in device px.
    pub width_px: u32,
    /// Height in device px.
    pub height_px: u32,
    /// `width × height` pixels of R, G, B, A (not premultiplied), the top row first.
    pub rgba: Vec<u8>,
    /// For each pixel, the allocation that covers half of it or is alone in it, [`BLEND`] if
    /// several share it, [`NONE`] if there is none.
    pub ids: Vec<u32>,
    /// For each column, the moment it shows; [`NONE`] outside the data.
    pub column_moment: Vec<u32>,
}

impl Frame {
    fn reset(&mut self, width_px: u32, height_px: u32) {
        self.reset_pixels(width_px, height_px);
        let pixels = width_px as usize * height_px as usize;
        self.ids.resize(pixels, NONE);
    }

    pub(crate) fn reset_pixels(&mut self, width_px: u32, height_px: u32) {
        (self.width_px, self.height_px) = (width_px, height_px);
        let pixels = width_px as usize * height_px as usize;
        // Old values may stay, because every pixel and column is written later.
        self.rgba.resize(pixels * 4, 0);
        self.column_moment.resize(width_px as usize, NONE);
    }

    /// Blends the picture over a background; every pixel becomes opaque.
    pub fn flatten(&mut self, background: crate::colour::Rgb) {
        for pixel in self.rgba.chunks_exact_mut(4) {
            let alpha = u32::from(pixel[3]);
            for (channel, back) in pixel.iter_mut().zip(background) {
                let sum = u32::from(*channel) * alpha + u32::from(back) * (255 - alpha);
                *channel = ((sum + 127) / 255) as u8;
            }
            pixel[3] = 255;
        }
    }
}

/// Draws timelines; keeps its working memory between frames.
#[derive(Clone, Debug, Default)]
pub struct TimelineRaster {
    sweep: Sweep,
    shades: Shades,
    /// The columns of a tile and the one before it.
    runs: Runs,
}

impl TimelineRaster {
    /// A raster with no working memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the visible part of the timeline into `frame`.
    ///
    /// `index` must be computed from `bands`. Allocates nothing once the buffers have grown to
    /// their size.
    pub fn draw(
        &mut self,
        bands: &Bands<'_>,
        index: &TimelineIndex,
        viewport: &Viewport,
        paint: &Paint<'_>,
        frame: &mut Frame,
    ) {
        frame.reset(viewport.width_px, viewport.height_px);
        if viewport.width_px == 0 || viewport.height_px == 0 {
            return;
        }
        self.shades
            .fill(&paint.colours.palette, paint.theme.pending_free, |c| {
                paint.theme.dim(c)
            });
        let rows = Coloured {
            bands,
            index,
            shades: &self.shades,
            colour_index: &paint.colours.index,
            matches: paint.matches,
        };
        for x_px in 0..viewport.width_px {
            frame.column_moment[x_px as usize] = column_moment(bands, index, viewport, x_px);
        }
        let scale = scale(viewport, index);
        let height = viewport.height_px as usize;
        self.runs.clear();
        let mut columns = Columns {
            rows,
            scale,
            sweep: &mut self.sweep,
            runs: &mut self.runs,
            drawn: None,
        };
        for first_px in (0..viewport.width_px as usize).step_by(TILE) {
            let width = TILE.min(viewport.width_px as usize - first_px);
            columns.runs.keep_last();
            for x_px in first_px..first_px + width {
                columns.draw(x_px, frame.column_moment[x_px], height);
            }
            columns.runs.emit(first_px, width, frame);
        }
    }
}

struct Columns<'a> {
    rows: Coloured<'a>,
    scale: Scale,
    sweep: &'a mut Sweep,
    runs: &'a mut Runs,
    /// The moment of the previous column, and its lowest hatched pixel. `None` outside of the data.
    drawn: Option<(u32, usize)>,
}

impl Columns<'_> {
    /// Draws column `x_px`. Everything below the lowest change since the previous column is copied from that: in a training
    /// run, all weights in nearly all columns.
    fn draw(&mut self, x_px: usize, moment: u32, height: usize) {
        if moment == NONE {
            self.runs.begin(0);
            self.runs.end(height);
            self.drawn = None;
            return;
        }
        let hatched_from_px = self.drawn.map_or(0, |(_, hatched_from_px)| hatched_from_px);
        let changed_from_px = self.changed_from_px(moment);
        let from_px = changed_from_px.min(hatched_from_px).min(height);
        self.runs.begin(from_px);
        let mut painter = Column::new(&self.rows, &self.scale, self.runs, x_px, from_px);
        if from_px < height {
            painter.paint(&self.sweep.live);
        }
        self.drawn = Some((moment, painter.hatched_from_px));
        self.runs.end(height);
    }

    /// Moves the live set to `moment`. Returns the lowest pixel that may look different.
    fn changed_from_px(&mut self, moment: u32) -> usize {
        match self.drawn {
            None => self.sweep.jump(moment, &self.rows),
            Some((at, _)) if at != moment => self.sweep.advance(moment, &self.rows),
            Some(_) => {}
        }
        let live = &mut self.sweep.live;
        live.take_lowest_change().map_or(usize::MAX, |row| {
            self.scale.pixel_at(live.units_below(row, &self.rows))
        })
    }
}

/// The moment that column `x_px` shows; [`NONE`] outside the data.
fn column_moment(bands: &Bands<'_>, index: &TimelineIndex, view: &Viewport, x_px: u32) -> u32 {
    let (from, to) = (view.x_at(f64::from(x_px)), view.x_at(f64::from(x_px + 1)));
    bands
        .moments_in(from, to)
        .map_or(NONE, |moments| index.highest_in(bands, moments))
}

fn scale(viewport: &Viewport, index: &TimelineIndex) -> Scale {
    let bytes_per_unit = (1_u64 << index.unit_shift.min(63)) as f64;
    let height_px = f64::from(viewport.height_px);
    let units = (viewport.y_max_bytes - viewport.y_min_bytes) / bytes_per_unit;
    Scale {
        first_unit: viewport.y_min_bytes / bytes_per_unit,
        px_per_unit: height_px / units,
        units_per_px: units / height_px,
        height_px,
    }
}
