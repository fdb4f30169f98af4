//! Finding: cached segments had to be released to CUDA to serve a request.

use super::words::counted;
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, Material, SMALLEST_BYTES, SettingAdvice, Severity,
};
use crate::analysis::memory::releases::ReleaseCause;
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Maximum number of releases with a link; the largest ones.
const LINKED: usize = 3;
/// Fewer runs are no loop.
const CHURN_RUNS: u64 = 10;
/// Fewest segments given back and obtained.
const CHURN_EVENTS: u64 = 20;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let total = material.releases.for_request;
    let runs = material.releases.runs.iter();
    let mut runs: Vec<_> = runs
        .filter(|run| run.cause == ReleaseCause::ForRequest && !run.before_oom)
        .collect();
    if runs.is_empty() {
        return None;
    }
    runs.sort_few_by_key(|run| std::cmp::Reverse(run.bytes));
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
            "{} gave {} back to the device while a request was being served: the segments carry the stack of that request.",
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
        setting: SettingAdvice::expandable(material.config, ": segments that grow need not be given back."),
        to_try: vec!["Fewer different sizes, or less live memory at the peak.".to_owned()],
        tables: Vec::new(),
        evidence: evidence.collect(),
    })
}

/// Segments that the program gives back, not for a request, and obtains again.
pub(super) fn find_churn(material: Material<'_>) -> Option<Finding> {
    let found = material.releases;
    let [mut runs, mut events, mut bytes] = [0_u64; 3];
    for total in [found.empty_cache, found.unknown] {
        runs += total.runs;
        events += total.events;
        bytes = bytes.saturating_add(total.bytes);
    }
    let again = found.again;
    if runs < CHURN_RUNS || again < CHURN_EVENTS || bytes < SMALLEST_BYTES {
        return None;
    }
    let by_program = found.empty_cache.runs > 0;
    Some(Finding {
        kind: FindingKind::Churn,
        severity: Severity::Warning,
        bytes,
        title: format!("Segments were given back to the device and asked for again {}", times(again)),
        seen: format!(
            "{} in {} gave {} back, and {} obtained {} in their place.",
            counted(events, "segment event"),
            counted(runs, "place"),
            Bytes(bytes),
            counted(again, "segment event"),
            Bytes(found.again_bytes)
        ),
        figures: Vec::new(),
        may_mean: if by_program {
            "The program calls torch.cuda.empty_cache() in its loop. Each cudaFree waits for the device, and each cudaMalloc \
             takes time; the memory is needed again anyway."
        } else {
            "torch.cuda.empty_cache() in the loop, or garbage_collection_threshold: the stacks do not show it. Each cudaFree \
             waits for the device, and each cudaMalloc takes time; the memory is needed again anyway."
        }
        .to_owned(),
        setting: None,
        to_try: vec!["Call empty_cache() once between phases of different needs, not in the loop.".to_owned()],
        tables: Vec::new(),
        evidence: vec![Evidence::new("segments over time", EvidenceOf::Segments)],
    })
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        number => counted(number, "time"),
    }
}
