//! What the overview and the facts ask: a device at a glance, and what the file is.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::settings::Setting;
use vramscope_core::analysis::report::findings::FindingTable;
use vramscope_core::analysis::report::host::HostMemory;
use vramscope_core::analysis::report::overview::Overview;
use vramscope_core::analysis::report::summary::Summary;
use vramscope_core::model::DeviceIndex;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// A device at a glance.
    Device { device: DeviceIndex },
    /// The file: settings, counts, pinned memory.
    File,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Device(Box<Overview>),
    File(Box<FileDetails>),
}

/// All that is said of a file as a whole.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileDetails {
    pub summary: Summary,
    pub settings: Vec<Setting>,
    /// Pinned host memory, if any was recorded.
    pub host: Option<HostDetails>,
}

/// Pinned host memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostDetails {
    pub memory: HostMemory,
    /// Who holds what at the end.
    pub sites: FindingTable,
}
