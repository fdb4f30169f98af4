//! The colours of one frame, worked out for each palette entry in its four states.
//!
//! A band is plain or pending free, and lit or dimmed by the filter. Blending happens in linear light
//! (12 bits a channel, so that size-weighted sums stay exact integers), whole pixels are copied as sRGB.

use crate::colour::{Rgb, linear12, srgb8};

/// Linear light of red, green and blue, each `0..=4095`.
pub(super) type Linear = [u16; 3];

/// Palette entries: what a `u8` can name.
const ENTRIES: usize = 256;
/// Added to a palette entry: the band does not match the filter.
pub(super) const DIMMED: usize = ENTRIES;
/// Added to a palette entry: the band is pending free.
pub(super) const PENDING: usize = 2 * ENTRIES;

/// Every palette entry × {lit, dimmed} × {plain, pending free}.
#[derive(Clone, Debug, Default)]
pub(super) struct Shades {
    light: Vec<Linear>,
    light_f32: Vec<[f32; 3]>,
    solid: Vec<u32>,
    /// The hatch's stripes on lit and dimmed bands.
    stripe: [u32; 2],
    srgb_of_linear: Vec<u8>,
}

impl Shades {
    /// Works the shades out anew; `dim` turns a colour into its dimmed form.
    pub(super) fn fill(&mut self, palette: &[Rgb], hatch: Rgb, dim: impl Fn(Rgb) -> Rgb) {
        self.light.clear();
        self.solid.clear();
        if self.srgb_of_linear.is_empty() {
            self.srgb_of_linear = (0..4096)
                .map(|value| srgb8(value as f32 / 4095.0))
                .collect();
        }
        self.stripe = [opaque(hatch), opaque(dim(hatch))];
        let missing = palette.last().copied().unwrap_or([128; 3]);
        for state in 0..4 {
            let (dimmed, pending) = (state & 1 == 1, state & 2 == 2);
            for entry in 0..ENTRIES {
                let plain = palette.get(entry).copied().unwrap_or(missing);
                let (plain, hatch) = if dimmed {
                    (dim(plain), dim(hatch))
                } else {
                    (plain, hatch)
                };
                self.solid.push(opaque(plain));
                let light: Linear = std::array::from_fn(|c| {
                    let (plain, hatch) = (linear12(plain[c]), linear12(hatch[c]));
                    // As much amber as the hatch has: two of five pixels.
                    if pending {
                        (3 * plain + 2 * hatch) / 5
                    } else {
                        plain
                    }
                });
                self.light.push(light);
            }
        }
        self.light_f32.clear();
        self.light_f32
            .extend(self.light.iter().map(|light| light.map(f32::from)));
    }

    /// Linear light of a shade.
    #[inline]
    pub(super) fn light(&self, shade: usize) -> Linear {
        self.light[shade]
    }

    /// Linear light of a shade, `0.0..=4095.0`.
    #[inline]
    pub(super) fn light_f32(&self, shade: usize) -> [f32; 3] {
        self.light_f32[shade]
    }

    /// A shade as one opaque pixel, without the hatch.
    #[inline]
    pub(super) fn solid(&self, shade: usize) -> u32 {
        self.solid[shade]
    }

    /// A pixel of a band that is pending free, at device pixel (`x_px`, `y_px`): diagonal stripes, two
    /// pixels in five, fixed to the canvas so that neighbouring columns and bands join up.
    #[inline]
    pub(super) fn hatched(&self, shade: usize, x_px: usize, y_px: usize) -> u32 {
        if (x_px + y_px) % 5 < 2 {
            self.stripe[usize::from(shade & DIMMED != 0)]
        } else {
            self.solid[shade]
        }
    }

    /// A pixel of which `coverage` (0 to 1) is covered, by bands whose light × coverage sums to `light`.
    #[inline]
    pub(super) fn blended(&self, light: [f32; 3], coverage: f32) -> u32 {
        if coverage <= 0.0 {
            return 0;
        }
        // Truncating casts saturate, so rounding errors cannot leave the table.
        let channel =
            |sum: f32| u32::from(self.srgb_of_linear[((sum / coverage + 0.5) as usize).min(4095)]);
        let alpha = (coverage.min(1.0) * 255.0 + 0.5) as u32;
        channel(light[0]) | channel(light[1]) << 8 | channel(light[2]) << 16 | alpha << 24
    }
}

/// A pixel as the four bytes R, G, B, A in memory order (little endian).
fn opaque(rgb: Rgb) -> u32 {
    u32::from_le_bytes([rgb[0], rgb[1], rgb[2], 255])
}
