//! Colours of the data: a ring of hues of equal lightness and chroma.
//!
//! A call site's colour comes from a hash of its text, never from ids, so the same code has the
//! same colour in every view, file and run. Hues are equally spaced in OKLCH and turned so that no
//! two coincide for the common kinds of colour blindness. Small steps of lightness tell neighbours
//! of one colour apart.

mod spaces;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::peak_roles::PeakRoles;

pub(crate) use self::spaces::linear12;
pub use self::spaces::{Rgb, linear, oklch, srgb8};
use crate::theme::Theme;

/// Hues on the ring.
pub const HUES: usize = 8;
/// OKLCH chroma of the ring.
const CHROMA: f64 = 0.125;
/// The first hue of the ring, in degrees; chosen by the test on colour blindness.
const FIRST_HUE: f64 = 33.0;
/// Offsets from the theme's lightness; a call site's hash chooses one.
const TIERS: [f64; 4] = [0.0, -0.07, 0.06, -0.13];
/// Neighbours of one colour are alternately this much lighter and darker.
const STEP: f64 = 0.018;
/// Number of colours of a scale.
const SCALE: usize = 64;

/// What an allocation's colour stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColourMode {
    /// The code that allocated it.
    #[default]
    CallSite,
    /// The operator that made it.
    Operator,
    /// Its size.
    Size,
    /// The stream it was allocated on.
    Stream,
    /// The memory pool it comes from.
    Pool,
    /// The profiler's category.
    Category,
    /// What it is for, as inferred.
    Role,
    /// The moment of its allocation.
    Age,
}

impl ColourMode {
    /// What the colours of a device's pictures mean unless the user chooses: roles, if those of most of its peak are
    /// known. Segments have none.
    #[must_use]
    pub fn usual(device: Device<'_>) -> Self {
        if PeakRoles::of(device).tells_most() {
            Self::Role
        } else {
            Self::CallSite
        }
    }

    /// The word in a legend's title.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::CallSite => "call site",
            Self::Operator => "operator",
            Self::Size => "size",
            Self::Stream => "stream",
            Self::Pool => "pool",
            Self::Category => "category",
            Self::Role => "role (inferred)",
            Self::Age => "age",
        }
    }
}

/// A colour for each allocation, as an index into a palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColourColumn {
    /// At most 256 colours.
    pub palette: Vec<Rgb>,
    /// Per allocation, the index of its colour in the palette.
    pub index: Vec<u8>,
}

impl ColourColumn {
    /// Colours by the stable hash of a text (see [`stable_hash`]); `None` has the colour of
    /// unknown.
    #[must_use]
    pub fn by_hash(theme: &Theme, hashes: impl IntoIterator<Item = Option<u64>>) -> Self {
        // Whether a colour was used an odd number of times decides between its two steps.
        let mut used = [0_u8; HUES * TIERS.len() + 1];
        let index = hashes
            .into_iter()
            .map(|hash| {
                let entry = hash.map_or(HUES * TIERS.len(), ring_entry);
                used[entry] ^= 1;
                (entry * 2) as u8 + used[entry]
            })
            .collect();
        Self {
            palette: ring_palette(theme),
            index,
        }
    }

    /// Colours by a small number (stream, pool, category: 0, 1, 2, …); close numbers have distant
    /// colours, and `None` has the colour of unknown.
    #[must_use]
    pub fn by_ordinal(theme: &Theme, ordinals: impl IntoIterator<Item = Option<u32>>) -> Self {
        let mut used = [0_u8; HUES * TIERS.len() + 1];
        let index = ordinals
            .into_iter()
            .map(|ordinal| {
                let entry = ordinal.map_or(HUES * TIERS.len(), ordinal_entry);
                used[entry] ^= 1;
                (entry * 2) as u8 + used[entry]
            })
            .collect();
        Self {
            palette: ring_palette(theme),
            index,
        }
    }

    /// Colours by size on a logarithmic scale from 512 bytes to 16 GiB.
    #[must_use]
    pub fn by_size(theme: &Theme, sizes_bytes: &[u64]) -> Self {
        let place = |bytes: u64| ((bytes.max(1) as f64).log2() - 9.0) / 25.0;
        let index = sizes_bytes
            .iter()
            .map(|&bytes| scale_entry(place(bytes)))
            .collect();
        Self {
            palette: scale_palette(theme),
            index,
        }
    }

    /// Colours by the moment of allocation, on a scale over `moments`.
    #[must_use]
    pub fn by_age(theme: &Theme, born: &[u32], moments: usize) -> Self {
        let last = moments.saturating_sub(1).max(1) as f64;
        let index = born
            .iter()
            .map(|&moment| scale_entry(f64::from(moment) / last))
            .collect();
        Self {
            palette: scale_palette(theme),
            index,
        }
    }

    /// The colour of allocation `row`.
    #[must_use]
    pub fn rgb(&self, row: usize) -> Rgb {
        let entry = self.index.get(row).copied().unwrap_or(0);
        self.palette
            .get(usize::from(entry))
            .copied()
            .unwrap_or([128; 3])
    }
}

/// The ring's colour of a text's hash, without the step that tells neighbours apart; for legends,
/// flame graphs and tables. `None` has the colour of unknown.
#[must_use]
pub fn site_colour(theme: &Theme, hash: Option<u64>) -> Rgb {
    match hash {
        Some(hash) => ring_colour(theme, ring_entry(hash), 0.0),
        None => theme.unknown,
    }
}

/// The ring's colour of a small number, without the step that tells neighbours apart.
#[must_use]
pub fn ordinal_colour(theme: &Theme, ordinal: u32) -> Rgb {
    ring_colour(theme, ordinal_entry(ordinal), 0.0)
}

/// A hash of `text` that is the same in every version, build and run: FNV-1a with a final mix.
#[must_use]
pub fn stable_hash(text: &str) -> u64 {
    stable_hash_of([text])
}

/// [`stable_hash`] of the parts, each followed by a zero byte.
#[must_use]
pub fn stable_hash_of<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for &byte in part.as_bytes().iter().chain(&[0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // FNV's low bits are weak and the ring is small.
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ hash >> 32
}

fn ring_entry(hash: u64) -> usize {
    (hash % (HUES * TIERS.len()) as u64) as usize
}

/// Close numbers are three hues apart. All hues are used, because 3 and 8 have no common factor.
fn ordinal_entry(ordinal: u32) -> usize {
    let (hue, tier) = (
        ordinal as usize * 3 % HUES,
        ordinal as usize / HUES % TIERS.len(),
    );
    tier * HUES + hue
}

/// The colour of a ring entry: hue by the remainder, tier by the quotient.
fn ring_colour(theme: &Theme, entry: usize, step: f64) -> Rgb {
    let hue = FIRST_HUE + (entry % HUES) as f64 * 360.0 / HUES as f64;
    oklch(
        theme.ring_lightness + TIERS[entry / HUES % TIERS.len()] + step,
        CHROMA,
        hue,
    )
}

/// All ring colours in their two steps, then the two of unknown.
fn ring_palette(theme: &Theme) -> Vec<Rgb> {
    let mut palette = Vec::with_capacity((HUES * TIERS.len() + 1) * 2);
    for entry in 0..HUES * TIERS.len() {
        palette.push(ring_colour(theme, entry, -STEP));
        palette.push(ring_colour(theme, entry, STEP));
    }
    palette.push(theme.unknown);
    palette.push(theme.unknown.map(|v| v.saturating_add(10)));
    palette
}

/// From blue over green to yellow with growing lightness, so it can be read in grey and by the
/// colour-blind.
fn scale_palette(theme: &Theme) -> Vec<Rgb> {
    let from = theme.ring_lightness - 0.26;
    (0..SCALE)
        .map(|i| {
            let t = i as f64 / (SCALE - 1) as f64;
            oklch(from + 0.46 * t, 0.11 + 0.03 * t, 285.0 - 190.0 * t)
        })
        .collect()
}

fn scale_entry(place: f64) -> u8 {
    // The cast saturates and takes NaN to 0.
    (place.clamp(0.0, 1.0) * (SCALE - 1) as f64 + 0.5) as u8
}

#[cfg(test)]
#[path = "colour_tests.rs"]
mod tests;
