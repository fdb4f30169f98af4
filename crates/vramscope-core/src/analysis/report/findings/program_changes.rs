//! Finding: changes of the program would lower the peak.

use super::{
    Evidence, EvidenceOf, Finding, FindingKind, FindingRow, FindingTable, Material, Severity,
    is_share,
};
use crate::analysis::recording::Device;
use crate::analysis::report::peak_roles::PeakRoles;
use crate::analysis::report::program_changes::{ChangeKind, ProgramChange, program_changes};
use crate::analysis::roles::{Phase, Role};
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Smaller peaks are no concern.
const LEAST_PEAK_BYTES: u64 = 1 << 30;
/// Minimum share of the peak that the best change must save.
const LEAST_PERCENT: u64 = 10;
/// Minimum share that a change must save to be mentioned.
const TOLD_PERCENT: u64 = 2;

/// The changes with a significant effect on live memory at a moment or, with `of_peak`, on its highest value before,
/// with the saved bytes. For two changes together, `because` gives the effect of each alone.
#[must_use]
pub fn helpful(device: Device<'_>, until: u32, of_peak: bool) -> Vec<(u64, ProgramChange)> {
    let history = device.history;
    let live = history
        .active_bytes
        .get(until as usize)
        .copied()
        .unwrap_or(0);
    let whole = if of_peak { history.peak_bytes() } else { live };
    let saved = |change: &ProgramChange| {
        let after = if of_peak {
            change.peak_bytes
        } else {
            change.live_bytes
        };
        whole.saturating_sub(after)
    };
    let changes = program_changes(device, until).into_iter();
    let mut told: Vec<_> = changes.map(|change| (saved(&change), change)).collect();
    let alone = told.iter();
    let alone = alone.filter(|(_, change)| change.kind != ChangeKind::Together);
    let best_alone = alone.map(|(saved, _)| *saved).max().unwrap_or(0);
    told.retain(|(saved, change)| {
        let more = match change.kind {
            ChangeKind::Together => saved.saturating_sub(best_alone),
            _ => *saved,
        };
        more > 0 && is_share(more, TOLD_PERCENT, whole)
    });
    told.sort_few_by_key(|(saved, change)| (std::cmp::Reverse(*saved), change.kind));
    for (_, change) in &mut told {
        if let Some(alone) = alone_and_both(change, of_peak) {
            change.because = alone;
        }
    }
    told
}

/// The effect of each of two changes alone, and of both; `None` for a single change.
fn alone_and_both(change: &ProgramChange, of_peak: bool) -> Option<String> {
    let value = |peak_bytes, live_bytes| Bytes(if of_peak { peak_bytes } else { live_bytes });
    let [passes, optimizer] = &change.alone[..] else {
        return None;
    };
    let [passes_leave, optimizer_leaves] =
        [passes, optimizer].map(|part| value(part.peak_bytes, part.live_bytes));
    let (passes, optimizer) = (passes.kind.short(), optimizer.kind.short());
    let both = value(change.peak_bytes, change.live_bytes);
    Some(if of_peak {
        format!(
            "{passes} alone leaves a peak of {passes_leave} and {optimizer} alone one of {optimizer_leaves}, because each \
             leaves another moment nearly as high; both together leave {both}"
        )
    } else {
        format!(
            "{passes} alone leaves {passes_leave} and {optimizer} alone {optimizer_leaves}; both together leave {both}"
        )
    })
}

/// Describes a change: `Checkpoint model.py:9 forward: about 3.2 GiB less; …`.
pub(super) fn sentence((saved, change): &(u64, ProgramChange)) -> String {
    format!(
        "{}: about {} less; {}.",
        change.title,
        Bytes(*saved),
        change.because
    )
}

/// The changes as a finding's table, with their effect on the peak or, unless `of_peak`, on the moment in question.
pub(super) fn table(title: &str, changes: &[(u64, ProgramChange)], of_peak: bool) -> FindingTable {
    let rows = changes.iter().map(|(saved, change)| FindingRow {
        label: change.title.clone(),
        site: None,
        bytes: *saved,
        count: match of_peak {
            true => change.peak_allocations,
            false => change.live_allocations,
        },
        remark: change.because.clone(),
    });
    FindingTable {
        title: title.to_owned(),
        counted: "allocations".to_owned(),
        rows: rows.collect(),
    }
}

/// Advice if nothing in the recording needs the activations.
fn without_backward(device: Device<'_>) -> Option<String> {
    let ranges = &device.phases().ranges;
    if ranges.iter().any(|range| range.phase == Phase::Backward) {
        return None;
    }
    let roles = PeakRoles::of(device);
    let kept = (roles.rows.iter()).find(|row| row.role == Role::Activation)?;
    is_share(kept.bytes, LEAST_PERCENT, device.history.peak_bytes()).then(|| {
        format!(
            "No backward pass is recorded. If none follows, torch.inference_mode() keeps none of the {} of activations.",
            Bytes(kept.bytes)
        )
    })
}

/// Only for recordings without a failed request; a failure has the changes in its own finding.
pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let history = material.device.history;
    let peak = history.peak_bytes();
    // A state alone has no peak.
    let has_peak = history.has_trace() && peak >= LEAST_PEAK_BYTES;
    if !has_peak || !material.device.failed_requests().is_empty() {
        return None;
    }
    let changes = helpful(material.device, history.event_count, true);
    let (best, change) = changes.first()?;
    if !is_share(*best, LEAST_PERCENT, peak) {
        return None;
    }
    Some(Finding {
        kind: FindingKind::ProgramChanges,
        severity: Severity::Note,
        bytes: *best,
        title: format!("The peak could be {} lower: {}", Bytes(*best), change.title),
        seen: format!(
            "Live memory peaks at {}{}.",
            Bytes(peak),
            match change.kind {
                ChangeKind::Together => format!(": {}", change.because),
                _ => format!(
                    ". With this change, the recorded allocations would peak at {}",
                    Bytes(change.peak_bytes)
                ),
            }
        ),
        figures: Vec::new(),
        may_mean: "Estimates, computed from when the recorded allocations were made and freed: how the program would behave \
                   otherwise is not recorded."
            .to_owned(),
        setting: None,
        to_try: (without_backward(material.device).into_iter())
            .chain(changes.iter().map(sentence))
            .collect(),
        tables: vec![table("What would be saved at the peak, about", &changes, true)],
        evidence: vec![
            Evidence::live_at(history.peak_moment),
            Evidence::moment("the peak", EvidenceOf::LiveMemory, history.peak_moment),
        ],
    })
}
