//! Finding: requests failed.

use super::words::by_operator_at;
use super::{
    Evidence, EvidenceOf, FailedRequest, Figure, Finding, FindingKind, Material, ROWS, Severity,
    helpful, origin, program_changes, site_table,
};
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::units::Count;

/// Maximum number of earlier failures with a link.
const LINKED: usize = 5;

/// The finding about the last failure; earlier ones are counted.
pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let recording = material.device.recording;
    let history = material.device.history;
    let failures = material.device.failed_requests();
    let &moment = failures.last()?;
    let state = material.device.state_at(moment);
    let failure = FailedRequest::of(
        material.device,
        material.releases,
        material.has_segments,
        moment,
        &state,
    );
    let live = live_at(history, moment);
    let top = top_call_sites(material.device, live, ROWS);
    let title = format!("Out of memory: {}", failure.asked());
    let live_table = site_table("Live when it failed, by call site", &top);
    let free_table = failure
        .has_state
        .then(|| failure.free_table(recording, &state));
    let changes = helpful(material.device, moment, false);
    let saved = "What changes of the program would have saved then, about";
    let changes_table =
        (!changes.is_empty()).then(|| program_changes::table(saved, &changes, false));
    let less = changes.iter().map(program_changes::sentence);
    let explained = failure.explained(material.device, material.config);
    let own = explained.to_try.into_iter();
    let to_try: Vec<String> = match failure.verdict().is_about_size() {
        true => less.chain(own).collect(),
        false => own.chain(less).collect(),
    };
    let figures = failure.figures(material.device).into_iter();
    let figures = figures.filter_map(|figure| {
        let label = figure.label.to_owned();
        figure.bytes.map(|bytes| Figure { label, bytes })
    });
    let by = by_operator_at(material.device, failure.stack);
    let seen = failure.seen(recording, failures.len() as u64, &by);
    let seen = format!("{seen} {}", origin(material.device, moment));
    Some(Finding {
        kind: FindingKind::OutOfMemory,
        severity: Severity::Problem,
        bytes: failure.requested_bytes,
        title,
        seen: seen.trim_end().to_owned(),
        figures: figures.collect(),
        may_mean: explained.may_mean,
        setting: explained.setting,
        to_try,
        tables: [live_table]
            .into_iter()
            .chain(changes_table)
            .chain(free_table)
            .collect(),
        evidence: evidence(failures, moment),
    })
}

/// Links to the last failure and those before it.
fn evidence(failures: &[u32], moment: u32) -> Vec<Evidence> {
    let mut evidence = vec![
        Evidence::state(moment),
        Evidence::live_at(moment),
        Evidence::moment("the curve up to there", EvidenceOf::LiveMemory, moment),
        Evidence::moment("what was live, one by one", EvidenceOf::Allocations, moment)
            .with_filter(format!("live@{moment}")),
    ];
    let earlier = failures.iter().rev().skip(1).take(LINKED);
    evidence.extend(earlier.map(|&moment| {
        let label = format!("the failure at event {}", Count(u64::from(moment)));
        Evidence::moment(label, EvidenceOf::LiveMemory, moment)
    }));
    evidence
}
