//! The colours of one frame: each palette entry in its four states.
//!
//! A band is plain or pending free, and normal or dimmed by the filter. Blending uses linear light
//! (12 bits per channel, so that size-weighted sums stay exact integers); whole pixels are copied
//! as sRGB.

use std::sync::LazyLock;

use crate::colour::{Rgb, linear12, srgb8};

/// The sRGB channel of linear light in 12 bits. A table, because each picture has shades and powers are slow.
static SRGB_OF_LINEAR: LazyLock<[u8; 4096]> =
    LazyLock::new(|| std::array::from_fn(|v| srgb8(v as f32 / 4095.0)));

/// Linear light of red, green and blue, each `0..=4095`.
pub(crate) type Linear = [u16; 3];

/// Number of palette entries: all that a `u8` can index.
const ENTRIES: usize = 256;
/// Added to a palette entry if the band does not match the filter.
pub(crate) const DIMMED: usize = ENTRIES;
/// Added to a palette entry if the band is pending free.
pub(crate) const PENDING: usize = 2 * ENTRIES;
const SHADES: usize = 4 * ENTRIES;

/// The shades of a palette: every entry × {normal, dimmed} × {plain, pending free}.
#[derive(Clone, Debug)]
pub(crate) struct Shades {
    // Arrays, not vectors: a masked index needs no bounds check.
    light: Box<[Linear; SHADES]>,
    /// Like `light`, with a fourth value of 1, so that one sum has light and coverage.
    light_f32: Box<[[f32; 4]; SHADES]>,
    solid: Box<[u32; SHADES]>,
    /// The hatch's stripes on normal and dimmed bands.
    stripe: [u32; 2],
    srgb_of_linear: &'static [u8; 4096],
}

impl Default for Shades {
    fn default() -> Self {
        Self {
            light: Box::new([[0; 3]; SHADES]),
            light_f32: Box::new([[0.0; 4]; SHADES]),
            solid: Box::new([0; SHADES]),
            stripe: [0; 2],
            srgb_of_linear: &SRGB_OF_LINEAR,
        }
    }
}

impl Shades {
    /// Computes the shades; `dim` turns a colour into its dimmed form.
    pub(crate) fn fill(&mut self, palette: &[Rgb], hatch: Rgb, dim: impl Fn(Rgb) -> Rgb) {
        self.stripe = [opaque(hatch), opaque(dim(hatch))];
        let missing = palette.last().copied().unwrap_or([128; 3]);
        for shade in 0..SHADES {
            let plain = palette.get(shade % ENTRIES).copied().unwrap_or(missing);
            let dimmed = shade & DIMMED != 0;
            let (plain, hatch) = if dimmed {
                (dim(plain), dim(hatch))
            } else {
                (plain, hatch)
            };
            self.solid[shade] = opaque(plain);
            self.light[shade] = std::array::from_fn(|c| {
                let (plain, hatch) = (linear12(plain[c]), linear12(hatch[c]));
                // The average colour of the hatch, which colours two of six pixels amber and
                // darkens one.
                if shade & PENDING == 0 {
                    plain
                } else {
                    (3 * plain + 2 * hatch) / 5
                }
            });
            let [r, g, b] = self.light[shade].map(f32::from);
            self.light_f32[shade] = [r, g, b, 1.0];
        }
    }

    #[inline]
    pub(crate) fn light(&self, shade: usize) -> Linear {
        self.light[shade % SHADES]
    }

    /// Linear light of a shade, `0.0..=4095.0`, and a coverage of 1.
    #[inline]
    pub(crate) fn light_f32(&self, shade: usize) -> [f32; 4] {
        self.light_f32[shade % SHADES]
    }

    /// A shade as an opaque pixel, without the hatch.
    #[inline]
    pub(crate) fn solid(&self, shade: usize) -> u32 {
        self.solid[shade]
    }

    /// A pixel of a pending free at device px (`x_px`, `y_px`): diagonal stripes of two amber pixels and a dark one in six,
    /// visible on every colour including amber. The stripes are fixed to the canvas, so they continue across neighbouring
    /// columns and bands.
    #[inline]
    pub(crate) fn hatched(&self, shade: usize, x_px: usize, y_px: usize) -> u32 {
        let plain = self.solid(shade);
        match (x_px + y_px) % 6 {
            0 | 1 => self.stripe[usize::from(shade & DIMMED != 0)],
            2 => {
                let [r, g, b, _] = plain.to_le_bytes();
                opaque(shadow([r, g, b]))
            }
            _ => plain,
        }
    }

    /// A pixel from the sums of light × coverage, and of coverage.
    #[inline]
    pub(crate) fn blended(&self, [r, g, b, coverage]: [f32; 4]) -> u32 {
        if coverage <= 0.0 {
            return 0;
        }
        // Nearly all pixels are fully covered, and a division costs as much as several bands.
        let whole = (coverage - 1.0).abs() < 1e-4;
        let scale = if whole { 1.0 } else { coverage.recip() };
        // Adding 2^23 leaves the rounded number in the low bits. This takes one instruction, where
        // a cast takes six. The mask keeps the index within the table if a caller's totals are
        // wrong.
        let rounded = |value: f32| (value + 8_388_608.0).to_bits();
        let channel =
            |sum: f32| u32::from(self.srgb_of_linear[(rounded(sum * scale) & 4095) as usize]);
        let alpha = rounded(coverage.min(1.0) * 255.0) & 255;
        channel(r) | channel(g) << 8 | channel(b) << 16 | alpha << 24
    }
}

/// An opaque pixel as the four bytes R, G, B, A in memory order (little endian).
pub(crate) fn opaque(rgb: Rgb) -> u32 {
    u32::from_le_bytes([rgb[0], rgb[1], rgb[2], 255])
}

/// The dark edge of a stripe, or of a block, of this colour.
pub(crate) fn shadow(rgb: Rgb) -> Rgb {
    rgb.map(|channel| channel / 8 * 5)
}
