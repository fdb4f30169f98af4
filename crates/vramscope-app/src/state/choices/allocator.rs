//! What was chosen in the view of the allocator.

use serde::{Deserialize, Serialize};

/// As far as one can go closer.
const CLOSEST: f64 = 65_536.0;

/// What was chosen in the view of the allocator; kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocatorChoices {
    /// How many times as wide everything is as where all of it fits; at least 1.
    pub zoom: f64,
}

impl Default for AllocatorChoices {
    fn default() -> Self {
        Self { zoom: 1.0 }
    }
}

impl AllocatorChoices {
    /// So many times closer.
    #[must_use]
    pub fn zoomed(&self, factor: f64) -> Self {
        let zoom = (self.zoom * factor).clamp(1.0, CLOSEST);
        Self {
            // From a permalink may come anything.
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
