//! The overview of a device: its peaks and their call sites, the use of reserved memory, requests to CUDA, and
//! findings.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::causes::{Cause, CauseClass, causes, conclude};
use super::findings::{
    FailedRequest, Finding, FindingKind, FindingTable, Material, SettingAdvice, findings,
    site_table,
};
use super::peak_roles::PeakRoles;
use crate::Snapshot;
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::{Arena, Gap, gap};
use crate::analysis::memory::releases::{Releases, releases};
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::Device;
use crate::analysis::report::summary::Peak;
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::Steps;
use crate::ids::EventId;
use crate::model::DeviceIndex;
use crate::units::Bytes;

/// Maximum number of steps in an overview; the newest are kept.
const MOST_STEPS: usize = 200;

/// What makes a moment special.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// The first moment with the most active bytes.
    Peak,
    /// The first moment with the most active bytes among those with the most reserved bytes.
    ReservedPeak,
    /// The last failed request.
    OutOfMemory,
    /// After the last event.
    End,
}

/// Whether a file's segments can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentsKnown {
    /// They are the allocator's segments.
    Real,
    /// They contradict the rest of the file, or contain too little of the live memory: the file is damaged or was
    /// altered.
    Doubtful,
    /// `_profile_to_snapshot` invented one segment that spans all addresses.
    MadeUp,
    /// The file has none.
    None,
}

impl SegmentsKnown {
    /// Checks the segments of a device at its peaks and at its end.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        let history = device.history;
        let moments = [
            history.peak_moment,
            reserved_peak(history),
            history.event_count,
        ];
        Self::judged_by(
            device,
            &moments.map(|moment| gap(&device.state_at(moment), None)),
        )
    }

    /// A sentence that says why figures about segments are doubtful or missing, if they are.
    #[must_use]
    pub fn remark(self) -> Option<&'static str> {
        match self {
            Self::Real => None,
            Self::Doubtful => {
                Some("The segments of this file contradict the rest of it: read this with care.")
            }
            Self::MadeUp => Some(
                "_profile_to_snapshot makes up one segment that spans all addresses: what was really reserved is not known.",
            ),
            Self::None => {
                Some("The file lists no segments: what was reserved of the device is not known.")
            }
        }
    }

    /// Whether the file's producer invented the segments.
    #[must_use]
    pub fn are_made_up(snapshot: &Snapshot) -> bool {
        snapshot.producer.name.starts_with("_profile_to_snapshot")
    }

    /// Decides by the producer, and by the reserved memory at these moments.
    #[must_use]
    pub fn judged_by(device: Device<'_>, gaps: &[Gap]) -> Self {
        if Self::are_made_up(device.snapshot()) {
            Self::MadeUp
        } else if device.snapshot().warnings.exceed_memory() {
            Self::Doubtful
        } else if gaps.iter().all(|gap| gap.reserved_bytes == 0) && !device.knows_segments() {
            Self::None
        } else if gaps.iter().all(Gap::is_trusted) {
            Self::Real
        } else {
            Self::Doubtful
        }
    }
}

/// The reserved memory at a special moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GapAt {
    /// What is special about the moment.
    pub occasion: Occasion,
    /// The reserved memory, split into parts.
    pub gap: Gap,
    /// Active bytes at that moment.
    pub active_bytes: u64,
    /// Time of the moment, in µs since the Unix epoch; `None` if the file has no times.
    pub time_us: Option<i64>,
}

/// The overview of a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overview {
    /// The device's index.
    pub device: DeviceIndex,
    /// Number of recorded events.
    pub events: u32,
    /// Whether the file has more than the final state.
    pub has_trace: bool,
    /// The allocator whose allocations the file contains.
    pub allocator: AllocatorKind,
    /// The pool and stream whose free memory counts as usable at the active peak; empty if no segments are known.
    pub own_place: String,
    /// Start of the recording, in µs since the Unix epoch; `None` if the file has no times.
    pub start_us: Option<i64>,
    /// The peak of active memory.
    pub peak: Peak,
    /// The reserved memory at the active peak, at the reserved peak, at the last failed request if any, and at the end.
    pub gaps: Vec<GapAt>,
    /// The active peak, by role.
    pub roles: PeakRoles,
    /// The call sites with the most live bytes at the active peak, and the rest.
    pub peak_sites: FindingTable,
    /// Number of call sites that had live allocations at the active peak, not counting allocations without a
    /// stack.
    pub peak_site_count: u64,
    /// Whether the segments can be relied on.
    pub segments: SegmentsKnown,
    /// Segments obtained from the device and released to it.
    pub releases: Releases,
    /// Number of failed requests; `None` if the file would not record one.
    pub ooms: Option<u64>,
    /// Whether the file is damaged or contradicts itself, see [`Warnings::damage`](crate::model::Warnings::damage).
    pub is_damaged: bool,
    /// The findings, sorted by severity, then by bytes.
    pub findings: Vec<Finding>,
    /// Why memory ran out or so much was used, the most important first. Empty if nothing was live.
    pub causes: Vec<Cause>,
    /// The newest steps, at most 200; `None` if no steps were found.
    pub steps: Option<Steps>,
    /// Number of older steps left out of `steps`.
    pub steps_left_out: u64,
}

/// The reserved memory at a moment that may be special in several ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bar {
    /// What is special about the moment.
    pub occasions: Vec<Occasion>,
    /// The reserved memory at that moment.
    pub at: GapAt,
}

impl Overview {
    /// Whether a request is known to have failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.ooms.is_some_and(|failed| failed > 0)
    }

    /// The device in one sentence: the cause with its place, bytes and the helpful setting or, without any problem, the
    /// roles at its peak.
    #[must_use]
    pub fn verdict(&self) -> String {
        let cause = self.causes.first();
        let is_wrong = |cause: &&Cause| self.has_failed() || cause.class != CauseClass::TooMuchLive;
        match (cause.filter(is_wrong), self.roles.sentence(), cause) {
            (Some(cause), _, _) | (None, None, Some(cause)) => cause.sentence(),
            (None, Some(made_of), Some(cause)) => cause.told(made_of.trim_end_matches('.')),
            (None, Some(made_of), None) => made_of,
            (None, None, None) => "Nothing was ever live.".to_owned(),
        }
    }

    /// What happened on the device, as a sentence. `failure`: its last failed request.
    #[must_use]
    pub fn happened(&self, device: Device<'_>, failure: Option<&FailedRequest>) -> String {
        let name = device.snapshot().device_name(device.index());
        let peak = Bytes(self.peak.active_bytes);
        match failure {
            Some(failure) => format!("{name} ran out of memory: {}.", failure.asked()),
            None if !self.has_trace => format!(
                "{name} holds {peak} in the state that was dumped; the file says nothing about the time before."
            ),
            None if !device.tells_failures() => {
                format!("{name} peaks at {peak}; the file does not say whether a request failed.")
            }
            None => format!("{name} peaks at {peak}; no request failed."),
        }
    }

    /// Adds the conclusion from replays with other settings, a finding of kind [`FindingKind::Replay`], to the findings
    /// and the verdict: as the first advice on a request that they serve, else as a separate finding. Settings that the
    /// replays do not confirm are no longer advised.
    pub fn conclude(&mut self, conclusion: Finding) {
        conclude(&mut self.findings, &mut self.causes, conclusion);
    }

    /// Whether a setting is advised with which replays serve the failed request. It is not if serving that one would only let a
    /// later one fail.
    #[must_use]
    pub fn advises_setting(&self) -> bool {
        self.setting_for_failure()
            .is_some_and(|it| it.replayed.is_some())
    }

    /// The setting that may help where a request failed; after `conclude`, with what replays show of it.
    #[must_use]
    pub fn setting_for_failure(&self) -> Option<&SettingAdvice> {
        let findings = self.findings.iter();
        let mut failed = findings.filter(|finding| finding.kind == FindingKind::OutOfMemory);
        failed.find_map(|finding| finding.setting.as_ref())
    }

    /// The reserved memory at the special moments, equal ones merged; without a trace, at the dump only. Empty if the
    /// segments are unknown or invented.
    #[must_use]
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars: Vec<Bar> = Vec::new();
        if matches!(self.segments, SegmentsKnown::None | SegmentsKnown::MadeUp) {
            return bars;
        }
        let split = |at: &GapAt| (at.gap.moment, at.gap.parts());
        let only_end = if self.has_trace {
            0
        } else {
            self.gaps.len().saturating_sub(1)
        };
        for at in self.gaps.iter().skip(only_end) {
            // The split at a failed request is made for its own arena, so it may differ at the same moment.
            match bars.iter_mut().find(|bar| split(&bar.at) == split(at)) {
                Some(bar) => bar.occasions.push(at.occasion),
                None => bars.push(Bar {
                    occasions: vec![at.occasion],
                    at: *at,
                }),
            }
        }
        bars
    }
}

/// The title of the table of call sites at the peak.
fn sites_title(history: &History) -> &'static str {
    if history.has_trace() {
        "What held the peak, by call site"
    } else {
        "What was live at the dump, by call site"
    }
}

/// Computes the overview of a device; `limit`: maximum number of call sites.
#[must_use]
pub fn overview(device: Device<'_>, limit: usize) -> Overview {
    let history = device.history;
    let gap_at = |moment| gap(&device.state_at(moment), None);
    let reserved_peak = reserved_peak(history);
    let at_peak = gap_at(history.peak_moment);
    let at_reserved_peak = gap_at(reserved_peak);
    let at_end = gap_at(history.event_count);
    let last = last_failure(device);
    let segments = SegmentsKnown::judged_by(device, &[at_peak, at_reserved_peak, at_end]);
    let releases = releases(device.snapshot(), history);
    let config = AllocatorConfig::of(device.snapshot());
    let live = live_at(history, history.peak_moment);
    let peak_sites = top_call_sites(device, live, limit);
    let (steps, steps_left_out) = newest_steps(device);
    let mut overview = Overview {
        device: history.device,
        events: history.event_count,
        has_trace: history.has_trace(),
        allocator: AllocatorKind::of(device.snapshot()),
        own_place: at_peak
            .own
            .map_or_else(String::new, |own| device.recording.place_label(own)),
        start_us: history.moment_start_us.first(),
        peak: Peak {
            active_bytes: device.peak_bytes(),
            moment: history.peak_moment,
            time_us: history.moment_start_us.get(history.peak_moment),
            allocations: peak_sites.count,
        },
        gaps: gaps(device, [at_peak, at_reserved_peak, at_end], last),
        roles: PeakRoles::of(device),
        peak_sites: site_table(sites_title(history), &peak_sites),
        peak_site_count: peak_site_count(device),
        steps,
        steps_left_out,
        ooms: device.failures(),
        is_damaged: device.snapshot().warnings.damage().next().is_some(),
        segments,
        findings: findings(Material {
            device,
            releases: &releases,
            config: &config,
            has_segments: segments == SegmentsKnown::Real,
            at_peak: &at_peak,
            at_reserved_peak: &at_reserved_peak,
            at_end: &at_end,
        }),
        releases,
        causes: Vec::new(),
    };
    overview.causes = causes(device, &overview);
    if !overview.causes.first().is_some_and(Cause::is_of_pieces) {
        leave_settings(&mut overview);
    }
    if overview.causes.first().is_some_and(Cause::piles_up) {
        take_back(&mut overview.findings);
    }
    overview
}

/// Removes the settings that join free memory. Where something else is the cause, they serve one request, and a later one fails.
fn leave_settings(overview: &mut Overview) {
    let failed = |finding: &&mut Finding| finding.kind == FindingKind::OutOfMemory;
    let failed = overview.findings.iter_mut().filter(failed);
    let of_failed = overview.causes.iter_mut();
    let of_failed = of_failed.filter(|cause| cause.from.is_none());
    let settings = failed.map(|finding| &mut finding.setting);
    for setting in settings.chain(of_failed.map(|cause| &mut cause.setting)) {
        *setting = None;
    }
}

/// Removes findings that contradict a cause of piled-up memory: by the rules of steps it is not growth, and yet it
/// makes the next step fail; and a smaller batch only delays that.
fn take_back(findings: &mut Vec<Finding>) {
    findings.retain(|finding| finding.kind != FindingKind::NoGrowth);
    let failed = |finding: &&mut Finding| finding.kind == FindingKind::OutOfMemory;
    if let Some(failed) = findings.iter_mut().find(failed) {
        failed.to_try.clear();
    }
}

/// The reserved memory at the special moments of a recording; `last`: the last failed request, with its arena.
fn gaps(
    device: Device<'_>,
    [peak, reserved_peak, end]: [Gap; 3],
    last: Option<(u32, Arena)>,
) -> Vec<GapAt> {
    let history = device.history;
    let on = |occasion, gap: Gap| GapAt {
        occasion,
        gap,
        active_bytes: value_at(&history.active_bytes, gap.moment).unwrap_or(0),
        time_us: history.moment_start_us.get(gap.moment),
    };
    let failed = |(moment, arena)| {
        on(
            Occasion::OutOfMemory,
            gap(&device.state_at(moment), Some(arena)),
        )
    };
    let mut gaps = vec![
        on(Occasion::Peak, peak),
        on(Occasion::ReservedPeak, reserved_peak),
    ];
    gaps.extend(last.map(failed));
    gaps.push(on(Occasion::End, end));
    gaps
}

fn peak_site_count(device: Device<'_>) -> u64 {
    let live = live_at(device.history, device.history.peak_moment);
    let sites = live.map(|id| device.site_of()[id.index()]);
    let distinct: HashSet<_> = sites.filter(|&site| site != CallSiteId::NONE).collect();
    distinct.len() as u64
}

/// The newest steps, at most [`MOST_STEPS`], and the number of older ones.
fn newest_steps(device: Device<'_>) -> (Option<Steps>, u64) {
    let Some(all) = device.steps() else {
        return (None, 0);
    };
    let left_out = all.steps.len().saturating_sub(MOST_STEPS);
    let newest = Steps {
        by: all.by,
        pattern: all.pattern.clone(),
        steps: all.steps[left_out..].to_vec(),
    };
    (Some(newest), left_out as u64)
}

fn value_at<T: Copy>(values: &[T], moment: u32) -> Option<T> {
    values.get(moment as usize).copied()
}

/// The first moment with the most active bytes among those with the most reserved bytes. Memory that is free even then
/// was not reserved for active memory.
#[must_use]
pub fn reserved_peak(history: &History) -> u32 {
    let steps = &history.reserved_steps;
    let most = history.most_reserved_bytes();
    let mut best = (0, 0);
    for (place, &(from, bytes)) in steps.iter().enumerate() {
        if bytes != most {
            continue;
        }
        let next = steps.get(place + 1).map(|&(next, _)| next as usize);
        let end = next.unwrap_or(history.active_bytes.len());
        let during = history.active_bytes.get(from as usize..end).unwrap_or(&[]);
        for (moment, &active) in (from..).zip(during) {
            if active > best.1 || best == (0, 0) {
                best = (moment, active);
            }
        }
    }
    best.0
}

/// The moment after the last failed request, with its arena.
fn last_failure(device: Device<'_>) -> Option<(u32, Arena)> {
    let (snapshot, history) = (device.snapshot(), device.history);
    device.failed_requests().last().map(|&moment| {
        let event = snapshot
            .events
            .get(EventId(history.first_event + moment - 1));
        let context = snapshot.contexts.get(event.context);
        let pool = context.pool.unwrap_or_default();
        (
            moment,
            Arena {
                pool,
                stream: context.stream,
            },
        )
    })
}
