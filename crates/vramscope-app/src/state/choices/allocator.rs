//! The user's choices in the allocator view.

use serde::{Deserialize, Serialize};

/// The largest zoom.
const CLOSEST: f64 = 65_536.0;

/// The choices in the allocator view, kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocatorChoices {
    /// Magnification of widths; at least 1, where everything fits.
    pub zoom: f64,
}

impl Default for AllocatorChoices {
    fn default() -> Self {
        Self { zoom: 1.0 }
    }
}

impl AllocatorChoices {
    /// The choices with `factor` times the zoom.
    #[must_use]
    pub fn zoomed(&self, factor: f64) -> Self {
        let zoom = (self.zoom * factor).clamp(1.0, CLOSEST);
        Self {
            // A permalink may hold any number.
            zoom: if zoom.is_finite() { zoom } else { 1.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zoom_is_bounded() {
        let near = AllocatorChoices::default().zoomed(1e12);
        assert_eq!(near.zoom, CLOSEST);
        assert_eq!(near.zoomed(0.0).zoom, 1.0);
        assert_eq!(AllocatorChoices { zoom: f64::NAN }.zoomed(2.0).zoom, 1.0);
    }
}
