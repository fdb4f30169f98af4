//! The JSON of `info`, described for its users in `info-json.md`.
#![doc = include_str!("../../../info-json.md")]

use serde_json::{Value, json};

use super::{Info, PeakSites};
use crate::failure::Failure;

/// The version of the layout: goes up when something is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// One indented JSON document with a final newline.
pub(super) fn render(info: &Info) -> Result<String, Failure> {
    let document = json!({
        "schema": SCHEMA,
        "vramscope": env!("CARGO_PKG_VERSION"),
        "file": info.file,
        "summary": info.summary,
        "peak_call_sites": info.peaks.iter().map(peak).collect::<Vec<_>>(),
        "facts": info.facts,
    });
    match serde_json::to_string_pretty(&document) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::Input(format!("cannot write JSON: {error}"))),
    }
}

fn peak(peak: &PeakSites) -> Value {
    let sites = peak.sites.sites.iter().zip(&peak.labels);
    let sites: Vec<_> = sites
        .map(|(total, label)| json!({ "site": label, "bytes": total.bytes, "allocations": total.count }))
        .collect();
    json!({
        "device": peak.device,
        "sites": sites,
        "other": {
            "sites": peak.sites.other_sites,
            "bytes": peak.sites.other_bytes,
            "allocations": peak.sites.other_count,
        },
    })
}
