//! Many ranks as a heat map: a row for each rank, time to the right, memory as colour.
//!
//! ```text
//! Fleet, Look ─> Layout ─> raster (pixels), hit
//!                       └> Frame ─> scene (axes and names)
//! ```
//!
//! The layout places each rank's curve on a common axis, in whole units. The raster is exact from there on, and shows the
//! highest value where several ranks or times share a pixel. The caller decides which ranks are shown, and in which order.

mod frame;
mod layout;
mod raster;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use frame::{Frame, draw, picture_px, row_span};
pub use layout::{Layout, MarkKind, Offers, Unit};
pub use raster::{Hit, Size, hit, pixels, shade};

/// The memory shown by colours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Live requested bytes.
    #[default]
    Active,
    /// Bytes of all segments.
    Reserved,
}

/// How ranks are aligned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// By their clocks.
    #[default]
    Clock,
    /// Each starting at its own first event.
    Start,
    /// By step number.
    Step,
}

/// What a heat map shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Look {
    /// The memory.
    pub memory: Memory,
    /// The axis.
    pub along: Along,
}
