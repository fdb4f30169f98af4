//! Paints one pixel column from the live set.
//!
//! The set is visited from the bottom up. A word or group that lies within one pixel and is lower than half of it is added
//! from its sums. A word of thin bands, none of which could own a pixel, is cut at the edges of pixels, which takes the sums
//! of its cells and the bands of one cell per edge. Others are visited band by band, so every band that could own a pixel is
//! considered. Bands have no gaps, so the only state of a column is its one unfinished pixel. As long as bands certainly end
//! below that pixel's upper edge, adding one takes an integer comparison and a sum.

use super::live::{LiveSet, Rows, Sums};
use super::runs::Runs;
use super::shades::{DIMMED, PENDING};
use super::sweep::Coloured;
use super::{BLEND, NONE};
use crate::bitset::bits;
use std::ops::ControlFlow;

/// From this height of a pixel on, an error of one unit changes no colour.
const LEAST_UNITS_PER_PX: f64 = 65_536.0;

/// The mapping from units of size to pixels above the picture's lower edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) first_unit: f64,
    pub(super) px_per_unit: f64,
    /// The inverse of `px_per_unit`, stored because it is needed for every pixel.
    pub(super) units_per_px: f64,
    pub(super) height_px: f64,
}

impl Scale {
    /// A height in units below which bands certainly end within `pixel` or lower; slightly less than exact.
    #[inline]
    fn edge_units(&self, pixel: usize) -> u64 {
        // A margin of two units far exceeds all rounding errors. The cast saturates.
        let upper = f64::from(pixel as i32 + 1) * self.units_per_px + self.first_unit;
        (upper - 2.0).max(0.0) as i64 as u64
    }

    /// The pixel that contains a height, clipped to the picture's edges.
    pub(super) fn pixel_at(&self, units: u64) -> usize {
        floor(self.y_px(units).clamp(0.0, self.height_px))
    }

    /// A height in units that is certainly less than half a pixel.
    fn less_than_half_units(&self) -> u64 {
        (0.49 * self.units_per_px) as u64
    }

    /// Pixels above the lower edge; not clipped.
    #[inline]
    pub(super) fn y_px(&self, units: u64) -> f64 {
        // Sums stay below 2^63, and the signed conversion is one instruction everywhere.
        (units as i64 as f64 - self.first_unit) * self.px_per_unit
    }
}

/// One column of pixels, filled from the bottom up.
pub(super) struct Column<'a> {
    rows: &'a Coloured<'a>,
    scale: &'a Scale,
    /// Pixels and owners from the bottom up.
    runs: &'a mut Runs,
    x_px: usize,
    /// The first pixel to paint; those below are the same as in the previous column.
    from_px: f64,
    open: Open,
    /// Sums of light and height of everything added from sums. Not in `open`, which is copied for every word.
    nodes: [u64; 4],
    less_than_half_units: u64,
    /// The pixels below this are covered up to their upper edge; 0 if pixels have so few units that their edges cannot be
    /// rounded to units.
    covered_px: usize,
    /// The lowest pixel that is hatched completely: the hatch depends on x, so neighbours cannot copy it. [`usize::MAX`] if
    /// there is none.
    pub(super) hatched_from_px: usize,
}

#[derive(Clone, Copy)]
struct Open {
    pixel: usize,
    /// Bands that end below this height lie within the pixel; 0 until it contains any.
    edge_units: u64,
    /// Sums of light × coverage, and of coverage.
    light: [f32; 4],
    /// Number of bands that touch the pixel; several added together count as two.
    bands: u32,
    last: u32,
    /// The first band that covers half of it.
    owner: u32,
}

impl Open {
    fn at(pixel: usize, edge_units: u64) -> Self {
        Self {
            pixel,
            edge_units,
            light: [0.0; 4],
            bands: 0,
            last: NONE,
            owner: NONE,
        }
    }

    #[inline]
    fn add(&mut self, row: u32, light: [f32; 4], coverage: f32) {
        for (sum, value) in self.light.iter_mut().zip(light) {
            *sum += value * coverage;
        }
        self.bands += 1;
        self.last = row;
    }
}

/// Whether to continue upwards or stop, because the picture's upper edge is reached.
type Walk = ControlFlow<()>;

impl<'a> Column<'a> {
    /// Starts a column whose pixels below `from_px` equal those of the previous column.
    pub(super) fn new(
        rows: &'a Coloured<'a>,
        scale: &'a Scale,
        runs: &'a mut Runs,
        x_px: usize,
        from_px: usize,
    ) -> Self {
        let less_than_half_units = scale.less_than_half_units();
        let open = Open::at(from_px, 0);
        Self {
            rows,
            scale,
            runs,
            x_px,
            from_px: f64::from(from_px as i32),
            open,
            nodes: [0; 4],
            less_than_half_units,
            covered_px: 0,
            hatched_from_px: usize::MAX,
        }
    }

    pub(super) fn paint(&mut self, live: &LiveSet) {
        if self.scale.units_per_px >= LEAST_UNITS_PER_PX {
            self.covered_px = floor(self.scale.y_px(live.units()));
        }
        // It stops above the picture or at the end of the set; both are the end of the column.
        let _ = self.paint_groups(live);
        self.close();
    }

    fn paint_groups(&mut self, live: &LiveSet) -> Walk {
        let mut units = 0_u64;
        for (gw, &groups) in live.group_summary.iter().enumerate() {
            for g in bits(groups).map(|g| gw * 64 + g) {
                let sums = &live.group_sums[g];
                let end = units.wrapping_add(sums.units);
                let words = live.word_summary[g];
                if !(has_several(words) && self.node(sums, units, end)?) {
                    self.paint_words(live, g, units)?;
                }
                units = end;
            }
        }
        Walk::Continue(())
    }

    /// Paints the words of group `g`, whose lower edge is at `units`.
    fn paint_words(&mut self, live: &LiveSet, g: usize, mut units: u64) -> Walk {
        for w in bits(live.word_summary[g]).map(|w| g * 64 + w) {
            let sums = &live.word_sums[w];
            let end = units.wrapping_add(sums.units);
            let members = live.words[w];
            let together =
                has_several(members) && (self.node(sums, units, end)? || self.cut(live, w, units));
            if !together {
                self.paint_bands(live, w, units)?;
            }
            units = end;
        }
        Walk::Continue(())
    }

    /// Paints word `w`, whose lower edge is at `units`, if no band in it can own a pixel: then only its light below the
    /// edges of pixels matters, and the part above an edge is the word minus the part below. Returns whether it did.
    #[inline]
    fn cut(&mut self, live: &LiveSet, w: usize, units: u64) -> bool {
        let thin = live.cells(w).highest_units < self.less_than_half_units;
        if !thin || self.open.bands == 0 {
            return false;
        }
        let sums = &live.word_sums[w];
        let end = self.scale.y_px(units.wrapping_add(sums.units));
        let last = floor(end.min(self.scale.height_px));
        // Pixels that are not covered up to their upper edge may contain a band alone.
        if last >= self.covered_px {
            return false;
        }
        while self.open.pixel < last {
            let next = self.open.pixel + 1;
            let edge = f64::from(next as i32) * self.scale.units_per_px + self.scale.first_unit;
            // Rounding may put an edge a unit below the word.
            let below = (edge as i64 as u64).saturating_sub(units);
            let (nodes, light) = self.below(live, w, below);
            for c in 0..4 {
                self.nodes[c] = self.nodes[c].wrapping_add(nodes[c]);
                self.open.light[c] += light[c];
            }
            self.open.bands += 1;
            self.close();
            self.begin(next);
            self.open.bands = 1;
            self.nodes = nodes.map(u64::wrapping_neg);
            self.open.light = light.map(|light| -light);
        }
        self.blend(sums);
        true
    }

    /// Light and height of the lowest `units` of word `w`: those of whole cells, and of bands in one more cell. The search
    /// is branchless, because branches would be mispredicted.
    #[inline]
    fn below(&self, live: &LiveSet, w: usize, units: u64) -> ([u64; 4], [f32; 4]) {
        let mut nodes = [0_u64; 4];
        let (mut end, mut cell) = (0_u64, 0);
        for sums in &live.cells(w).sums[..7] {
            end = end.wrapping_add(sums.units);
            let is_below = u64::from(end <= units);
            let [r, g, b] = sums.light;
            for (sum, value) in nodes.iter_mut().zip([r, g, b, sums.units]) {
                *sum = sum.wrapping_add(value & is_below.wrapping_neg());
            }
            cell += is_below;
        }
        let mut left = units.wrapping_sub(nodes[3]);
        let mut light = [0.0; 4];
        let px_per_unit = self.scale.px_per_unit as f32;
        let (pending, dimmed) = (live.pending[w], self.rows.dimmed_word(w));
        for bit in bits(live.words[w] & 0xff << (cell * 8)) {
            let row = w * 64 + bit;
            let height = self.rows.units(row).min(left);
            left -= height;
            let shade = self.rows.entry(row) + state(dimmed, pending, bit);
            let coverage = height as i64 as f32 * px_per_unit;
            for (sum, value) in light.iter_mut().zip(self.rows.shades.light_f32(shade)) {
                *sum += value * coverage;
            }
        }
        (nodes, light)
    }

    /// Handles the bands of a node together if possible. Returns whether it did.
    #[inline]
    fn node(&mut self, sums: &Sums, units: u64, end: u64) -> ControlFlow<(), bool> {
        if end < self.open.edge_units && sums.units < self.less_than_half_units {
            self.blend(sums);
            return ControlFlow::Continue(true);
        }
        let (y0, y1) = (self.scale.y_px(units), self.scale.y_px(end));
        if y1 <= self.from_px {
            return ControlFlow::Continue(true);
        }
        if y0 >= self.scale.height_px {
            return ControlFlow::Break(());
        }
        let whole = y0 >= self.from_px && y1 - y0 < 0.5 && floor(y0) == floor(y1);
        if whole {
            self.blend(sums);
        }
        ControlFlow::Continue(whole)
    }

    /// Paints the bands of word `w`, whose lower edge is at `units`.
    #[inline]
    fn paint_bands(&mut self, live: &LiveSet, w: usize, mut units: u64) -> Walk {
        let px_per_unit = self.scale.px_per_unit as f32;
        let (pending, dimmed) = (live.pending[w], self.rows.dimmed_word(w));
        // A local copy, so that the sums stay in registers.
        let mut open = self.open;
        for bit in bits(live.words[w]) {
            let row = w * 64 + bit;
            let height = self.rows.units(row);
            let end = units.wrapping_add(height);
            let shade = self.rows.entry(row) + state(dimmed, pending, bit);
            if end < open.edge_units && height < self.less_than_half_units {
                let light = self.rows.shades.light_f32(shade);
                open.add(row as u32, light, height as i64 as f32 * px_per_unit);
            } else {
                self.open = open;
                self.cross(row as u32, shade, units, end)?;
                open = self.open;
            }
            units = end;
        }
        self.open = open;
        Walk::Continue(())
    }

    /// Adds a band from `units` to `end` that may exceed the open pixel or the picture.
    #[inline]
    fn cross(&mut self, row: u32, shade: usize, units: u64, end: u64) -> Walk {
        let (y0, y1) = (self.scale.y_px(units), self.scale.y_px(end));
        if y0 >= self.scale.height_px {
            return Walk::Break(());
        }
        if y1 > self.from_px {
            self.band(
                row,
                shade,
                y0.max(self.from_px),
                y1.min(self.scale.height_px),
            );
        }
        Walk::Continue(())
    }

    /// Adds one band from `y0` to `y1`, both within the picture.
    #[inline]
    fn band(&mut self, row: u32, shade: usize, y0: f64, y1: f64) {
        let end = floor(y1);
        if end == self.open.pixel {
            self.add(row, shade, (y1 - y0) as f32);
            self.open.edge_units = self.scale.edge_units(end);
            return;
        }
        let mut first = floor(y0);
        if y0 > f64::from(first as i32) {
            first += 1;
            self.add(row, shade, (f64::from(first as i32) - y0) as f32);
            self.close();
        }
        self.fill(row, shade, first, end);
        self.begin(end);
        if y1 > f64::from(end as i32) {
            self.add(row, shade, (y1 - f64::from(end as i32)) as f32);
        }
    }

    #[inline]
    fn add(&mut self, row: u32, shade: usize, coverage: f32) {
        self.open
            .add(row, self.rows.shades.light_f32(shade), coverage);
        if coverage >= 0.5 && self.open.owner == NONE {
            self.open.owner = row;
        }
    }

    /// Adds several bands that lie within the open pixel, from their sums.
    #[inline]
    fn blend(&mut self, sums: &Sums) {
        let [r, g, b] = sums.light;
        for (sum, value) in self.nodes.iter_mut().zip([r, g, b, sums.units]) {
            *sum = sum.wrapping_add(value);
        }
        self.open.bands += 2;
    }

    #[inline]
    fn fill(&mut self, row: u32, shade: usize, first: usize, end: usize) {
        if first >= end {
            return;
        }
        self.leave_empty(first);
        if shade & PENDING == 0 {
            self.runs.fill(end, self.rows.shades.solid(shade), row);
            return;
        }
        self.hatched_from_px = self.hatched_from_px.min(first);
        let top = self.scale.height_px as usize - 1;
        for y_px in first..end {
            let rgba = self.rows.shades.hatched(shade, self.x_px, top - y_px);
            self.runs.fill(y_px + 1, rgba, row);
        }
    }

    /// Leaves pixels empty, below the first band, if the picture begins below 0.
    #[inline]
    fn leave_empty(&mut self, end: usize) {
        self.runs.fill(end, 0, NONE);
    }

    /// Opens an empty pixel.
    #[inline]
    fn begin(&mut self, pixel: usize) {
        self.open = Open::at(pixel, self.scale.edge_units(pixel));
        self.nodes = [0; 4];
    }

    #[inline]
    fn close(&mut self) {
        let mut open = self.open;
        if open.bands == 0 {
            return;
        }
        if self.nodes[3] != 0 {
            let px_per_unit = self.scale.px_per_unit as f32;
            for (sum, value) in open.light.iter_mut().zip(self.nodes) {
                *sum += value as i64 as f32 * px_per_unit;
            }
        }
        let id = match (open.owner, open.bands) {
            (NONE, 1) => open.last,
            (NONE, _) => BLEND,
            (owner, _) => owner,
        };
        if open.pixel < self.scale.height_px as usize {
            self.leave_empty(open.pixel);
            let rgba = self.rows.shades.blended(open.light);
            self.runs.fill(open.pixel + 1, rgba, id);
        }
    }
}

/// The pixel that contains a height within the picture. Converting to `i32` takes one or two
/// instructions, to `usize` many.
#[inline]
fn floor(y_px: f64) -> usize {
    (y_px as i32).max(0) as usize
}

/// Whether more than one bit is set; cheaper than counting bits on processors without an
/// instruction for it.
#[inline]
fn has_several(word: u64) -> bool {
    word & word.wrapping_sub(1) != 0
}

/// The offset of a row's state in the shades, from its bits in the words of dimmed and pending rows.
#[inline]
fn state(dimmed: u64, pending: u64, bit: usize) -> usize {
    (dimmed >> bit & 1) as usize * DIMMED + (pending >> bit & 1) as usize * PENDING
}
