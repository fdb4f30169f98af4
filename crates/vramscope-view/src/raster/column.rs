//! Painting one pixel column from the live set.
//!
//! The set is walked upwards. A word or group that lies within one pixel and under half of it is added
//! from its sums; anything higher is descended into, so every band that could own a pixel is seen. Bands
//! touch without gaps, so one open pixel is all the state a column needs.

use super::live::{LiveSet, Rows, Sums};
use super::shades::{PENDING, Shades};
use super::sweep::Coloured;
use super::{BLEND, NONE};
use crate::bitset::bits;

/// From units of size to pixels above the lower edge of the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) first_unit: f64,
    pub(super) px_per_unit: f64,
    pub(super) height_px: f64,
}

impl Scale {
    /// Pixels above the lower edge; not clipped.
    #[inline]
    pub(super) fn y_px(&self, units: u64) -> f64 {
        // Sums stay below 2^63, and the signed conversion is one instruction everywhere.
        (units as i64 as f64 - self.first_unit) * self.px_per_unit
    }
}

/// One column of pixels being filled from the bottom.
pub(super) struct Column<'a> {
    shades: &'a Shades,
    /// Pixels and owners, the lowest first.
    rgba: &'a mut [u32],
    ids: &'a mut [u32],
    x_px: usize,
    height_px: f64,
    open: Open,
    /// Whether a whole pixel was hatched, which makes the column differ from its neighbours.
    pub(super) hatched: bool,
}

/// The pixel that is not complete yet.
#[derive(Clone, Copy)]
struct Open {
    pixel: usize,
    light: [f32; 3],
    coverage: f32,
    /// How many bands touch it (of a blended node: "several").
    bands: u32,
    last: u32,
    /// The first band that covers half of it.
    owner: u32,
}

impl Open {
    fn at(pixel: usize) -> Self {
        Self {
            pixel,
            light: [0.0; 3],
            coverage: 0.0,
            bands: 0,
            last: NONE,
            owner: NONE,
        }
    }
}

impl<'a> Column<'a> {
    /// Clears the column's pixels; both slices are as long as the picture is high.
    pub(super) fn new(
        shades: &'a Shades,
        rgba: &'a mut [u32],
        ids: &'a mut [u32],
        x_px: usize,
    ) -> Self {
        rgba.fill(0);
        ids.fill(NONE);
        let height_px = rgba.len() as f64;
        Self {
            shades,
            rgba,
            ids,
            x_px,
            height_px,
            open: Open::at(0),
            hatched: false,
        }
    }

    /// Paints the live set.
    pub(super) fn paint(&mut self, live: &LiveSet, rows: &Coloured<'_>, scale: &Scale) {
        let mut units = 0_u64;
        let mut y0 = scale.y_px(0);
        'groups: for (gw, &groups) in live.group_summary.iter().enumerate() {
            for g in bits(groups).map(|g| gw * 64 + g) {
                let sums = &live.group_sums[g];
                let y1 = scale.y_px(units.wrapping_add(sums.units));
                if y1 > 0.0 {
                    if y0 >= scale.height_px {
                        break 'groups;
                    }
                    let several = || live.word_summary[g].count_ones() > 1;
                    if within_a_pixel(y0, y1) && several() {
                        self.blend(sums, y0, y1);
                    } else {
                        self.paint_words(live, g, units, rows, scale);
                    }
                }
                (units, y0) = (units.wrapping_add(sums.units), y1);
            }
        }
        self.close();
    }

    /// Paints the words of group `g`, which begins `units` above the ground.
    fn paint_words(
        &mut self,
        live: &LiveSet,
        g: usize,
        mut units: u64,
        rows: &Coloured<'_>,
        scale: &Scale,
    ) {
        let mut y0 = scale.y_px(units);
        for w in bits(live.word_summary[g]).map(|w| g * 64 + w) {
            let word = live.words[w];
            let sums = &live.word_sums[w];
            let y1 = scale.y_px(units.wrapping_add(sums.units));
            if y1 > 0.0 {
                if y0 >= scale.height_px {
                    return;
                }
                if within_a_pixel(y0, y1) && word.count_ones() > 1 {
                    self.blend(sums, y0, y1);
                } else {
                    self.paint_bands(live, w, units, rows, scale);
                }
            }
            (units, y0) = (units.wrapping_add(sums.units), y1);
        }
    }

    /// Paints the bands of word `w`, which begins `units` above the ground.
    #[inline]
    fn paint_bands(
        &mut self,
        live: &LiveSet,
        w: usize,
        mut units: u64,
        rows: &Coloured<'_>,
        scale: &Scale,
    ) {
        let pending = live.pending[w];
        let mut y0 = scale.y_px(units);
        for bit in bits(live.words[w]) {
            let row = w * 64 + bit;
            units = units.wrapping_add(rows.units(row));
            let y1 = scale.y_px(units);
            if y1 > 0.0 {
                if y0 >= scale.height_px {
                    return;
                }
                let shade = rows.shade(row, pending >> bit & 1 == 1);
                self.band(row as u32, shade, y0.max(0.0), y1.min(self.height_px));
            }
            y0 = y1;
        }
    }

    /// Adds one band from `y0` to `y1`, both within the picture.
    #[inline]
    fn band(&mut self, row: u32, shade: usize, y0: f64, y1: f64) {
        let end = y1 as usize;
        if end == self.open.pixel {
            self.add(row, shade, (y1 - y0) as f32);
            return;
        }
        let mut first = y0 as usize;
        if y0 > first as f64 {
            first += 1;
            self.add(row, shade, (first as f64 - y0) as f32);
            self.close();
        }
        self.fill(row, shade, first, end);
        self.open = Open::at(end);
        if y1 > end as f64 {
            self.add(row, shade, (y1 - end as f64) as f32);
        }
    }

    /// Adds part of the open pixel.
    #[inline]
    fn add(&mut self, row: u32, shade: usize, coverage: f32) {
        let light = self.shades.light_f32(shade);
        let open = &mut self.open;
        for (sum, value) in open.light.iter_mut().zip(light) {
            *sum += value * coverage;
        }
        open.coverage += coverage;
        open.bands += 1;
        open.last = row;
        if coverage >= 0.5 && open.owner == NONE {
            open.owner = row;
        }
    }

    /// Adds several bands that lie within the open pixel, from their sums.
    fn blend(&mut self, sums: &Sums, y0: f64, y1: f64) {
        let coverage = (y1 - y0) as f32;
        let weight = coverage / sums.units as f32;
        let open = &mut self.open;
        for (sum, &light) in open.light.iter_mut().zip(&sums.light) {
            *sum += light as f32 * weight;
        }
        open.coverage += coverage;
        open.bands += 2;
    }

    /// Fills whole pixels with one band.
    #[inline]
    fn fill(&mut self, row: u32, shade: usize, first: usize, end: usize) {
        if first >= end {
            return;
        }
        self.ids[first..end].fill(row);
        if shade & PENDING == 0 {
            self.rgba[first..end].fill(self.shades.solid(shade));
            return;
        }
        self.hatched = true;
        let top = self.rgba.len() - 1;
        for (y, pixel) in self.rgba[first..end].iter_mut().enumerate() {
            *pixel = self.shades.hatched(shade, self.x_px, top - first - y);
        }
    }

    /// Writes the open pixel.
    fn close(&mut self) {
        let open = self.open;
        if open.bands == 0 {
            return;
        }
        if let (Some(pixel), Some(id)) =
            (self.rgba.get_mut(open.pixel), self.ids.get_mut(open.pixel))
        {
            *pixel = self.shades.blended(open.light, open.coverage);
            *id = match (open.owner, open.bands) {
                (NONE, 1) => open.last,
                (NONE, _) => BLEND,
                (owner, _) => owner,
            };
        }
    }
}

/// Whether a node may be painted from its sums: within one pixel, and too low for any band of it to own
/// that pixel.
#[inline]
fn within_a_pixel(y0: f64, y1: f64) -> bool {
    y0 >= 0.0 && y1 - y0 < 0.5 && y0 as usize == y1 as usize
}
