//! The JSON of `info`, described for its users in `info-json.md`.
#![doc = include_str!("../../../info-json.md")]

use serde_json::{Value, json};

use super::{Info, PeakSites};
use crate::failure::Failure;
use crate::report::{self, Part};

/// The version of the layout: goes up when something is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// One indented JSON document with a final newline. `is_one`: only one file was asked about.
pub(super) fn render(
    infos: &[Info],
    is_one: bool,
    ranks: Option<&Part>,
) -> Result<String, Failure> {
    let document = match infos {
        [info] if is_one => file(info),
        infos => json!({
            "schema": SCHEMA,
            "vramscope": env!("CARGO_PKG_VERSION"),
            "files": infos.iter().map(file).collect::<Vec<_>>(),
            "across_ranks": ranks.map(report::value),
        }),
    };
    match serde_json::to_string_pretty(&document) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::Input(format!("cannot write JSON: {error}"))),
    }
}

fn file(info: &Info) -> Value {
    json!({
        "schema": SCHEMA,
        "vramscope": env!("CARGO_PKG_VERSION"),
        "file": info.file,
        "summary": info.summary,
        "peak_call_sites": info.peaks.iter().map(peak).collect::<Vec<_>>(),
        "facts": info.facts,
    })
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
