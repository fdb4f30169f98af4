//! What a file is: settings, counts, pinned memory.

use vramscope_core::analysis::host::host_memory;
use vramscope_core::analysis::settings::settings;
use vramscope_core::analysis::summary::summary;
use vramscope_view::theme::Theme;

use super::super::super::document::Document;
use super::site_rows;
use crate::protocol::views::overview::{DeviceCounts, FileDetails, HostDetails};

/// Call sites of pinned memory that are listed.
const SITES: usize = 10;

pub(super) fn details(document: &Document, theme: &Theme) -> FileDetails {
    let snapshot = &document.snapshot;
    let sites = &document.words().call_sites;
    let summary = summary(snapshot, &document.histories);
    let host = host_memory(snapshot, sites, SITES).map(|memory| HostDetails {
        sites: site_rows(sites, &memory.sites, memory.active_bytes, theme),
        memory,
    });
    let devices = summary.devices.into_iter().map(|device| DeviceCounts {
        device: device.device,
        actions: device.events_by_action,
        pools: device
            .state
            .pools
            .iter()
            .filter(|pool| pool.is_private())
            .map(ToString::to_string)
            .collect(),
        state: device.state,
    });
    FileDetails {
        producer: snapshot.producer.clone(),
        capture: summary.capture,
        tables: summary.tables,
        settings: settings(snapshot),
        devices: devices.collect(),
        host,
    }
}
