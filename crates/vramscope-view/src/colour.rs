//! Colours of the data: a few distinct ones for the most important groups, and a ring of paler hues for the rest.
//!
//! Roles have the distinct colours in a fixed order. The largest call sites and operators have distinct colours too
//! ([`Leaders`]), and the others a hue of the ring. A text's colour is derived from its hash, never from ids, so the same
//! code has the same colour in every view and in most files. Small steps of lightness separate neighbours of the same
//! colour.

mod leaders;

use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::analysis::roles::Role;

pub use self::leaders::Leaders;
pub use crate::colour_spaces::{Rgb, linear, oklch, srgb8};
pub(crate) use crate::colour_spaces::{linear12, sin_cos};
use crate::theme::Theme;

/// The distinct colours: offset from the theme's lightness, OKLCH chroma, and hue in degrees. A search placed them as far
/// as possible from each other and from grey, for people with and without each kind of colour blindness. They are in the
/// order of [`Role::ALL`], so that roles often shown side by side differ most.
const DISTINCT: [(f64, f64, f64); 9] = [
    // Parameters blue, gradients green, optimizer state purple, activations amber.
    (-0.021, 0.135, 269.0),
    (-0.113, 0.135, 159.0),
    (-0.127, 0.158, 315.0),
    (0.099, 0.151, 67.0),
    // KV cache lilac, inputs light green, communication olive, workspaces rust, temporaries pink.
    (0.100, 0.150, 316.0),
    (0.122, 0.170, 159.0),
    (-0.025, 0.144, 108.0),
    (-0.134, 0.163, 44.0),
    (-0.021, 0.156, 355.0),
];
const HUES: usize = 8;
/// OKLCH chroma of the ring.
const CHROMA: f64 = 0.08;
/// The first hue of the ring, in degrees; chosen with the test on colour blindness.
const FIRST_HUE: f64 = 33.0;
/// Offsets of the ring from the theme's lightness; a text's hash chooses one.
const TIERS: [f64; 4] = [0.0, -0.07, 0.06, -0.13];
/// The palette index of the colour for unknown, after the distinct colours and the ring.
const UNKNOWN: usize = DISTINCT.len() + HUES * TIERS.len();
/// Neighbours of the same colour are alternately this much lighter and darker.
const STEP: f64 = 0.018;
/// Number of colours of a scale.
const SCALE: usize = 64;

/// The default meaning of colours in a device's pictures: roles, if those of most of its peak are known; else the code, or
/// sizes if the file has no stacks.
#[must_use]
pub fn usual(device: Device<'_>) -> Property {
    if PeakRoles::of(device).tells_most() {
        Property::Role
    } else if device.call_sites().sites().len() > 1 {
        Property::CallSite
    } else {
        Property::Size
    }
}

/// The default for its segments, which have no roles: the code that requested them, or sizes if none has a stack.
#[must_use]
pub fn usual_of_segments(device: Device<'_>) -> Property {
    let (snapshot, history, segments) = (device.snapshot(), device.history, device.segments());
    let has_stack = |piece| segments.stack(snapshot, history, piece).has_frames();
    if (0..segments.len()).any(has_stack) {
        Property::CallSite
    } else {
        Property::Size
    }
}

/// A colour for each allocation, as an index into a palette.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColourColumn {
    /// At most 256 colours.
    pub palette: Vec<Rgb>,
    /// Index of each allocation's colour in the palette.
    pub index: Vec<u8>,
}

impl ColourColumn {
    /// The colour of a row.
    #[must_use]
    pub fn of(&self, row: usize) -> Rgb {
        let entry = self.index.get(row).copied().unwrap_or(0);
        self.palette
            .get(usize::from(entry))
            .copied()
            .unwrap_or_default()
    }

    /// Colours by text. `row_of`: for each allocation, the row of its text in the hashes; `None` there means the colour of
    /// unknown.
    #[must_use]
    pub fn by_text(
        theme: &Theme,
        leaders: &Leaders,
        hashes: &[Option<u64>],
        row_of: impl IntoIterator<Item = u32>,
    ) -> Self {
        let entry = |hash: &Option<u64>| hash.map_or(UNKNOWN, |hash| leaders.entry(hash));
        let entries: Vec<usize> = hashes.iter().map(entry).collect();
        let entry = |row: u32| entries.get(row as usize).copied().unwrap_or(UNKNOWN);
        Self::of_entries(theme, row_of.into_iter().map(entry))
    }

    /// Colours by the stable hash of a text (see [`stable_hash`]) alone; `None` has the colour of
    /// unknown.
    #[must_use]
    pub fn by_hash(theme: &Theme, hashes: impl IntoIterator<Item = Option<u64>>) -> Self {
        let entry = |hash: Option<u64>| hash.map_or(UNKNOWN, ring_entry);
        Self::of_entries(theme, hashes.into_iter().map(entry))
    }

    /// Colours by a small number (stream, pool, role: 0, 1, 2, …); `None` has the colour of unknown.
    #[must_use]
    pub fn by_ordinal(theme: &Theme, ordinals: impl IntoIterator<Item = Option<u32>>) -> Self {
        let entry = |ordinal: Option<u32>| ordinal.map_or(UNKNOWN, ordinal_entry);
        Self::of_entries(theme, ordinals.into_iter().map(entry))
    }

    fn of_entries(theme: &Theme, entries: impl Iterator<Item = usize>) -> Self {
        // Whether a colour was used an odd number of times decides between its two steps.
        let mut used = [0_u8; UNKNOWN + 1];
        let index = entries
            .map(|entry| {
                used[entry] ^= 1;
                (entry * 2) as u8 + used[entry]
            })
            .collect();
        Self {
            palette: palette(theme),
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

/// The colour of a small number, without the step that separates neighbours.
#[must_use]
pub fn ordinal_colour(theme: &Theme, ordinal: u32) -> Rgb {
    entry_colour(theme, ordinal_entry(ordinal), 0.0)
}

/// One of the distinct colours, chosen by a hash; for lanes, which have few different names.
#[must_use]
pub fn distinct_colour(theme: &Theme, hash: u64) -> Rgb {
    entry_colour(theme, (hash % DISTINCT.len() as u64) as usize, 0.0)
}

/// The colour of a role, the same in every picture.
#[must_use]
pub fn role_colour(theme: &Theme, role: Role) -> Rgb {
    match role {
        Role::Unknown => theme.unknown,
        role => ordinal_colour(theme, role.ordinal() as u32),
    }
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
    DISTINCT.len() + (hash % (HUES * TIERS.len()) as u64) as usize
}

/// The distinct colours first. On the ring, consecutive numbers are three hues apart, which reaches all hues because 3 and
/// 8 have no common factor.
fn ordinal_entry(ordinal: u32) -> usize {
    let ordinal = ordinal as usize;
    let Some(on_ring) = ordinal.checked_sub(DISTINCT.len()) else {
        return ordinal;
    };
    let (hue, tier) = (on_ring * 3 % HUES, on_ring / HUES % TIERS.len());
    DISTINCT.len() + tier * HUES + hue
}

/// The colour of a palette's entry; on the ring, hue by the remainder and tier by the quotient.
fn entry_colour(theme: &Theme, entry: usize, step: f64) -> Rgb {
    if let Some((lightness, chroma, hue)) = DISTINCT.get(entry) {
        return oklch(theme.ring_lightness + lightness + step, *chroma, *hue);
    }
    let on_ring = entry - DISTINCT.len();
    let hue = FIRST_HUE + (on_ring % HUES) as f64 * 360.0 / HUES as f64;
    oklch(
        theme.ring_lightness + TIERS[on_ring / HUES % TIERS.len()] + step,
        CHROMA,
        hue,
    )
}

/// All colours in their two steps, unknown last.
fn palette(theme: &Theme) -> Vec<Rgb> {
    let mut palette = Vec::with_capacity((UNKNOWN + 1) * 2);
    for entry in 0..UNKNOWN {
        palette.push(entry_colour(theme, entry, -STEP));
        palette.push(entry_colour(theme, entry, STEP));
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
