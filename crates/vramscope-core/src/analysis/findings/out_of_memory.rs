//! Requests that failed: what was asked, what there was, and what stood in between.

use super::words::at_site;
use super::{
    Evidence, EvidenceView, FailedRequest, Finding, FindingKind, Material, ROWS, Severity,
    failed_requests, site_table,
};
use crate::analysis::live_at::{live_at, top_call_sites};
use crate::units::{Bytes, Count};

/// How many of several failures are linked to.
const LINKED: usize = 5;

/// The last failure, and how many came before it.
pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let snapshot = material.recording.snapshot;
    let history = material.recording.history;
    let failures = failed_requests(snapshot, history);
    let &moment = failures.last()?;
    let state = material.index.state_at(material.recording, moment);
    let failure = FailedRequest::of(
        material.recording,
        material.releases,
        material.has_segments,
        moment,
        &state,
    );
    let site = material.sites.of_stack(failure.stack);
    let live = live_at(history, moment);
    let top = top_call_sites(history, material.site_of, live, ROWS);
    let title = format!(
        "Out of memory: {} requested, {} free on the device",
        Bytes(failure.requested_bytes),
        Bytes(failure.device_free_bytes)
    );
    let mut evidence = vec![
        Evidence::state(moment),
        Evidence::live_at(moment),
        Evidence::moment("the curve up to there", EvidenceView::Timeline, moment),
        Evidence::moment("what was live, one by one", EvidenceView::Table, moment)
            .with_filter(format!("live@{moment}")),
    ];
    let earlier = failures.iter().rev().skip(1).take(LINKED);
    evidence.extend(earlier.map(|&moment| {
        let label = format!("the failure at event {}", Count(u64::from(moment)));
        Evidence::moment(label, EvidenceView::Timeline, moment)
    }));
    let live_table = site_table("Live when it failed, by call site", material.sites, &top);
    let free_table = failure
        .has_state
        .then(|| failure.free_table(snapshot, &state));
    Some(Finding {
        kind: FindingKind::OutOfMemory,
        severity: Severity::Problem,
        bytes: failure.requested_bytes,
        title,
        seen: failure.seen(
            snapshot,
            failures.len() as u64,
            &at_site(material.sites, site),
        ),
        figures: failure.figures(),
        may_mean: failure.may_mean(material.config),
        to_try: failure.to_try(material.config),
        tables: [live_table].into_iter().chain(free_table).collect(),
        evidence,
    })
}
