//! A device at a glance.

use vramscope_core::analysis::capture::AllocatorKind;
use vramscope_core::analysis::findings::{Finding, FindingTable, place_label};
use vramscope_core::analysis::lanes::{Step, Steps};
use vramscope_core::analysis::live_at::live_at;
use vramscope_core::analysis::overview::{GapAt, Overview, SegmentsKnown, Sources, overview};
use vramscope_view::theme::Theme;

use super::super::super::document::{Device, Document};
use super::{rgb_of, share, site_rows};
use crate::protocol::views::overview::{
    Bar, Card, CardTable, DeviceOverview, Part, PartKind, Peak, Row, StepRow, StepTable,
};

/// Call sites that are listed at the peak.
const SITES: usize = 10;
/// Steps that are listed, the newest: more are not read, and growth is told by a finding.
const STEPS: usize = 200;

/// Finds everything out, which takes a while.
pub(super) fn make(document: &Document, device: Device<'_>) -> Overview {
    overview(
        Sources {
            recording: document.recording(device),
            index: document.allocator(device),
            sites: &document.words().call_sites,
            site_of: document.site_of(device),
            steps: device.steps(&document.snapshot),
        },
        SITES,
    )
}

/// What was found out, as it is shown.
pub(super) fn shown(
    document: &Document,
    device: Device<'_>,
    found: &Overview,
    theme: &Theme,
) -> DeviceOverview {
    let (history, sites) = (device.history, &document.words().call_sites);
    let top = &found.peak_sites;
    let mut peak_sites = site_rows(sites, &top.sites, top.bytes, theme);
    if top.other_sites > 0 {
        let largest = top.sites.first().map_or(0, |total| total.bytes);
        peak_sites.push(Row {
            label: if top.other_sites == 1 {
                "1 further call site".to_owned()
            } else {
                format!("{} further call sites", top.other_sites)
            },
            rgb: None,
            is_site: false,
            bytes: top.other_bytes,
            count: top.other_count,
            share: share(top.other_bytes, largest.max(top.other_bytes)),
            percent: Some(100.0 * share(top.other_bytes, top.bytes)),
            remark: String::new(),
        });
    }
    let moment = history.peak_moment;
    DeviceOverview {
        device: history.device,
        events: history.event_count,
        allocator: AllocatorKind::of(&document.snapshot),
        segments: found.segments,
        bars: bars(document, device, found),
        peak: Peak {
            bytes: device.peak_bytes(),
            moment,
            since_start_us: since_start(device, moment),
            allocations: live_at(history, moment).count() as u64,
        },
        peak_sites,
        releases: found.releases.clone(),
        ooms: found.ooms,
        cards: found
            .findings
            .iter()
            .map(|finding| card(document, finding, theme))
            .collect(),
        steps: device.steps(&document.snapshot).map(step_table),
    }
}

fn since_start(device: Device<'_>, moment: u32) -> Option<i64> {
    let times = &device.history.moment_start_us;
    let (start, time) = (times.first()?, times.get(moment as usize)?);
    Some(time.saturating_sub(*start))
}

fn bars(document: &Document, device: Device<'_>, found: &Overview) -> Vec<Bar> {
    if matches!(found.segments, SegmentsKnown::None | SegmentsKnown::MadeUp) {
        return Vec::new();
    }
    let longest = found.gaps.iter().map(|at| at.gap.reserved_bytes).max();
    let longest = longest.unwrap_or(0);
    let mut bars: Vec<Bar> = Vec::new();
    for at in &found.gaps {
        // A failure's bar counts what its own request could have used, which is another split.
        let same = bars
            .iter_mut()
            .find(|bar| bar.moment == at.gap.moment && bar.parts == parts(at, longest));
        match same {
            Some(bar) => bar.occasions.push(at.occasion),
            None => bars.push(bar(document, device, at, longest)),
        }
    }
    bars
}

fn bar(document: &Document, device: Device<'_>, at: &GapAt, longest: u64) -> Bar {
    let gap = &at.gap;
    Bar {
        occasions: vec![at.occasion],
        moment: gap.moment,
        since_start_us: since_start(device, gap.moment),
        reserved_bytes: gap.reserved_bytes,
        active_bytes: at.active_bytes,
        gap_bytes: gap.gap_bytes(),
        gap_percent: 100.0 * share(gap.gap_bytes(), gap.reserved_bytes),
        parts: parts(at, longest),
        largest_free_bytes: gap.largest_free_bytes,
        outside_bytes: gap.outside_bytes,
        own: gap
            .own
            .map(|own| place_label(&document.words().streams, own))
            .unwrap_or_default(),
    }
}

fn parts(at: &GapAt, longest: u64) -> Vec<Part> {
    let gap = &at.gap;
    let parts = [
        (PartKind::InUse, gap.in_use_bytes),
        (PartKind::Pending, gap.pending_bytes),
        (PartKind::Rounding, gap.rounding_bytes),
        (PartKind::Partly, gap.partly_bytes),
        (PartKind::Empty, gap.empty_bytes),
        (PartKind::OtherPools, gap.other_pools_bytes),
        (PartKind::OtherStreams, gap.other_streams_bytes),
    ];
    let part = |(kind, bytes)| Part {
        kind,
        bytes,
        share: share(bytes, longest),
    };
    parts.into_iter().map(part).collect()
}

fn card(document: &Document, finding: &Finding, theme: &Theme) -> Card {
    let table = |table: &FindingTable| card_table(document, table, theme);
    Card {
        kind: finding.kind,
        severity: finding.severity,
        bytes: finding.bytes,
        title: finding.title.clone(),
        seen: finding.seen.clone(),
        figures: finding.figures.clone(),
        may_mean: finding.may_mean.clone(),
        to_try: finding.to_try.clone(),
        tables: finding.tables.iter().map(table).collect(),
        evidence: finding.evidence.clone(),
    }
}

fn card_table(document: &Document, table: &FindingTable, theme: &Theme) -> CardTable {
    let sites = &document.words().call_sites;
    let largest = table.rows.iter().map(|row| row.bytes).max().unwrap_or(0);
    let rows = table.rows.iter().map(|row| Row {
        label: row.label.clone(),
        rgb: row.site.map(|site| rgb_of(sites, site, theme)),
        is_site: row.site.is_some_and(|site| site.0 > 0),
        bytes: row.bytes,
        count: row.count,
        share: share(row.bytes, largest),
        percent: None,
        remark: row.remark.clone(),
    });
    CardTable {
        title: table.title.clone(),
        counted: table.counted.clone(),
        rows: rows.collect(),
    }
}

fn step_table(steps: &Steps) -> StepTable {
    let left_out = steps.steps.len().saturating_sub(STEPS);
    let listed = &steps.steps[left_out..];
    let highest = listed.iter().map(|step| step.totals.peak_bytes).max();
    let highest = highest.unwrap_or(0);
    let row = |step: &Step| {
        let totals = &step.totals;
        StepRow {
            number: step.number,
            moments: step.moments,
            us: step
                .start_us
                .zip(step.end_us)
                .map(|(start, end)| end.saturating_sub(start)),
            is_whole: step.is_whole,
            before_bytes: totals.before_bytes,
            after_bytes: totals.after_bytes,
            peak_bytes: totals.peak_bytes,
            peak_moment: totals.peak_moment,
            allocated_bytes: totals.allocated_bytes,
            allocations: totals.allocations,
            after_share: share(totals.after_bytes, highest),
            peak_share: share(totals.peak_bytes, highest),
        }
    };
    StepTable {
        by: steps.by,
        pattern: steps.pattern.clone(),
        rows: listed.iter().map(row).collect(),
        left_out: left_out as u64,
    }
}
