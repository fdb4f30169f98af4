//! Finding: active memory grows from step to step. Only for recordings with named steps.

use super::words::{counted, percent, stayed_filter};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS, Severity,
};
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::time::lanes::WARM_UP;
use crate::analysis::time::selection::Selection;
use crate::units::Bytes;

/// Minimum number of steps after the first [`WARM_UP`] ones.
const ENOUGH: usize = 4;
/// Minimum share of the steps with growth.
const RISING_PERCENT: usize = 80;
const SMALLEST_GROWTH_BYTES: u64 = 1 << 20;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let steps = material.device.steps()?;
    let settled = steps.settled();
    if settled.len() < ENOUGH {
        return None;
    }
    let live: Vec<u64> = settled.iter().map(|step| step.totals.after_bytes).collect();
    let (first, last) = (settled.first()?, settled.last()?);
    let growth = trend(&live)?;
    let intervals = (settled.len() - 1) as u64;
    let moments = (first.moments.1, last.moments.1);
    let name = material.device.snapshot().strings.get(first.name);
    let rising = live.windows(2).filter(|pair| pair[1] > pair[0]).count() as u64;
    Some(Finding {
        kind: FindingKind::Growth,
        severity: Severity::Problem,
        bytes: growth,
        title: format!("Live memory grows by {} per step", Bytes(growth / intervals)),
        seen: format!(
            "At the end of {rising} of {} more was live than at the end of the one before: from {} (after {}) to {}, \
             {} more. The first {WARM_UP} steps are left out.",
            counted(intervals, "step"),
            Bytes(live[0]),
            crate::analysis::code::frames::clip(name, 80),
            Bytes(live[live.len() - 1]),
            percent(growth, live[0])
        ),
        figures: Vec::new(),
        may_mean: match material.config.allocator {
            AllocatorKind::Torch => "Something keeps a reference from each step: a list of losses or outputs with their \
                   graph, a cache, state that grows with the sequence. Caches that fill up to a limit look the same while \
                   they fill.",
            AllocatorKind::Driver => "Something keeps a buffer from each step: a list of results, a cache, state that grows \
                   with the sequence, a buffer that is never dropped. Caches that fill up to a limit look the same while \
                   they fill.",
        }
        .to_owned(),
        to_try: vec![
            "Look at the call sites that grew, and at who holds what they make.".to_owned(),
            match material.config.allocator {
                AllocatorKind::Torch => "Keep loss.item() or loss.detach() instead of loss; clear lists between steps.",
                AllocatorKind::Driver => "Copy to the host what is kept of a step, and drop its buffers; reuse buffers from step to step.",
            }
            .to_owned(),
        ],
        tables: vec![grown_sites(material, moments)],
        evidence: vec![
            Evidence::range("stacks of what stayed", EvidenceOf::CallStacks, moments)
                .with_selection(Selection::RetainedFrom(moments)),
            Evidence::new("what stayed, one by one", EvidenceOf::Allocations)
                .with_filter(stayed_filter(moments)),
            Evidence::range("the steps", EvidenceOf::LiveMemory, moments),
        ],
    })
}

/// The growth from the first to the last value, if most steps rise and the second half stays above the first.
fn trend(live: &[u64]) -> Option<u64> {
    let growth = live.last()?.checked_sub(*live.first()?)?;
    let rising = live.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let (early, late) = live.split_at(live.len() / 2);
    let is_lasting = late.iter().min() > early.iter().max();
    let is_rising = rising * 100 >= (live.len() - 1) * RISING_PERCENT;
    // Growth by half a percent in all is within normal variation.
    let is_much = growth >= SMALLEST_GROWTH_BYTES && growth.saturating_mul(200) >= live[0];
    (is_rising && is_lasting && is_much).then_some(growth)
}

/// The call sites with more live bytes at the second moment than at the first.
fn grown_sites(material: Material<'_>, (from, to): (u32, u32)) -> FindingTable {
    let history = material.device.history;
    let sites = material.device.call_sites().sites().len();
    let mut changes: Vec<(i128, i64)> = vec![(0, 0); sites];
    for (moment, sign) in [(from, -1_i64), (to, 1)] {
        for id in live_at(history, moment) {
            let site = material.device.site_of().get(id.index()).copied();
            if let Some(change) = changes.get_mut(site.unwrap_or(CallSiteId::NONE).index()) {
                change.0 += i128::from(sign) * i128::from(history.allocations.bytes[id.index()]);
                change.1 += sign;
            }
        }
    }
    let mut rows: Vec<FindingRow> = (0..)
        .zip(changes)
        .filter(|&(_, (bytes, _))| bytes > 0)
        .map(|(site, (bytes, count))| FindingRow {
            label: material
                .device
                .call_sites()
                .get(CallSiteId(site))
                .label
                .clone(),
            site: Some(CallSiteId(site)),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            count: count.max(0) as u64,
            remark: String::new(),
        })
        .collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.bytes), row.site));
    rows.truncate(ROWS);
    FindingTable {
        title: "Call sites that hold more after the last step".to_owned(),
        counted: "more allocations".to_owned(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::trend;

    #[test]
    fn a_trend_rises_for_good() {
        let mib = |values: &[u64]| values.iter().map(|value| value << 20).collect::<Vec<_>>();
        assert_eq!(trend(&mib(&[10, 20, 30, 40])), Some(30 << 20));
        assert_eq!(trend(&mib(&[10, 20, 19, 30, 40, 50, 60])), Some(50 << 20));
        assert_eq!(trend(&mib(&[10, 20, 10, 20])), None, "up and down");
        assert_eq!(trend(&mib(&[40, 30, 20, 10])), None);
        assert_eq!(trend(&mib(&[10, 10, 10, 10])), None);
        assert_eq!(trend(&mib(&[10, 40, 40, 40])), None, "one rise is no trend");
        assert_eq!(
            trend(&mib(&[10_000, 10_001, 10_002, 10_003])),
            None,
            "too little"
        );
        assert_eq!(trend(&[]), None);
    }
}
