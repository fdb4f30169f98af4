//! Finding: cached segments had to be released to CUDA to serve a request.

use super::words::counted;
use super::{Evidence, EvidenceOf, Finding, FindingKind, Material, Severity};
use crate::analysis::memory::releases::ReleaseCause;
use crate::units::Bytes;

/// Maximum number of releases that are linked to; the largest ones.
const LINKED: usize = 3;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let total = material.releases.for_request;
    let runs = material.releases.runs.iter();
    let mut runs: Vec<_> = runs
        .filter(|run| run.cause == ReleaseCause::ForRequest && !run.before_oom)
        .collect();
    if runs.is_empty() {
        return None;
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.bytes));
    let collects = material.config.garbage_collection_threshold > Some(0.0);
    let evidence = runs.iter().take(LINKED).map(|run| {
        let label = format!("{} given back", Bytes(run.bytes));
        Evidence::range(label, EvidenceOf::Segments, (run.from, run.to))
    });
    Some(Finding {
        kind: FindingKind::Retries,
        severity: Severity::Warning,
        bytes: total.bytes,
        title: format!("Cached memory had to be given back {}", times(total.runs)),
        seen: format!(
            "{} gave {} back to CUDA while a request was being served: the segments carry the stack of that request.",
            counted(total.events, "segment event"),
            Bytes(total.bytes)
        ),
        figures: Vec::new(),
        may_mean: if collects {
            "garbage_collection_threshold is set and was passed, or cudaMalloc had failed and was tried again."
        } else {
            "cudaMalloc had failed and was tried again with the cache emptied. That waits for the device and is slow, and \
             the next such request may fail for good."
        }
        .to_owned(),
        to_try: vec![
            "expandable_segments:True, fewer different sizes, or less live memory at the peak.".to_owned(),
        ],
        tables: Vec::new(),
        evidence: evidence.collect(),
    })
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        number => counted(number, "time"),
    }
}
