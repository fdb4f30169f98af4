//! Whether the flame graph is below the timeline, and how high it is.

use serde::{Deserialize, Serialize};

/// The least and the largest share of the flame graph, in percent.
pub const SHARE_PERCENT: (f64, f64) = (20.0, 80.0);

/// The division of the timeline's view, kept in the address.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SplitChoices {
    /// Whether the flame graph of what is selected is below the timeline.
    pub flame: bool,
    /// Its share of the view's height, in percent.
    pub percent: f64,
}

impl Default for SplitChoices {
    fn default() -> Self {
        Self {
            flame: false,
            percent: 45.0,
        }
    }
}

impl SplitChoices {
    /// The same with another share, clamped to [`SHARE_PERCENT`] and rounded to a tenth of a percent.
    #[must_use]
    pub fn with_percent(self, percent: f64) -> Self {
        let (least, most) = SHARE_PERCENT;
        Self {
            percent: (percent * 10.0).round().clamp(least * 10.0, most * 10.0) / 10.0,
            ..self
        }
    }
}
