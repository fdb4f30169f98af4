//! Finding: the output of the previous iteration is still referenced while the next one is made, so that both are live
//! at the peak.

use super::words::counted;
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, Material, ROWS, Severity, is_notable, site_table,
};
use crate::analysis::groups::live_at::top_call_sites;
use crate::analysis::report::program_changes::{Replaced, replaced};
use crate::analysis::report::summary::saturating_sum;
use crate::analysis::roles::{Phase, Role};
use crate::ids::AllocationId;
use crate::units::Bytes;

/// Fewest occurrences that make it a habit of the program.
const FEWEST: usize = 3;
/// Freed just after the successor is made means: within this many events, or within this part of its life until then.
const EVENTS_AFTER: u32 = 16;
const PART_AFTER: u32 = 20;
/// Minimum share of the peak.
const SHARE_PERCENT: u64 = 5;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let device = material.device;
    let history = device.history;
    let table = &history.allocations;
    let peak = history.peak_moment;
    let all = replaced(device);
    let held: Vec<&Replaced> = all.iter().filter(|it| is_held(material, it)).collect();
    let both_are_live =
        |it: &&&Replaced| table.born[it.next] <= peak && peak < table.died[it.before];
    let at_peak: Vec<usize> = (held.iter().filter(both_are_live))
        .map(|it| it.before)
        .collect();
    // Those that recur with the same stack and size.
    let stacks = device.stack_of();
    let times = |row: usize| {
        let same = held.iter().filter(|it| {
            stacks[it.before] == stacks[row] && table.bytes[it.before] == table.bytes[row]
        });
        same.count()
    };
    let rows: Vec<usize> = at_peak
        .into_iter()
        .filter(|&row| times(row) >= FEWEST)
        .collect();
    let bytes = saturating_sum(rows.iter().map(|&row| table.bytes[row]));
    if !is_notable(bytes, SHARE_PERCENT, history.peak_bytes()) {
        return None;
    }
    let largest = rows.iter().copied().max_by_key(|&row| table.bytes[row])?;
    let ids = rows.iter().map(|&row| AllocationId::from_index(row));
    let top = top_call_sites(device, ids, ROWS);
    let sites = device.call_sites();
    let label = &sites.get(device.site_of()[largest]).label;
    Some(Finding {
        kind: FindingKind::HeldOutput,
        severity: Severity::Warning,
        bytes,
        title: format!(
            "{} from {label} are still held while the next iteration makes the same again",
            Bytes(bytes)
        ),
        seen: format!(
            "At the peak, both are live. {}, what one iteration made there was freed just after the next one had made its \
             successor, of the same size.",
            counted(times(largest) as u64, "time")
        ),
        figures: Vec::new(),
        may_mean: "A variable of the loop, such as the output or the logits, keeps the result of the previous iteration until it is \
                   assigned again. If the next iteration does not need it, it is there for nothing."
            .to_owned(),
        setting: None,
        to_try: vec![format!(
            "del the variable that holds it at the end of the iteration, or make it within a function: {} less at the peak.",
            Bytes(bytes)
        )],
        tables: vec![site_table("Held from the previous iteration, by call site", &top)],
        evidence: vec![
            Evidence::live_at(peak),
            Evidence::moment("the peak", EvidenceOf::LiveMemory, peak),
        ],
    })
}

/// Whether an allocation is freed just after a successor of its size is made, and is of a kind that programs do not
/// keep on purpose.
fn is_held(material: Material<'_>, it: &Replaced) -> bool {
    let table = &material.device.history.allocations;
    let role = material.device.rule_of()[it.before].role();
    let (made, again, freed) = (
        table.born[it.before],
        table.born[it.next],
        table.died[it.before],
    );
    let lived = again.saturating_sub(made);
    let after = freed.saturating_sub(again);
    table.bytes[it.before] == table.bytes[it.next]
        && !matches!(
            role,
            Role::KvCache | Role::OptimizerState | Role::Parameter | Role::Gradient
        )
        && after <= EVENTS_AFTER.max(lived / PART_AFTER)
        && after < lived / 2
        // An output is made by a forward pass, or where no pass is known.
        && !matches!(
            material.device.phases().at(made),
            Some(Phase::Backward | Phase::Optimizer)
        )
}
