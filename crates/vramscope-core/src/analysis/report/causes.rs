//! Why memory ran out or so much was used: all causes that a device's findings and its last failed request show, the one
//! that matters first. That one is the verdict.

use serde::{Deserialize, Serialize};

use super::findings::{
    FailedRequest, Finding, FindingKind, FindingRow, Replayed, SettingAdvice, Severity, Verdict,
    site_table,
};
use super::first_pass::FirstPass;
use super::names::named;
use super::overview::Overview;
use super::peak_roles::{PeakRoles, plural};
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::ids::AllocationId;
use crate::units::{Bytes, Percent};

/// Why memory ran out, or why so much was used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseClass {
    /// More is live from step to step.
    GrowthPerStep,
    /// Memory made in the steps is never freed.
    NeverFreed,
    /// The process may use only a part of the device.
    Limit,
    /// Others hold much of the device.
    OtherProcesses,
    /// A request is larger than all that the program could have had.
    RequestTooLarge,
    /// Freed memory waits for other streams, or lies free on them.
    PendingFree,
    /// Private pools hold memory that nothing else can use.
    PrivatePool,
    /// Free memory is in pieces that are too small.
    Fragmentation,
    /// Blocks are larger than their requests.
    Rounding,
    /// The output of the previous iteration is there while the next is made.
    HeldOutput,
    /// One device, or one rank, holds far more than the others.
    OddRank,
    /// A first pass, which makes something for each parameter or block, was far from done.
    FirstPass,
    /// What is live is needed at once: the program itself is too large.
    TooMuchLive,
}

/// A cause with its figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// The class.
    pub class: CauseClass,
    /// The bytes that it is about.
    pub bytes: u64,
    /// One line.
    pub title: String,
    /// The figures, as sentences.
    pub seen: String,
    /// Where it comes from: a call site, a pool, or a stream; empty if unknown.
    pub place: String,
    /// The filter that selects the allocations of that place; empty if there is none.
    pub filter: String,
    /// A setting of the allocator to try.
    pub setting: Option<SettingAdvice>,
    /// What else to try first; empty if nothing is known.
    pub advice: String,
}

impl Cause {
    /// Whether a setting that serves the request serves the program, too: it does not where ever more is live.
    fn is_of_request(&self) -> bool {
        !matches!(
            self.class,
            CauseClass::GrowthPerStep | CauseClass::NeverFreed | CauseClass::FirstPass
        )
    }

    /// Whether less reserved memory is an answer to it.
    fn is_of_reserved(&self) -> bool {
        matches!(
            self.class,
            CauseClass::Fragmentation
                | CauseClass::Rounding
                | CauseClass::PrivatePool
                | CauseClass::PendingFree
        )
    }
    /// The cause in a sentence, with the setting that helps.
    #[must_use]
    pub fn sentence(&self) -> String {
        let replayed = self.setting.iter().filter_map(|it| it.replayed.as_ref());
        let mut told = replayed.filter(|it| !self.title.contains(&it.changes));
        let helps = told.next().map(|it| format!("; {}", it.words()));
        format!("{}{}.", self.title, helps.unwrap_or_default())
    }
}

/// All causes, one of each class. A request that failed names the class, unless memory that piles up is why too much was
/// live. What is merely good to know comes last.
pub(super) fn causes(device: Device<'_>, overview: &Overview) -> Vec<Cause> {
    let failure = FailedRequest::last(device, &overview.releases, overview.segments);
    let moment = failure
        .as_ref()
        .map_or(overview.peak.moment, |failure| failure.moment);
    let told = overview.findings.iter();
    let told = told.filter_map(|finding| Some((finding.severity, of_finding(finding)?)));
    let (warned, notes): (Vec<_>, Vec<_>) =
        told.partition(|&(severity, _)| severity != Severity::Note);
    let [warned, notes] = [warned, notes].map(|told| told.into_iter().map(|(_, cause)| cause));
    let live = Some(too_much_live(device, overview, moment)).filter(|live| live.bytes > 0);
    let failed = failure.map(|failure| {
        let first = FirstPass::of(device, &failure);
        let first = first.map(|pass| of_first_pass(device, &failure, pass));
        first.or_else(|| of_failure(device, overview, &failure))
    });
    let mut causes: Vec<Cause> = match failed {
        Some(Some(told)) => [told].into_iter().chain(warned).chain(live).collect(),
        Some(None) => {
            let piles_up = |cause: &Cause| {
                matches!(
                    cause.class,
                    CauseClass::GrowthPerStep | CauseClass::NeverFreed
                )
            };
            let (piling, others): (Vec<_>, Vec<_>) = warned.partition(piles_up);
            piling.into_iter().chain(live).chain(others).collect()
        }
        None => warned.chain(live).collect(),
    };
    causes.extend(notes);
    let mut told = Vec::new();
    causes.retain(|cause| {
        let is_new = !told.contains(&cause.class);
        told.push(cause.class);
        is_new
    });
    causes
}

/// The cause that a finding tells of; `None` if it tells of none.
fn of_finding(finding: &Finding) -> Option<Cause> {
    let class = match finding.kind {
        FindingKind::Growth => CauseClass::GrowthPerStep,
        FindingKind::NeverFreed => CauseClass::NeverFreed,
        FindingKind::Fragmentation => CauseClass::Fragmentation,
        FindingKind::Replay if finding.severity == Severity::Warning => CauseClass::Fragmentation,
        FindingKind::Rounding => CauseClass::Rounding,
        FindingKind::PendingFree | FindingKind::OtherStreams => CauseClass::PendingFree,
        FindingKind::PrivatePools => CauseClass::PrivatePool,
        FindingKind::OtherMemory => CauseClass::OtherProcesses,
        FindingKind::OddDevice => CauseClass::OddRank,
        FindingKind::HeldOutput => CauseClass::HeldOutput,
        FindingKind::OutOfMemory
        | FindingKind::NoGrowth
        | FindingKind::Cached
        | FindingKind::Retries
        | FindingKind::Setting
        | FindingKind::Replay
        | FindingKind::RecordsLost
        | FindingKind::ProgramChanges
        | FindingKind::Churn => return None,
    };
    let row = finding.tables.first().and_then(|table| table.rows.first());
    Some(Cause {
        class,
        bytes: finding.bytes,
        title: finding.title.clone(),
        seen: finding.seen.clone(),
        place: row.map_or_else(String::new, |row| row.label.clone()),
        filter: row
            .and_then(|row| row.filter())
            .map_or_else(String::new, |it| it.to_string()),
        setting: finding.setting.clone(),
        advice: finding.to_try.first().cloned().unwrap_or_default(),
    })
}

fn of_first_pass(device: Device<'_>, failure: &FailedRequest, pass: FirstPass) -> Cause {
    let sites = device.call_sites();
    Cause {
        class: CauseClass::FirstPass,
        bytes: pass.needed_bytes,
        title: pass.title(),
        seen: pass.explanation(),
        place: sites.get(sites.of_stack(failure.stack)).label.clone(),
        filter: String::new(),
        setting: None,
        advice: pass.advice().to_owned(),
    }
}

/// The class that a failed request shows by itself; `None` if the file does not tell why it failed.
fn of_failure(device: Device<'_>, overview: &Overview, failure: &FailedRequest) -> Option<Cause> {
    let sites = device.call_sites();
    let site = &sites.get(sites.of_stack(failure.stack)).label;
    let class = match failure.verdict() {
        Verdict::Limit | Verdict::DeviceHadEnough => CauseClass::Limit,
        Verdict::Others => CauseClass::OtherProcesses,
        Verdict::RequestTooLarge => CauseClass::RequestTooLarge,
        Verdict::Waited => CauseClass::PendingFree,
        Verdict::PoolNotEmptied => CauseClass::PrivatePool,
        Verdict::OtherBlockFits | Verdict::AllFreeSuffices => elsewhere(device, failure),
        Verdict::OwnBlockFits
        | Verdict::OwnPiecesSuffice
        | Verdict::SegmentTooLarge
        | Verdict::PiecesAndDeviceSuffice => CauseClass::Fragmentation,
        Verdict::Unknown | Verdict::Short => return None,
    };
    let told = overview.findings.iter();
    let same = told
        .clone()
        .filter_map(of_finding)
        .find(|cause| cause.class == class);
    // Of pools, pieces and streams, what else is known tells where the memory is.
    let (place, filter) = match (class, same) {
        (CauseClass::RequestTooLarge, _) => (site.clone(), String::new()),
        (CauseClass::Limit | CauseClass::OtherProcesses, _) | (_, None) => {
            let place = device.recording.place_label(failure.arena);
            (place, String::new())
        }
        (_, Some(same)) => (same.place, same.filter),
    };
    let at = match failure.stack.has_frames() && class == CauseClass::RequestTooLarge {
        true => format!(" at {}", named(site)),
        false => String::new(),
    };
    let told = told
        .clone()
        .find(|finding| finding.kind == FindingKind::OutOfMemory);
    let advice = told.and_then(|finding| finding.to_try.first());
    Some(Cause {
        class,
        bytes: failure.requested_bytes,
        title: failure.why()? + &at,
        seen: failure.explanation(),
        place,
        filter,
        setting: told.and_then(|finding| finding.setting.clone()),
        advice: advice.cloned().unwrap_or_default(),
    })
}

/// Whose the free memory is that the request could not have.
fn elsewhere(device: Device<'_>, failure: &FailedRequest) -> CauseClass {
    let state = device.state_at(failure.moment);
    let places = failure.free_places(&state);
    let most = places
        .iter()
        .filter(|place| !place.is_own)
        .max_by_key(|place| place.bytes);
    match most {
        Some(place) if place.arena.pool != failure.arena.pool => CauseClass::PrivatePool,
        Some(place) if place.arena.stream != failure.arena.stream => CauseClass::PendingFree,
        _ => CauseClass::Fragmentation,
    }
}

/// What was live, by its largest role: not a fault, but what must become less.
fn too_much_live(device: Device<'_>, overview: &Overview, moment: u32) -> Cause {
    let of_peak = moment == overview.peak.moment;
    let then = (!of_peak).then(|| PeakRoles::at(device, moment));
    let roles = then.as_ref().unwrap_or(&overview.roles);
    let largest = roles.rows.first();
    let role = largest.filter(|row| row.role != Role::Unknown && roles.tells_most());
    let rules = device.rule_of();
    let is_of_role =
        |id: &AllocationId| role.is_none_or(|role| rules[id.index()].role() == role.role);
    let live = live_at(device.history, moment).filter(is_of_role);
    let top = top_call_sites(device, live, 1);
    let row = site_table("", &top).rows.into_iter().next();
    let live_bytes = device.history.active_bytes_at(moment);
    let when = match (overview.has_trace, overview.ooms) {
        (false, _) => "at the dump",
        (true, 0) => "at the peak",
        (true, _) => "when it failed",
    };
    let share = |part| Percent {
        part,
        whole: live_bytes,
    };
    let of_role = role.map(|role| format!(", {} of it {}", share(top.bytes), plural(role.role)));
    let filter = row.as_ref().and_then(FindingRow::filter);
    let known = row.as_ref().filter(|_| filter.is_some());
    // One among many is no answer to where.
    let matters = known.filter(|row| row.bytes >= live_bytes / 4);
    let place = matters.map_or_else(String::new, |row| row.label.clone());
    let most = row.as_ref().map(|row| {
        let from = match known {
            Some(row) => format!("is from {}", named(&row.label)),
            None => "has no stack".to_owned(),
        };
        format!("{} of it ({}) {from}.", Bytes(row.bytes), share(row.bytes))
    });
    let from = matters.map(|row| format!(", {} from {}", Bytes(row.bytes), named(&row.label)));
    Cause {
        class: CauseClass::TooMuchLive,
        bytes: live_bytes,
        title: format!(
            "{} were live {when}{}{}",
            Bytes(live_bytes),
            of_role.unwrap_or_default(),
            from.unwrap_or_default()
        ),
        seen: most.unwrap_or_default(),
        filter: filter.map_or_else(String::new, |filter| filter.to_string()),
        place,
        setting: None,
        advice: String::new(),
    }
}

/// Adds what replays with other settings amount to, a finding of kind [`FindingKind::Replay`]: of a request that failed
/// as its first advice, else among the findings, before what else wastes memory. What they do not bear out is no longer
/// advised.
pub(super) fn conclude(findings: &mut Vec<Finding>, causes: &mut Vec<Cause>, conclusion: Finding) {
    let replayed = conclusion.setting.as_ref();
    let replayed = replayed.and_then(|setting| setting.replayed.as_ref());
    if !replayed.is_some_and(Replayed::is_expandable) {
        let of_findings = findings.iter_mut().map(|finding| &mut finding.setting);
        let of_causes = causes.iter_mut().map(|cause| &mut cause.setting);
        of_findings
            .chain(of_causes)
            .for_each(|setting| *setting = None);
    }
    let failure = (findings.iter_mut()).find(|of| of.kind == FindingKind::OutOfMemory);
    let has_failed = failure.is_some();
    if let (Some(failure), Some(replayed)) = (failure, replayed.filter(|it| it.serves)) {
        let setting = SettingAdvice {
            advice: conclusion.advice().fold(
                format!("{}. {}", conclusion.title, conclusion.seen),
                |told, advice| format!("{told} {advice}"),
            ),
            replayed: Some(replayed.clone()),
        };
        if let Some(cause) = causes.first_mut().filter(|cause| cause.is_of_request()) {
            cause.setting = Some(setting.clone());
        }
        failure.setting = Some(setting);
        failure.evidence.extend(conclusion.evidence);
        return;
    }
    match causes.first_mut().filter(|_| replayed.is_some()) {
        Some(first) if first.is_of_reserved() => first.setting = conclusion.setting.clone(),
        Some(first) if first.class == CauseClass::TooMuchLive && !has_failed => {
            if let Some(cause) = of_finding(&conclusion) {
                causes.retain(|other| other.class != cause.class);
                causes.insert(0, cause);
            }
        }
        _ => {}
    }
    let is_before = |other: &Finding| {
        other.severity < conclusion.severity
            || other.kind == FindingKind::OutOfMemory
            || conclusion.severity == Severity::Note
    };
    let place = findings.partition_point(is_before);
    findings.insert(place, conclusion);
}
