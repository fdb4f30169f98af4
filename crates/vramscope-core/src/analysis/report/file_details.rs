//! A file as a whole: settings, counts, pinned memory.

use serde::{Deserialize, Serialize};

use crate::analysis::memory::capture::Capture;
use crate::analysis::memory::settings::Setting;
use crate::analysis::recording::Recording;
use crate::analysis::report::findings::{FindingTable, site_table};
use crate::analysis::report::host::{HostMemory, host_memory};
use crate::analysis::report::summary::{DeviceSummary, TableSizes, summary};
use crate::model::Producer;

/// Maximum number of call sites of pinned memory in the list.
const SITES: usize = 10;

/// A file as a whole.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileDetails {
    /// The program that wrote the file.
    pub producer: Producer,
    /// The metadata of a captured snapshot; `None` for others.
    pub capture: Option<Capture>,
    /// Sizes of the tables.
    pub tables: TableSizes,
    /// The devices, highest peak first.
    pub devices: Vec<DeviceSummary>,
    /// Settings of the allocator.
    pub settings: Vec<Setting>,
    /// Pinned host memory; `None` if none was recorded.
    pub host: Option<HostDetails>,
}

/// Pinned host memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostDetails {
    /// Figures over the whole recording.
    pub memory: HostMemory,
    /// The call sites with the most bytes in use at the end.
    pub sites: FindingTable,
}

/// The details of a recording's file.
#[must_use]
pub fn file_details(recording: &Recording) -> FileDetails {
    let host = host_memory(recording, SITES).map(|memory| HostDetails {
        sites: site_table("In use at the end, by call site", &memory.sites),
        memory,
    });
    let summary = summary(recording);
    FileDetails {
        producer: summary.producer,
        capture: summary.capture,
        tables: summary.tables,
        devices: summary.devices,
        settings: recording.settings(),
        host,
    }
}
