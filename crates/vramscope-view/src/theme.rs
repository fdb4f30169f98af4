//! Colours of text, lines and states, for light and dark themes.
//!
//! Colours of the data come from [`crate::colour`]; those here are used for nothing else.

use crate::colour_spaces::{Rgb, linear, oklch};
use serde::{Deserialize, Serialize};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeName {
    /// Dark text on a light background.
    #[default]
    Light,
    /// Light text on a dark background.
    Dark,
}

/// The colours of a picture that are not data colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theme {
    /// Whether it is light or dark.
    pub name: ThemeName,
    /// Background of the picture; also unused memory.
    pub background: Rgb,
    /// Reserved but free memory, in pictures that also have memory that is not reserved.
    pub held_free: Rgb,
    /// Titles and values.
    pub text: Rgb,
    /// Axis labels and secondary text.
    pub muted_text: Rgb,
    /// Lines behind the data.
    pub grid: Rgb,
    /// Axis lines.
    pub axis: Rgb,
    /// Selection, focus and the brush.
    pub accent: Rgb,
    /// Stripes of pending frees.
    pub pending_free: Rgb,
    /// Stripes of rounding.
    pub rounding: Rgb,
    /// Out-of-memory errors, and growth in comparisons.
    pub growth: Rgb,
    /// Shrinkage in comparisons.
    pub shrink: Rgb,
    /// Area below the curve of active memory.
    pub active: Rgb,
    /// Line of reserved memory.
    pub reserved: Rgb,
    /// Line of the device's capacity.
    pub capacity: Rgb,
    /// Allocations whose coloured property is unknown.
    pub unknown: Rgb,
    /// OKLCH lightness of the ring of data colours.
    pub ring_lightness: f64,
}

impl Theme {
    /// The theme with this name.
    #[must_use]
    pub fn of(name: ThemeName) -> Self {
        match name {
            ThemeName::Light => Self::light(),
            ThemeName::Dark => Self::dark(),
        }
    }

    /// The light theme.
    #[must_use]
    pub fn light() -> Self {
        Self {
            name: ThemeName::Light,
            background: [255, 255, 255],
            held_free: [232, 236, 241],
            text: [28, 30, 34],
            muted_text: [92, 97, 106],
            grid: [232, 234, 237],
            axis: [176, 181, 189],
            accent: [26, 98, 214],
            pending_free: [255, 176, 0],
            rounding: [150, 154, 160],
            growth: [200, 30, 38],
            shrink: [26, 98, 214],
            active: oklch(0.78, 0.07, 250.0),
            reserved: [72, 78, 88],
            capacity: [200, 30, 38],
            unknown: [176, 180, 186],
            ring_lightness: 0.70,
        }
    }

    /// The dark theme.
    #[must_use]
    pub fn dark() -> Self {
        Self {
            name: ThemeName::Dark,
            background: [22, 24, 28],
            held_free: [40, 44, 51],
            text: [230, 232, 236],
            muted_text: [160, 166, 176],
            grid: [40, 43, 49],
            axis: [84, 90, 100],
            accent: [108, 168, 255],
            pending_free: [255, 190, 40],
            rounding: [112, 117, 125],
            growth: [255, 110, 104],
            shrink: [108, 168, 255],
            active: oklch(0.47, 0.08, 250.0),
            reserved: [190, 196, 206],
            capacity: [255, 110, 104],
            unknown: [104, 109, 117],
            ring_lightness: 0.69,
        }
    }

    /// The colour of text on a background: this theme's if legible, else black or white.
    #[must_use]
    pub fn ink_on(&self, ground: Rgb) -> Rgb {
        if contrast(self.text, ground) >= 4.5 {
            return self.text;
        }
        let (dark, light) = ([0; 3], [255; 3]);
        if contrast(dark, ground) >= contrast(light, ground) {
            dark
        } else {
            light
        }
    }

    /// A data colour when the filter does not match: mostly background.
    #[must_use]
    pub fn dim(&self, colour: Rgb) -> Rgb {
        // Mixed with its grey first, so that only matching allocations have strong colours.
        let grey = (u32::from(colour[0]) * 2 + u32::from(colour[1]) * 5 + u32::from(colour[2])) / 8;
        std::array::from_fn(|c| {
            let pale = (u32::from(colour[c]) + 2 * grey) / 3;
            ((pale * 22 + u32::from(self.background[c]) * 78) / 100) as u8
        })
    }
}

/// WCAG contrast ratio of two colours, 1 to 21.
#[must_use]
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |rgb: Rgb| {
        let [r, g, b] = rgb.map(|v| f64::from(linear(v)));
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    if a > b { a / b } else { b / a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_legible_on_its_ground() {
        for theme in [Theme::light(), Theme::dark()] {
            for ink in [
                theme.text,
                theme.muted_text,
                theme.accent,
                theme.growth,
                theme.shrink,
            ] {
                let ratio = contrast(ink, theme.background);
                assert!(ratio >= 4.5, "{:?}: {ink:?} has {ratio:.2}", theme.name);
            }
        }
    }

    #[test]
    fn dimmed_colours_stay_near_the_ground() {
        for theme in [Theme::light(), Theme::dark()] {
            let dimmed = theme.dim(oklch(theme.ring_lightness, 0.12, 30.0));
            assert!(contrast(dimmed, theme.background) < 1.6);
            assert_ne!(dimmed, theme.background);
        }
    }
}
