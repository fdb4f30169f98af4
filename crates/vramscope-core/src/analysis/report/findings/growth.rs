//! Finding: active memory grows from step to step. With many steps the totals show it; with few, the call sites whose
//! memory from every step is kept.

use std::collections::HashMap;

use super::words::{CACHE_GROWS, counted, percent, stayed_filter};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS, Severity,
    is_notable, is_share,
};
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::report::names::named;
use crate::analysis::report::summary::saturating_sum;
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lanes::{FEW_STEPS, Steps, StepsBy, WARM_UP};
use crate::analysis::time::selection::{Moments, Selection};
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Minimum number of steps after the first [`WARM_UP`] ones.
pub(super) const ENOUGH: usize = 4;
/// Minimum share of the parts with growth.
const RISING_PERCENT: usize = 80;
/// With more steps than this, they are divided into this many parts, and the minimum of each counts: memory that a
/// single step keeps longer is no trend, and not every step needs to add something.
const PARTS: usize = 16;
const SMALLEST_GROWTH_BYTES: u64 = 1 << 20;
/// Minimum share of the growth in the memory live at the end.
const LEAST_PERCENT: u64 = 1;
/// The call sites with at least this share of the growth are named in the title.
const MAIN_PERCENT: u64 = 60;
/// Maximum number of such call sites.
const MOST_NAMED: usize = 2;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let steps = material.device.steps()?;
    of_trend(material, steps).or_else(|| of_sites(material, steps))
}

/// Growth in the totals of many steps.
fn of_trend(material: Material<'_>, steps: &Steps) -> Option<Finding> {
    let settled = steps.settled();
    if settled.len() < ENOUGH {
        return None;
    }
    let live: Vec<u64> = settled.iter().map(|step| step.totals.after_bytes).collect();
    let (first, last) = (settled.first()?, settled.last()?);
    let growth = trend(&live)?;
    let intervals = (settled.len() - 1) as u64;
    let moments = (first.moments.1, last.moments.1);
    let name = first.title(&material.device.snapshot().strings);
    let lows = lows(&live);
    let rises = match lows.len() == live.len() {
        true => format!(
            "At the end of {} of {} more was live than at the end of the one before",
            rising(&lows),
            counted(intervals, "step")
        ),
        false => format!(
            "{}, in {} parts: from part to part, the least memory live at the end of a step rose {} times",
            counted(live.len() as u64, "step"),
            lows.len(),
            rising(&lows)
        ),
    };
    let table = grown_sites(material, moments);
    let at = match most_of(&table.rows, growth) {
        Some(sites) => format!(", most of it at {sites}"),
        None => String::new(),
    };
    let seen = format!(
        "{rises}: from {} (after {}) to {}, {}. The first {WARM_UP} steps are left out.{}",
        Bytes(live[0]),
        named(&name),
        Bytes(live[live.len() - 1]),
        more(growth, live[0]),
        how_told(steps)
    );
    let title = format!(
        "Live memory grows by {} per step{at}",
        Bytes(growth / intervals)
    );
    Some(finding(material, growth, moments, [title, seen], table))
}

/// The amount of growth, in words.
fn more(growth: u64, from: u64) -> String {
    match growth < from {
        true => format!("{} more", percent(growth, from)),
        false => format!(
            "{:.1} times as much",
            (growth as f64 + from as f64) / from.max(1) as f64
        ),
    }
}

/// The few call sites that together hold most of the growth, in words.
fn most_of(rows: &[FindingRow], growth: u64) -> Option<String> {
    let mut bytes = 0_u64;
    let enough = rows.iter().take(MOST_NAMED).position(|row| {
        bytes = bytes.saturating_add(row.bytes);
        is_share(bytes, MAIN_PERCENT, growth)
    })?;
    let names = rows[..=enough].iter().map(|row| named(&row.label));
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    Some(names.join(" and "))
}

/// Growth in few steps: call sites that keep as much from every step as from the one before.
fn of_sites(material: Material<'_>, steps: &Steps) -> Option<Finding> {
    let history = material.device.history;
    let kept = kept_sites(material, steps);
    let (total, per_step) = kept.iter().fold((0_u64, 0_u64), |(total, per_step), site| {
        (
            total.saturating_add(site.bytes),
            per_step.saturating_add(site.per_step_bytes),
        )
    });
    let live = history.active_bytes.last().copied().unwrap_or(0);
    if !is_notable(total, LEAST_PERCENT, live) {
        return None;
    }
    let sites = material.device.call_sites();
    let label = |site: CallSiteId| &sites.get(site).label;
    let main = kept.first()?;
    let others = match kept.len() as u64 - 1 {
        0 => String::new(),
        others => format!(" and {}", counted(others, "other call site")),
    };
    let title = format!(
        "Live memory grows by {} per step, at {}{others}",
        Bytes(per_step),
        named(label(main.site))
    );
    let seen = format!(
        "What {} made in each of {} is still live at the end: {} in all.{}",
        named(label(main.site)),
        counted(main.steps, "step"),
        Bytes(total),
        how_told(steps)
    );
    let rows = kept.iter().take(ROWS).map(|kept| FindingRow {
        label: label(kept.site).clone(),
        site: Some(kept.site),
        bytes: kept.bytes,
        count: kept.count,
        remark: format!("{} per step", Bytes(kept.per_step_bytes)),
    });
    let table = FindingTable {
        title: "Call sites of which each step keeps something".to_owned(),
        counted: "allocations".to_owned(),
        rows: rows.collect(),
    };
    let begin = steps.steps.get(main.first_step)?.moments.0;
    let moments = (begin, history.event_count);
    Some(finding(material, total, moments, [title, seen], table))
}

/// How inferred steps were found, as a sentence.
pub(super) fn how_told(steps: &Steps) -> &'static str {
    match steps.by {
        StepsBy::InferredOptimizer => {
            " The steps are inferred: each ends where stacks show the optimizer."
        }
        StepsBy::InferredBackward => {
            " The steps are inferred: each ends where stacks show the backward pass."
        }
        StepsBy::InferredRepetition => " The steps are inferred: the same code repeats.",
        StepsBy::InferredForward => " The steps are inferred: each begins with a forward pass.",
        _ => "",
    }
}

fn finding(
    material: Material<'_>,
    bytes: u64,
    moments: Moments,
    [title, seen]: [String; 2],
    table: FindingTable,
) -> Finding {
    let is_cache = are_caches(material, moments);
    let (may_mean, to_try) = match is_cache {
        true => (CACHE_GROWS, LESS_CACHE),
        false => advice(material.config.allocator),
    };
    Finding {
        kind: FindingKind::Growth,
        severity: if is_cache {
            Severity::Note
        } else {
            Severity::Problem
        },
        bytes,
        title,
        seen,
        figures: Vec::new(),
        may_mean: may_mean.to_owned(),
        setting: None,
        to_try: vec![
            "Look at the call sites that grew, and at who holds what they make.".to_owned(),
            to_try.to_owned(),
        ],
        tables: vec![table],
        evidence: vec![
            Evidence::range("stacks of what stayed", EvidenceOf::CallStacks, moments)
                .with_selection(Selection::RetainedFrom(moments)),
            Evidence::new("what stayed, one by one", EvidenceOf::Allocations)
                .with_filter(stayed_filter(moments)),
            Evidence::range("the steps", EvidenceOf::LiveMemory, moments),
        ],
    }
}

/// Advice for a growing cache.
const LESS_CACHE: &str = "Shorter answers, fewer requests at a time, or a cache of a fixed size.";

/// Whether most of the memory made between two moments and kept is a cache of keys and values.
fn are_caches(material: Material<'_>, (from, to): Moments) -> bool {
    let table = &material.device.history.allocations;
    let rules = material.device.rule_of();
    let stayed = (0..table.len())
        .filter(|&row| table.born[row] > from && table.born[row] <= to && table.died[row] > to);
    let [mut all, mut cached] = [0_u128; 2];
    for row in stayed {
        let bytes = u128::from(table.bytes[row]);
        all += bytes;
        cached += if rules[row].role() == Role::KvCache {
            bytes
        } else {
            0
        };
    }
    cached * 2 > all
}

/// What growth may mean, and the advice.
fn advice(allocator: AllocatorKind) -> (&'static str, &'static str) {
    match allocator {
        AllocatorKind::Torch => (
            "Something keeps a reference from each step: a list of losses or outputs with their graph, a cache, state that \
             grows with the sequence. Caches that fill up to a limit look the same while they fill.",
            "Keep loss.item() or loss.detach() instead of loss; clear lists between steps.",
        ),
        AllocatorKind::Driver => (
            "Something keeps a buffer from each step: a list of results, a cache, state that grows with the sequence, a \
             buffer that is never dropped. Caches that fill up to a limit look the same while they fill.",
            "Copy to the host what is kept of a step, and drop its buffers; reuse buffers from step to step.",
        ),
    }
}

/// Memory that steps made at one call site and nothing frees.
#[derive(Debug, PartialEq, Eq)]
struct KeptSite {
    site: CallSiteId,
    bytes: u64,
    count: u64,
    /// The minimum over steps.
    per_step_bytes: u64,
    /// Index of the first step that kept something.
    first_step: usize,
    /// Number of steps from the first to the last that kept something.
    steps: u64,
}

/// The call sites that keep something from all steps, at least [`FEW_STEPS`], most bytes first. The first and the last
/// steps are rarely recorded in full, so the first [`WARM_UP`] and those after the last complete one may be missing.
fn kept_sites(material: Material<'_>, steps: &Steps) -> Vec<KeptSite> {
    let table = &material.device.history.allocations;
    let site_of = material.device.site_of();
    let mut found: HashMap<CallSiteId, Vec<(usize, u64)>> = HashMap::new();
    let kept = (0..table.len()).filter(|&row| table.died[row] == NEVER && table.born[row] > 0);
    for row in kept {
        let born = table.born[row];
        let step = steps.steps.partition_point(|step| step.moments.1 < born);
        let is_inside = steps
            .steps
            .get(step)
            .is_some_and(|step| step.moments.0 < born);
        let site = site_of.get(row).copied().unwrap_or(CallSiteId::NONE);
        if is_inside && site != CallSiteId::NONE {
            found
                .entry(site)
                .or_default()
                .push((step, table.bytes[row]));
        }
    }
    let last_whole = steps.steps.iter().rposition(|step| step.is_whole);
    let mut kept: Vec<KeptSite> = found
        .into_iter()
        .filter_map(|(site, rows)| kept_site(site, &rows, last_whole?))
        .collect();
    kept.sort_few_by_key(|kept| (std::cmp::Reverse(kept.bytes), kept.site));
    kept
}

/// `rows` are the steps and bytes of the kept allocations of a call site, in order of the steps.
fn kept_site(site: CallSiteId, rows: &[(usize, u64)], last_whole: usize) -> Option<KeptSite> {
    let by_step: Vec<u64> = rows
        .chunk_by(|a, b| a.0 == b.0)
        .map(|of_step| saturating_sum(of_step.iter().map(|row| row.1)))
        .collect();
    let (first_step, last) = (rows.first()?.0, rows.last()?.0);
    let is_in_all = by_step.len() == last - first_step + 1;
    let lasts = first_step <= WARM_UP && last >= last_whole && by_step.len() >= FEW_STEPS;
    let per_step_bytes = *by_step.iter().min()?;
    (is_in_all && lasts && per_step_bytes >= SMALLEST_GROWTH_BYTES).then(|| KeptSite {
        site,
        bytes: saturating_sum(by_step.iter().copied()),
        count: rows.len() as u64,
        per_step_bytes,
        first_step,
        steps: by_step.len() as u64,
    })
}

/// The growth from the first to the last value, if most parts rise, the second half stays above the first, and the last
/// quarter rises at least half as fast as the whole: a cache that has reached its limit no longer does.
fn trend(live: &[u64]) -> Option<u64> {
    let growth = live.last()?.checked_sub(*live.first()?)?;
    let lows = lows(live);
    let (early, late) = lows.split_at(lows.len() / 2);
    let is_lasting = late.iter().min() > early.iter().max();
    let is_rising = rising(&lows) * 100 >= (lows.len() - 1) * RISING_PERCENT;
    let (first, last) = (lows[0], lows[lows.len() - 1]);
    let (whole, from) = (lows.len() - 1, (lows.len() - 1) * 3 / 4);
    let rise = |from: u64| u128::from(last.saturating_sub(from));
    let goes_on = rise(lows[from]) * 2 * whole as u128 >= rise(first) * (whole - from) as u128;
    (is_rising && is_lasting && goes_on && is_much(growth, live[0])).then_some(growth)
}

/// The values or, for more than [`PARTS`], the minimum of each part.
fn lows(live: &[u64]) -> Vec<u64> {
    let parts = live.len().min(PARTS);
    let from = |part: usize| part * live.len() / parts.max(1);
    let low = |part: usize| live[from(part)..from(part + 1)].iter().min().copied();
    (0..parts).filter_map(low).collect()
}

/// Number of values larger than their predecessor.
fn rising(values: &[u64]) -> usize {
    values.windows(2).filter(|pair| pair[1] > pair[0]).count()
}

/// Whether the growth exceeds normal variation: half a percent in total.
pub(super) fn is_much(growth: u64, from: u64) -> bool {
    growth >= SMALLEST_GROWTH_BYTES && growth.saturating_mul(200) >= from
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
    rows.sort_few_by_key(|row| (std::cmp::Reverse(row.bytes), row.site));
    rows.truncate(ROWS);
    FindingTable {
        title: "Call sites that hold more after the last step".to_owned(),
        counted: "more allocations".to_owned(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::{KeptSite, kept_site, trend};
    use crate::analysis::code::call_sites::CallSiteId;

    #[test]
    fn every_step_must_keep_something() {
        let mib = 1 << 20;
        let kept = |rows: &[(usize, u64)]| kept_site(CallSiteId(7), rows, 2);
        let expected = KeptSite {
            site: CallSiteId(7),
            bytes: 130 * mib,
            count: 4,
            per_step_bytes: 40 * mib,
            first_step: 0,
            steps: 3,
        };
        let rows = [(0, 40 * mib), (1, 40 * mib), (1, 10 * mib), (2, 40 * mib)];
        assert_eq!(kept(&rows), Some(expected));
        assert_eq!(kept(&rows[1..]), None, "too few");
        assert_eq!(kept(&[(0, mib), (1, mib), (3, mib)]), None, "not in all");
        assert_eq!(kept_site(CallSiteId(7), &rows, 3), None, "not in the last");
        assert_eq!(kept(&[(0, mib), (1, 9), (2, mib)]), None, "hardly anything");
        assert_eq!(kept(&[]), None);
    }

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
        let now_and_then: Vec<u64> = (0..320)
            .map(|step| (100 + step / 10 + step % 3) << 20)
            .collect();
        assert_eq!(trend(&now_and_then), Some(32 << 20), "not in each step");
        let filled: Vec<u64> = (0..320)
            .map(|step: u64| (100 + step.min(200)) << 20)
            .collect();
        assert_eq!(trend(&filled), None, "full after two thirds");
        let fills: Vec<u64> = (0..320_u64)
            .map(|step| (100 + step.min(200) + step / 40) << 20)
            .collect();
        assert_eq!(trend(&fills), None, "nearly full");
    }
}
