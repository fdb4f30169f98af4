//! What a file is: settings, counts, pinned memory.

use vramscope_core::analysis::groups::live_at::TopSites;
use vramscope_core::analysis::report::findings::site_table;
use vramscope_core::analysis::report::host::host_memory;
use vramscope_core::analysis::report::summary::summary;

use super::super::super::document::Document;
use crate::protocol::views::overview::{FileDetails, HostDetails};

/// Call sites of pinned memory that are listed.
const SITES: usize = 10;

pub(super) fn details(document: &Document) -> FileDetails {
    let snapshot = &document.snapshot;
    let sites = document.call_sites();
    let host = host_memory(snapshot, sites, SITES).map(|memory| {
        let listed = TopSites {
            sites: memory.sites.clone(),
            ..TopSites::default()
        };
        HostDetails {
            sites: site_table("In use at the end, by call site", sites, &listed),
            memory,
        }
    });
    FileDetails {
        summary: summary(document),
        settings: document.settings(),
        host,
    }
}
