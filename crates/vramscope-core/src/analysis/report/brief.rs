//! A device in brief: what failed or peaked, the class of its cause, the code that it comes from, and what the file
//! cannot tell. It is the overview, put in order for those who read one answer.

use serde::{Deserialize, Serialize};

use super::facts::{FactLevel, facts};
use super::findings::{
    FailedRequest, Finding, FindingKind, FindingRow, FindingTable, Severity, Verdict,
};
use super::findings::{free_on_device, helpful, site_table};
use super::names::named;
use super::overview::{Overview, SegmentsKnown};
use super::peak_roles::plural;
use super::program_changes::ProgramChange;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::ids::AllocationId;
use crate::model::DeviceIndex;
use crate::units::{Bytes, Percent};

/// Most call sites that are listed.
const SITES: usize = 10;

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
    /// One device, or one rank, holds far more than the others.
    OddRank,
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
    /// What to try first; empty if nothing is known.
    pub advice: String,
}

/// A request that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// How many requests failed; this is the last of them.
    pub failures: u64,
    /// The moment after it.
    pub moment: u32,
    /// Its size as the allocator aligns it.
    pub requested_bytes: u64,
    /// What the device reported free; `None` if unknown.
    pub device_free_bytes: Option<u64>,
    /// What the allocator held, and how much of that could have served the request; `None` if the file does not tell.
    pub reserved_bytes: Option<u64>,
    /// See `reserved_bytes`.
    pub usable_bytes: Option<u64>,
    /// Capacity of the device; `None` if unknown.
    pub device_bytes: Option<u64>,
    /// Its pool and stream.
    pub place: String,
    /// The call site of the request.
    pub call_site: String,
    /// Why it failed, in a few words.
    pub why: String,
}

/// A change of the program that would have needed less.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Bytes saved at the moment in question, about.
    pub saved_bytes: u64,
    /// What to change.
    pub title: String,
}

/// A device in brief.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// The device.
    pub device: DeviceIndex,
    /// The last request that failed.
    pub failed: Option<Failed>,
    /// Whether the file has more than the final state, which else stands for the peak.
    pub has_trace: bool,
    /// Most bytes that were active at once.
    pub peak_bytes: u64,
    /// The moment of the peak.
    pub peak_moment: u32,
    /// What the peak is made of, in a sentence; `None` if roles are unknown.
    pub made_of: Option<String>,
    /// The causes, the one that matters first. Empty if nothing was live.
    pub causes: Vec<Cause>,
    /// The call sites with the most live memory when the request failed, or else at the peak.
    pub sites: FindingTable,
    /// Number of call sites in all.
    pub site_count: u64,
    /// Changes of the program that would have needed less, the best first.
    pub changes: Vec<Change>,
    /// What the file cannot tell, and how to record it.
    pub unknown: Vec<String>,
}

impl Brief {
    /// The brief of a device, from its overview.
    #[must_use]
    pub fn of(device: Device<'_>, overview: &Overview) -> Self {
        let history = device.history;
        let failure = last_failure(device, overview);
        let moment = failure.as_ref().map_or(history.peak_moment, |it| it.moment);
        let top = top_call_sites(device, live_at(history, moment), SITES);
        let site_count = top.sites.len() as u64 + top.other_sites;
        let changes = helpful(
            device,
            moment_of_interest(device, failure.as_ref()),
            failure.is_none(),
        );
        Self {
            device: device.index(),
            has_trace: overview.has_trace,
            peak_bytes: overview.peak.active_bytes,
            peak_moment: overview.peak.moment,
            made_of: overview.roles.sentence(),
            causes: causes(device, overview, failure.as_ref(), moment),
            sites: site_table("", &top),
            site_count,
            changes: changes.into_iter().map(change).collect(),
            unknown: unknown(device),
            failed: failure.map(|failure| failed(device, &failure)),
        }
    }

    /// What happened and why, in one or two sentences.
    #[must_use]
    pub fn answer(&self) -> String {
        let happened = match &self.failed {
            Some(failed) => format!(
                "GPU {} ran out of memory: {} requested, {}.",
                self.device,
                Bytes(failed.requested_bytes),
                free_on_device(failed.device_free_bytes)
            ),
            None if !self.has_trace => format!(
                "GPU {} holds {} in the state that was dumped; the file tells of nothing before.",
                self.device,
                Bytes(self.peak_bytes)
            ),
            None => format!(
                "GPU {} peaks at {}; no request failed.",
                self.device,
                Bytes(self.peak_bytes)
            ),
        };
        let cause = self.causes.first().map_or_else(String::new, |cause| {
            // What can be filtered for is code.
            let place = match cause.filter.is_empty() {
                true => cause.place.clone(),
                false => named(&cause.place),
            };
            let place = match place.as_str() {
                place if cause.title.contains(place) => String::new(),
                place => format!(" ({place})"),
            };
            format!(" {}{place}.", cause.title)
        });
        happened + &cause
    }
}

fn moment_of_interest(device: Device<'_>, failure: Option<&FailedRequest>) -> u32 {
    failure.map_or(device.history.event_count, |failure| failure.moment)
}

fn change((saved_bytes, change): (u64, ProgramChange)) -> Change {
    Change {
        saved_bytes,
        title: change.title,
    }
}

fn last_failure(device: Device<'_>, overview: &Overview) -> Option<FailedRequest> {
    let &moment = device.failed_requests().last()?;
    let has_segments = overview.segments == SegmentsKnown::Real;
    let state = device.state_at(moment);
    Some(FailedRequest::of(
        device,
        &overview.releases,
        has_segments,
        moment,
        &state,
    ))
}

fn failed(device: Device<'_>, failure: &FailedRequest) -> Failed {
    let sites = device.call_sites();
    let known = |bytes| failure.has_state.then_some(bytes);
    Failed {
        failures: device.failed_requests().len() as u64,
        moment: failure.moment,
        requested_bytes: failure.requested_bytes,
        device_free_bytes: failure.device_free_bytes,
        reserved_bytes: known(failure.gap.reserved_bytes),
        usable_bytes: known(failure.own_free_bytes),
        device_bytes: failure.device_bytes,
        place: device.recording.place_label(failure.arena),
        call_site: sites.get(sites.of_stack(failure.stack)).label.clone(),
        why: failure.verdict().words().to_owned(),
    }
}

/// All causes, one of each class. A request that failed names the class, unless memory that piles up is why too much was
/// live. What is merely good to know comes last.
fn causes(
    device: Device<'_>,
    overview: &Overview,
    failure: Option<&FailedRequest>,
    moment: u32,
) -> Vec<Cause> {
    let told = overview.findings.iter();
    let told = told.filter_map(|finding| Some((finding.severity, of_finding(finding)?)));
    let (warned, notes): (Vec<_>, Vec<_>) =
        told.partition(|&(severity, _)| severity != Severity::Note);
    let [warned, notes] = [warned, notes].map(|told| told.into_iter().map(|(_, cause)| cause));
    let live = Some(too_much_live(device, overview, moment)).filter(|live| live.bytes > 0);
    let mut causes: Vec<Cause> = match failure.map(|failure| of_failure(device, overview, failure))
    {
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
        FindingKind::Fragmentation | FindingKind::Rounding => CauseClass::Fragmentation,
        FindingKind::PendingFree | FindingKind::OtherStreams => CauseClass::PendingFree,
        FindingKind::PrivatePools => CauseClass::PrivatePool,
        FindingKind::OtherMemory => CauseClass::OtherProcesses,
        FindingKind::OddDevice => CauseClass::OddRank,
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
        advice: finding.to_try.first().cloned().unwrap_or_default(),
    })
}

/// The class that a failed request shows by itself; `None` if the file does not tell why it failed.
fn of_failure(device: Device<'_>, overview: &Overview, failure: &FailedRequest) -> Option<Cause> {
    let place = device.recording.place_label(failure.arena);
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
    let same = overview
        .findings
        .iter()
        .filter_map(of_finding)
        .find(|cause| cause.class == class);
    let own = Cause {
        class,
        bytes: failure.requested_bytes,
        title: format!("The request failed by {}", reason(failure.verdict())),
        seen: failure.may_mean(),
        place,
        filter: String::new(),
        advice: String::new(),
    };
    let told = overview
        .findings
        .iter()
        .find(|finding| finding.kind == FindingKind::OutOfMemory);
    let advice = told.and_then(|finding| finding.to_try.first().cloned());
    Some(Cause {
        advice: advice.unwrap_or_default(),
        ..match (class, same) {
            (CauseClass::Limit | CauseClass::OtherProcesses | CauseClass::RequestTooLarge, _)
            | (_, None) => own,
            (_, Some(same)) => Cause {
                seen: own.seen,
                ..same
            },
        }
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

fn reason(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Limit => "the limit of the process",
        Verdict::DeviceHadEnough => "a limit: the device had enough",
        Verdict::Others => "what others hold of the device",
        Verdict::RequestTooLarge => "its own size",
        Verdict::Waited => "a block that waited for another stream",
        Verdict::PoolNotEmptied => "empty segments that its pool kept",
        Verdict::OtherBlockFits | Verdict::AllFreeSuffices => {
            "what is free in other pools or streams"
        }
        _ => "fragmentation",
    }
}

/// What was live, by its largest role: not a fault, but what must become less.
fn too_much_live(device: Device<'_>, overview: &Overview, moment: u32) -> Cause {
    let largest = overview.roles.rows.first();
    let role = largest.filter(|row| row.role != Role::Unknown && overview.roles.tells_most());
    let rules = device.rule_of();
    let is_of_role =
        |id: &AllocationId| role.is_none_or(|role| rules[id.index()].role() == role.role);
    let live = live_at(device.history, moment).filter(is_of_role);
    let top = top_call_sites(device, live, 1);
    let row = site_table("", &top).rows.into_iter().next();
    let live_bytes = device.history.active_bytes_at(moment);
    let when = match (overview.has_trace, moment == overview.peak.moment) {
        (false, _) => "at the dump",
        (true, true) => "at the peak",
        (true, false) => "when it failed",
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
    Cause {
        class: CauseClass::TooMuchLive,
        bytes: live_bytes,
        title: format!(
            "{} were live {when}{}",
            Bytes(live_bytes),
            of_role.unwrap_or_default()
        ),
        seen: most.unwrap_or_default(),
        filter: filter.map_or_else(String::new, |filter| filter.to_string()),
        place,
        advice: String::new(),
    }
}

/// What the file lacks.
fn unknown(device: Device<'_>) -> Vec<String> {
    let facts = facts(device.recording).into_iter();
    let gaps = facts.filter(|fact| {
        fact.level == FactLevel::Gap && fact.device.is_none_or(|of| of == device.index())
    });
    gaps.map(|fact| {
        format!("{} {} {}", fact.text, fact.meaning, fact.advice)
            .trim()
            .to_owned()
    })
    .collect()
}
