//! The questions of the overview and the facts: a device at a glance, and the file as a whole.

use serde::{Deserialize, Serialize};
pub use vramscope_core::analysis::report::file_details::FileDetails;
pub use vramscope_core::analysis::report::overview::Overview;
use vramscope_core::model::DeviceIndex;

/// Asks for a device at a glance.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OverviewOf {
    pub device: DeviceIndex,
}

/// Asks for settings, counts and pinned memory of the file.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileDetailsOf;
