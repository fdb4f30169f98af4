//! Makes the summary of a rank from a device of a recording.

use std::collections::BTreeMap;

use super::model::{
    Curve, Failure, Fleet, Fragmentation, Growth, Place, Rank, Site, SiteId, Source, StepLevels,
    Told,
};
use crate::analysis::code::frames::clip;
use crate::analysis::compare::flat_settings::flat_settings;
use crate::analysis::compare::side::LABEL_MAX_BYTES;
use crate::analysis::groups::grouping::{GroupColumn, named_totals};
use crate::analysis::groups::leaks::leaks;
use crate::analysis::groups::turnover::Amount;
use crate::analysis::memory::gap::Gap;
use crate::analysis::properties::Property;
use crate::analysis::recording::Device;
use crate::analysis::report::findings::FailedRequest;
use crate::analysis::report::overview::{Overview, SegmentsKnown, overview};
use crate::analysis::time::curves::{CurveAxis, place};
use crate::analysis::time::history::History;
use crate::analysis::time::selection::Selection;

/// Most call sites of a summary; the largest ones are taken.
const SITES_MAX: usize = 4096;

/// Most findings of a summary; the most severe ones are taken.
const FINDINGS_MAX: usize = 8;

/// How detailed a summary is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// What is quick to compute: figures, the curve, and call sites at the peak.
    Peak,
    /// Everything, which takes about as long as the overview of the file.
    All,
}

impl Fleet {
    /// The devices of a snapshot on which something happened, as ranks.
    #[must_use]
    pub fn of<'a>(
        place: &Place,
        source: &Source,
        devices: impl IntoIterator<Item = Device<'a>>,
        detail: Detail,
    ) -> Self {
        let ranks = devices
            .into_iter()
            .filter(|device| !device.is_host_beside_others());
        Self::of_all(ranks.filter_map(|device| {
            let mut fleet = Self::default();
            let rank = summary(&mut fleet, device, detail)?;
            fleet.ranks.push(Rank {
                place: place.clone(),
                source: source.clone(),
                ..rank
            });
            Some(fleet)
        }))
    }
}

/// The summary of a device without its place; `None` if the device has neither allocations nor segments. Adds labels and
/// settings to `fleet`.
fn summary(fleet: &mut Fleet, device: Device<'_>, detail: Detail) -> Option<Rank> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let moment = history.peak_moment;
    if history.allocations.is_empty() && history.most_reserved_bytes() == 0 {
        return None;
    }
    fleet.settings = vec![flat_settings(&snapshot.settings)];
    let mut rank = Rank {
        device: device.index(),
        producer: clip(&snapshot.producer.name, LABEL_MAX_BYTES).to_owned(),
        events: history.event_count.into(),
        allocations: history.allocations.len() as u64,
        peak_bytes: history.peak_bytes(),
        peak_moment: moment,
        peak_time_us: history.moment_start_us.get(moment),
        reserved_at_peak_bytes: history.reserved_bytes(moment),
        peak_reserved_bytes: device.peak_reserved_bytes().unwrap_or(0),
        end_bytes: history.active_bytes.last().copied().unwrap_or(0),
        device_bytes: device.capacity().map(|capacity| capacity.bytes),
        ooms: device.failed_requests().len() as u64,
        curve: Curve::of(history),
        damage: snapshot
            .warnings
            .damage()
            .map(|warning| warning.count)
            .sum(),
        ..Rank::default()
    };
    let mut sites = Sites::default();
    let by_site = GroupColumn::of(device, Property::CallSite, 1);
    for (label, peak) in named_totals(history, &by_site, Selection::LiveAt(moment)) {
        sites.at(label).peak.add(peak);
    }
    if detail == Detail::All {
        let overview = overview(device, 1);
        rank.retries = Some(overview.releases.for_request.runs);
        rank.fragmentation = fragmentation(&overview);
        rank.findings = told(&overview);
        steps(&mut rank, &mut sites, device, &by_site);
        failures(&mut rank, &mut sites, device, &overview);
    }
    sites.give(fleet, &mut rank);
    rank.keep_sites(SITES_MAX);
    Some(rank)
}

/// Call sites by label, in order of appearance.
#[derive(Default)]
struct Sites {
    ids: BTreeMap<String, SiteId>,
    rows: Vec<Site>,
}

impl Sites {
    fn at(&mut self, label: String) -> &mut Site {
        let next = self.rows.len() as SiteId;
        let site = *self.ids.entry(label).or_insert(next);
        if site == next {
            self.rows.push(Site {
                site,
                ..Site::default()
            });
        }
        &mut self.rows[site as usize]
    }

    fn give(self, fleet: &mut Fleet, rank: &mut Rank) {
        let mut labels = vec![String::new(); self.rows.len()];
        for (label, id) in self.ids {
            labels[id as usize] = label;
        }
        fleet.labels = labels;
        let holds = |row: &Site| {
            row.peak != Amount::default() || row.end_bytes > 0 || row.left_per_step_bytes > 0
        };
        rank.sites = self.rows.into_iter().filter(holds).collect();
    }
}

fn fragmentation(overview: &Overview) -> Option<Fragmentation> {
    let gap: &Gap = &overview.gaps.first()?.gap;
    (overview.segments == SegmentsKnown::Real).then(|| Fragmentation {
        free_bytes: gap.free_bytes(),
        scattered_bytes: gap.scattered_bytes(),
        largest_free_bytes: gap.largest_free_anywhere_bytes,
        rounding_bytes: gap.rounding_bytes,
    })
}

fn told(overview: &Overview) -> Vec<Told> {
    let gravest = overview.findings.iter().take(FINDINGS_MAX);
    let told = gravest.map(|finding| Told {
        kind: finding.kind,
        severity: finding.severity,
        bytes: finding.bytes,
        title: finding.title.clone(),
    });
    told.collect()
}

/// Adds the memory at the end, and what each step left.
fn steps(rank: &mut Rank, sites: &mut Sites, device: Device<'_>, by_site: &GroupColumn) {
    let history = device.history;
    let end = Selection::LiveAt(history.event_count);
    for (label, left) in named_totals(history, by_site, end) {
        let site = sites.at(label);
        site.end_bytes = site.end_bytes.saturating_add(left.bytes);
    }
    let Some(steps) = device.steps() else { return };
    let settled: Vec<_> = steps.settled().iter().map(|step| step.moments).collect();
    let knows_frees = !device.snapshot().warnings.hide_frees();
    let left = knows_frees.then(|| leaks(history, by_site, &settled).groups);
    for group in left.into_iter().flatten() {
        if let Some(label) = by_site.labels.get(group.group as usize) {
            let site = sites.at(label.clone());
            site.left_per_step_bytes = site.left_per_step_bytes.saturating_add(group.median_bytes);
        }
    }
    rank.growth = Some(Growth {
        steps: steps.steps.iter().filter(|step| step.is_whole).count() as u64,
        per_step_bytes: device.growth().map(|growth| growth.per_step_bytes),
    });
    let newest = steps.steps.len().saturating_sub(Curve::STEPS);
    let curve = &rank.curve;
    let levels = steps.steps[newest..].iter().map(|step| {
        let (first, last) = step.moments;
        let live = history.active_bytes.get(first as usize..=last as usize);
        let lowest = live.and_then(|live| live.iter().min());
        StepLevels {
            number: step.number,
            from: place(history, CurveAxis::Time, first),
            lowest: curve.low_level(lowest.copied().unwrap_or(0)),
            highest: curve.high_level(step.totals.peak_bytes),
        }
    });
    rank.curve.steps = levels.collect();
}

fn failures(rank: &mut Rank, sites: &mut Sites, device: Device<'_>, overview: &Overview) {
    let moments = device.failed_requests();
    let has_segments = overview.segments == SegmentsKnown::Real;
    let ends = [moments.first(), moments.get(1..).and_then(<[u32]>::last)];
    let failures = ends.into_iter().flatten().map(|&moment| {
        let state = device.state_at(moment);
        let failed = FailedRequest::of(device, &overview.releases, has_segments, moment, &state);
        let call_sites = device.call_sites();
        let label = &call_sites.get(call_sites.of_stack(failed.stack)).label;
        Failure {
            moment,
            time_us: device.history.moment_start_us.get(moment),
            requested_bytes: failed.requested_bytes,
            device_free_bytes: failed.device_free_bytes,
            active_bytes: device.history.active_bytes_at(moment),
            reserved_bytes: device.history.reserved_bytes(moment),
            site: sites.at(label.clone()).site,
            why: failed.verdict().words().to_owned(),
        }
    });
    rank.failures = failures.collect();
}

impl Curve {
    fn of(history: &History) -> Self {
        let axis = CurveAxis::Time;
        let last = place(history, axis, history.event_count);
        let length = last.max(1);
        // More bins than positions would stay empty.
        let bins = last.saturating_add(1).min(Self::BINS as u64);
        let highest = history.peak_bytes().max(history.most_reserved_bytes());
        let mut curve = Self {
            unit_bytes: highest.div_ceil(Self::LEVELS.into()).max(1),
            start_us: history.moment_start_us.first(),
            length,
            lowest: vec![Self::LEVELS; bins as usize],
            highest: vec![0; bins as usize],
            reserved: vec![0; bins as usize],
            steps: Vec::new(),
        };
        let bin = |place: u64| {
            let at = u128::from(place) * u128::from(bins) / u128::from(length);
            (at as u64).min(bins - 1) as usize
        };
        let mut reserved = 0;
        let mut changes = history.reserved_steps.iter().peekable();
        for (moment, &active) in (0..).zip(&history.active_bytes) {
            while let Some(&&(_, bytes)) = changes.peek().filter(|change| change.0 <= moment) {
                reserved = bytes;
                changes.next();
            }
            let from = place(history, axis, moment);
            // A moment that ends where a bin begins is not part of that bin.
            let to = place(history, axis, moment.saturating_add(1)).saturating_sub(1);
            let levels = (curve.low_level(active), curve.high_level(active));
            let reserved = curve.high_level(reserved);
            for bin in bin(from)..=bin(to.max(from)) {
                curve.lowest[bin] = curve.lowest[bin].min(levels.0);
                curve.highest[bin] = curve.highest[bin].max(levels.1);
                curve.reserved[bin] = curve.reserved[bin].max(reserved);
            }
        }
        if history.most_reserved_bytes() == 0 {
            curve.reserved = Vec::new();
        }
        curve
    }

    fn low_level(&self, bytes: u64) -> u16 {
        (bytes / self.unit_bytes.max(1)).min(Self::LEVELS.into()) as u16
    }

    fn high_level(&self, bytes: u64) -> u16 {
        bytes
            .div_ceil(self.unit_bytes.max(1))
            .min(Self::LEVELS.into()) as u16
    }
}

#[cfg(test)]
mod tests;
