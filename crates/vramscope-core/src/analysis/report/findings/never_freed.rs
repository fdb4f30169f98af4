//! Finding: memory allocated during the steps is still live at the end of the recording.

use std::collections::BTreeSet;

use super::words::{CACHE_GROWS, counted, stayed_filter};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, Material, ROWS, Severity, is_notable, site_table,
};
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::top_call_sites;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::report::summary::saturating_sum;
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lanes::Step;
use crate::analysis::time::selection::Selection;
use crate::ids::AllocationId;
use crate::units::{Bytes, Count};

/// Minimum share of the memory live after the last step.
const SHARE_PERCENT: u64 = 2;

/// Memory left by this many steps may be a cache that has filled up.
const MANY_STEPS: usize = 16;

/// `grown`: call sites already reported by another finding.
pub(super) fn find(material: Material<'_>, grown: &[CallSiteId]) -> Option<Finding> {
    let steps = material.device.steps()?;
    let history = material.device.history;
    let whole: Vec<_> = steps.steps.iter().filter(|step| step.is_whole).collect();
    // The first step allocates memory that stays on purpose: optimizer state, gradients, workspaces.
    let (second, last) = (whole.get(1)?, whole.last()?);
    let (from, to) = (second.moments.0, last.moments.1);
    if to >= history.event_count {
        return None;
    }
    let table = &history.allocations;
    let first = table.born.partition_point(|&born| born <= from);
    let end = table.born.partition_point(|&born| born <= to);
    let site_of = material.device.site_of();
    // Memory that waits for other streams has been freed by the program; another finding reports it.
    let is_kept = |row: usize| table.died[row] == NEVER && table.free_requested[row] == NEVER;
    let kept =
        (first..end.max(first)).filter(|&row| is_kept(row) && !grown.contains(&site_of[row]));
    let bytes = saturating_sum(kept.clone().map(|row| table.bytes[row]));
    if !is_notable(bytes, SHARE_PERCENT, last.totals.after_bytes) {
        return None;
    }
    let of_last = kept.clone().filter(|&row| table.born[row] > last.moments.0);
    let of_last = saturating_sum(of_last.map(|row| table.bytes[row]));
    let ids = kept.clone().map(AllocationId::from_index);
    let top = top_call_sites(material.device, ids, ROWS);
    let older = bytes - of_last.min(bytes);
    let step_of = |row: usize| whole.partition_point(|step| step.moments.1 < table.born[row]);
    let of_steps: BTreeSet<usize> = kept.clone().map(step_of).collect();
    let leaks = older > 0 && (of_steps.len() < MANY_STEPS || goes_on(&whole));
    let is_cache = is_cache(material, kept.clone(), bytes);
    let stayed = (from, history.event_count);
    Some(Finding {
        kind: FindingKind::NeverFreed,
        severity: severity(leaks && !is_cache),
        bytes,
        title: format!(
            "{} allocated during the steps were never freed",
            Bytes(bytes)
        ),
        seen: format!(
            "{} of {} that steps after the first made are still live at the end, {} after the last step: {} from the \
             last step, {} from earlier ones.",
            counted(kept.count() as u64, "allocation"),
            Bytes(bytes),
            Count(u64::from(history.event_count - to)).to_string() + " events",
            Bytes(of_last),
            Bytes(older)
        ),
        figures: Vec::new(),
        may_mean: may_mean(leaks, is_cache, material.config.allocator).to_owned(),
        setting: None,
        to_try: vec!["Look at the call sites, and at who holds what they make.".to_owned()],
        tables: vec![site_table("Never freed, by call site", &top)],
        evidence: vec![
            Evidence::range("stacks of what stayed", EvidenceOf::CallStacks, stayed)
                .with_selection(Selection::RetainedFrom(stayed)),
            Evidence::new("what stayed, one by one", EvidenceOf::Allocations)
                .with_filter(stayed_filter(stayed)),
            Evidence::range("the steps", EvidenceOf::LiveMemory, (from, to)),
        ],
    })
}

/// Whether live memory rose in the last quarter of the steps at least half as fast as before. A full cache also keeps
/// memory from steps, but no longer grows.
fn goes_on(whole: &[&Step]) -> bool {
    let live = |at: usize| i128::from(whole[at].totals.after_bytes);
    let (first, last) = (1, whole.len() - 1);
    let from = first + (last - first) * 3 / 4;
    let (all, late) = (live(last) - live(first), live(last) - live(from));
    from == last || all <= 0 || late * 2 * (last - first) as i128 >= all * (last - from) as i128
}

/// Whether most of the bytes of these rows are a cache of keys and values.
fn is_cache(material: Material<'_>, rows: impl Iterator<Item = usize>, bytes: u64) -> bool {
    let (rules, table) = (
        material.device.rule_of(),
        &material.device.history.allocations,
    );
    let cached = rows.filter(|&row| rules[row].role() == Role::KvCache);
    saturating_sum(cached.map(|row| table.bytes[row])) > bytes / 2
}

fn severity(leaks: bool) -> Severity {
    if leaks {
        Severity::Warning
    } else {
        Severity::Note
    }
}

fn may_mean(leaks: bool, is_cache: bool, allocator: AllocatorKind) -> &'static str {
    match (leaks, allocator) {
        _ if is_cache => CACHE_GROWS,
        (true, _) => {
            "What earlier steps made and later ones did not free is held on purpose (a cache, state) or by a \
                          forgotten reference."
        }
        (false, AllocatorKind::Torch) => {
            "What only the last step left is often what the next one would have freed: \
                          gradients until zero_grad(), outputs until they are overwritten."
        }
        (false, AllocatorKind::Driver) => {
            "What only the last step left is often what the next one would have freed: \
                          results until they are overwritten."
        }
    }
}
