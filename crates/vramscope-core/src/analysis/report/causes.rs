//! Why memory ran out or so much was used: all causes found in a device's findings and its last failed request, the
//! most important first. The first cause is the verdict.

use serde::{Deserialize, Serialize};

use super::earlier_passes::EarlierPasses;
use super::findings::pools::kept_bytes;
use super::findings::{
    FailedRequest, Finding, FindingKind, FindingRow, Replayed, SettingAdvice, Severity, sentences,
    site_table,
};
use super::first_pass::FirstPass;
use super::growing_request::GrowingRequest;
use super::names::named;
use super::next_step::NextStep;
use super::overview::{Overview, reserved_peak};
use super::peak_roles::{PeakRoles, plural};
use super::piled_up::PiledUp;
use super::summary::saturating_sum;
use super::verdicts::Of;
use crate::analysis::code::call_sites::CallSiteId;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, Role};
use crate::ids::AllocationId;
use crate::units::{Bytes, Percent};

pub use super::verdicts::CauseClass;

/// A cause with its figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// The class.
    pub class: CauseClass,
    /// The bytes in question.
    pub bytes: u64,
    /// One line.
    pub title: String,
    /// The figures, as sentences.
    pub seen: String,
    /// Where it comes from: a call site, a pool, or a stream; empty if unknown.
    pub place: String,
    /// A filter for the allocations of `place`; empty if there is none.
    pub filter: String,
    /// An allocator setting to try.
    pub setting: Option<SettingAdvice>,
    /// Further advice on what to try first; empty if there is none.
    pub advice: String,
    /// The finding with the same content; `None` without one.
    #[serde(skip)]
    pub from: Option<FindingKind>,
    /// The call site of `place`, if a finding names one.
    #[serde(skip)]
    pub site: Option<CallSiteId>,
}

impl Cause {
    /// A cause with nothing but a title.
    #[must_use]
    pub fn new(class: CauseClass, bytes: u64, title: String) -> Self {
        Self {
            class,
            bytes,
            title,
            seen: String::new(),
            place: String::new(),
            filter: String::new(),
            setting: None,
            advice: String::new(),
            from: None,
            site: None,
        }
    }

    /// Whether memory is free, but in pieces, pools or streams that cannot serve the request.
    pub(super) fn is_of_pieces(&self) -> bool {
        matches!(
            self.class,
            CauseClass::Fragmentation | CauseClass::PrivatePool | CauseClass::PendingFree
        )
    }

    /// Whether memory that is no longer needed is kept.
    pub(super) fn piles_up(&self) -> bool {
        matches!(
            self.class,
            CauseClass::GrowthPerStep
                | CauseClass::NeverFreed
                | CauseClass::HeldOutput
                | CauseClass::EarlierPasses
        )
    }

    /// Whether reserving less memory would help.
    fn is_of_reserved(&self) -> bool {
        matches!(
            self.class,
            CauseClass::Fragmentation
                | CauseClass::Rounding
                | CauseClass::PrivatePool
                | CauseClass::PendingFree
                | CauseClass::Cached
        )
    }

    /// The cause as a sentence, with the helpful setting.
    #[must_use]
    pub fn sentence(&self) -> String {
        self.told(&self.title)
    }

    /// Another title for the cause, with the helpful setting.
    pub(super) fn told(&self, title: &str) -> String {
        // The title of a replay already contains it.
        let setting = self.setting.as_ref();
        let setting = setting.filter(|_| self.from != Some(FindingKind::Replay));
        let replayed = setting.and_then(|it| it.replayed.as_ref());
        let helps = replayed.map(|it| format!("; {}", it.words()));
        format!("{title}{}.", helps.unwrap_or_default())
    }
}

/// The least share of a program's memory that can be the cause of a failed request, or the verdict on a program without
/// failures. A nearly full device always has some free pieces, and every program keeps something.
const MATTERS_PERCENT: u128 = 10;

/// The least share of reserved memory that settings must save to appear in the first sentence, and only if memory ran
/// short. A program without failures may use what it has.
const SAVES_MUCH_PERCENT: u8 = 25;

fn matters(bytes: u64, of: u64) -> bool {
    u128::from(bytes) * 100 >= u128::from(of) * MATTERS_PERCENT
}

/// All causes, one of each class. A failed request determines the class, unless memory that piles up explains why too
/// much was live, or the free memory is too little to matter. Notes come last.
pub(super) fn causes(device: Device<'_>, overview: &Overview) -> Vec<Cause> {
    let failure = FailedRequest::last(device, &overview.releases, overview.segments);
    let mut causes = match &failure {
        Some(failure) => of_failed(device, overview, failure),
        None => of_gone_well(device, overview),
    };
    let mut told = Vec::new();
    causes.retain(|cause| {
        let is_new = !told.contains(&cause.class);
        told.push(cause.class);
        is_new
    });
    causes
}

/// The causes from findings, in the order in which they are weighed.
struct Told {
    /// Growth that is large enough to matter. Memory that is never freed may be kept on purpose, so it does not count.
    growing: Vec<Cause>,
    /// Pools that nothing else can use, or the cache, if they hold most of the memory.
    elsewhere: Vec<Cause>,
    /// The other warnings.
    warned: Vec<Cause>,
    /// From findings that are only notes.
    notes: Vec<Cause>,
}

impl Told {
    /// `held_bytes`: the bytes reserved at the moment; `has_failed`: whether a request failed then.
    fn of(
        device: Device<'_>,
        overview: &Overview,
        moment: u32,
        held_bytes: u64,
        has_failed: bool,
    ) -> Self {
        let told = overview.findings.iter();
        let told = told.filter_map(|finding| Some((finding.severity, of_finding(finding)?)));
        let (warned, notes): (Vec<_>, Vec<_>) =
            told.partition(|&(severity, _)| severity != Severity::Note);
        let [mut warned, mut notes] = [warned, notes]
            .map(|told| told.into_iter().map(|(_, cause)| cause).collect::<Vec<_>>());
        let grows = |cause: &mut Cause| {
            cause.class == CauseClass::GrowthPerStep
                && matters(live_of(device, moment, cause), held_bytes)
        };
        let growing = warned.extract_if(.., grows).collect();
        let most = most_reserved_bytes(overview) / 2;
        let is_any_live = device.history.active_bytes_at(moment) > 0;
        let in_pools = || kept_bytes(&device.state_at(reserved_peak(device.history)));
        let is_elsewhere = |cause: &mut Cause| match cause.class {
            CauseClass::PrivatePool => in_pools() > most,
            CauseClass::Cached => !has_failed && is_any_live && cause.bytes > most,
            _ => false,
        };
        let mut elsewhere: Vec<Cause> = warned.extract_if(.., is_elsewhere).collect();
        elsewhere.extend(notes.extract_if(.., is_elsewhere));
        Self {
            growing,
            elsewhere,
            warned,
            notes,
        }
    }
}

fn most_reserved_bytes(overview: &Overview) -> u64 {
    let gaps = overview.gaps.iter();
    gaps.map(|at| at.gap.reserved_bytes).max().unwrap_or(0)
}

/// All causes of a failed request.
fn of_failed(device: Device<'_>, overview: &Overview, failure: &FailedRequest) -> Vec<Cause> {
    let (moment, held) = (failure.moment, failure.gap.reserved_bytes);
    let mut told = Told::of(device, overview, moment, held, true);
    let first = FirstPass::of(device, failure);
    let first = first.map(|pass| of_first_pass(device, failure, pass));
    let own = first.or_else(|| of_failure(device, overview, failure));
    let (pieces, own) = match own {
        Some(own) if own.is_of_pieces() && failure.waited.is_none() => (Some(own), None),
        own => (None, own),
    };
    let next = NextStep::of(device, failure);
    let would_go_on = next.is_none() && !is_in_first_pass(device, moment);
    let (pieces, few) = match would_go_on {
        true => (pieces, None),
        false => (None, pieces),
    };
    let piles = |cause: &mut Cause| cause.piles_up() && matters(cause.bytes, held);
    let piling: Vec<_> = told.warned.extract_if(.., piles).collect();
    let series = GrowingRequest::of(device, failure).map(Cause::from);
    let live = too_much_live(device, overview, moment, Some(failure));
    let live = Some(live).filter(|live| live.bytes > 0);
    let mut causes: Vec<Cause> = own.into_iter().collect();
    // As long as more is free than has piled up, growth is not yet the cause.
    let piled = told
        .growing
        .iter()
        .map(|cause| live_of(device, moment, cause));
    let is_room = piled
        .max()
        .is_some_and(|piled| failure.all_free_bytes() >= piled);
    let (nearer, pieces) = match is_room {
        true => (pieces, None),
        false => (None, pieces),
    };
    causes.extend(nearer);
    causes.extend(told.growing);
    causes.extend(series.filter(|series| matters(series.bytes, held)));
    causes.extend(told.elsewhere);
    // Memory kept up to a limit is no reason for a program to fail eventually.
    let kept = EarlierPasses::of(device, moment);
    let (nearer, pieces) = match kept.as_ref().is_some_and(|kept| kept.turns_over) {
        true => (pieces, None),
        false => (None, pieces),
    };
    causes.extend(nearer);
    causes.extend(kept.map(Cause::from));
    causes.extend(PiledUp::of(device, moment).map(Cause::from));
    causes.extend(pieces);
    causes.extend(piling);
    causes.extend(live.map(|live| match &next {
        Some(next) => of_next_step(next, live),
        None => live,
    }));
    causes.extend(few);
    causes.extend(told.warned);
    causes.extend(told.notes);
    causes
}

/// Why so much was used although nothing failed.
fn of_gone_well(device: Device<'_>, overview: &Overview) -> Vec<Cause> {
    let (moment, reserved) = (overview.peak.moment, most_reserved_bytes(overview));
    let live_bytes = device.history.active_bytes_at(moment);
    let mut told = Told::of(device, overview, moment, reserved, false);
    let is_little = |cause: &mut Cause| match cause.class {
        CauseClass::NeverFreed => !matters(cause.bytes, live_bytes),
        CauseClass::Fragmentation => cause.bytes < reserved / 4,
        _ => false,
    };
    let little: Vec<_> = told.warned.extract_if(.., is_little).collect();
    let live = too_much_live(device, overview, moment, None);
    let mut causes = told.growing;
    causes.extend(told.elsewhere);
    causes.extend(told.warned);
    causes.extend(Some(live).filter(|live| live.bytes > 0));
    causes.extend(little);
    causes.extend(told.notes);
    causes
}

/// Whether a moment is in the very first forward pass, so that nothing shows what is still to come.
fn is_in_first_pass(device: Device<'_>, moment: u32) -> bool {
    let ranges = &device.phases().ranges;
    let begun = ranges.partition_point(|range| range.from < moment);
    begun == 1 && ranges[0].phase == Phase::Forward && moment <= ranges[0].to.saturating_add(1)
}

/// The live bytes of a cause: those in the recording, or everything from its place, including older allocations.
fn live_of(device: Device<'_>, moment: u32, cause: &Cause) -> u64 {
    cause
        .bytes
        .max(cause.site.map_or(0, |site| live_from(device, moment, site)))
}

fn live_from(device: Device<'_>, moment: u32, site: CallSiteId) -> u64 {
    let site_of = device.site_of();
    let live = live_at(device.history, moment).filter(|id| site_of[id.index()] == site);
    saturating_sum(live.map(|id| device.history.allocations.bytes[id.index()]))
}

/// The live memory, with the needs of a step.
fn of_next_step(next: &NextStep, live: Cause) -> Cause {
    Cause {
        bytes: next.needed_bytes,
        seen: format!("{}. {}", live.title, live.seen),
        title: next.title(),
        ..live
    }
}

/// The cause that corresponds to a finding, if any.
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
        FindingKind::Cached => CauseClass::Cached,
        FindingKind::Churn => CauseClass::Churn,
        FindingKind::OutOfMemory
        | FindingKind::NoGrowth
        | FindingKind::Retries
        | FindingKind::Setting
        | FindingKind::Replay
        | FindingKind::RecordsLost
        | FindingKind::ProgramChanges => return None,
    };
    let row = finding.tables.first().and_then(|table| table.rows.first());
    Some(Cause {
        seen: finding.seen.clone(),
        place: row.map_or_else(String::new, |row| row.label.clone()),
        filter: row
            .and_then(|row| row.filter())
            .map_or_else(String::new, |it| it.to_string()),
        setting: finding.setting.clone(),
        advice: finding.to_try.first().cloned().unwrap_or_default(),
        from: Some(finding.kind),
        site: row.and_then(|row| row.site),
        ..Cause::new(class, finding.bytes, finding.title.clone())
    })
}

fn of_first_pass(device: Device<'_>, failure: &FailedRequest, pass: FirstPass) -> Cause {
    let sites = device.call_sites();
    Cause {
        seen: pass.explanation(),
        place: sites.get(sites.of_stack(failure.stack)).label.clone(),
        advice: pass.advice().to_owned(),
        ..Cause::new(CauseClass::FirstPass, pass.needed_bytes, pass.title())
    }
}

/// The class shown by a failed request itself; `None` if the file does not show why it failed.
fn of_failure(device: Device<'_>, overview: &Overview, failure: &FailedRequest) -> Option<Cause> {
    let sites = device.call_sites();
    let site = &sites.get(sites.of_stack(failure.stack)).label;
    let class = match failure.verdict().said().of {
        Of::Live => return None,
        Of::Class(class) => class,
        Of::Elsewhere => elsewhere(device, failure),
    };
    let told = overview.findings.iter();
    let same = told
        .clone()
        .filter_map(of_finding)
        .find(|cause| cause.class == class);
    // For pools, pieces and streams, the findings say where the memory is.
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
        seen: failure.explanation(),
        place,
        filter,
        setting: told.and_then(|finding| finding.setting.clone()),
        advice: advice.cloned().unwrap_or_default(),
        ..Cause::new(class, failure.requested_bytes, failure.why()? + &at)
    })
}

/// The class of the free memory that the request could not use.
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

/// Live memory, by its largest role. This is not a fault, but has to shrink.
fn too_much_live(
    device: Device<'_>,
    overview: &Overview,
    moment: u32,
    failure: Option<&FailedRequest>,
) -> Cause {
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
    let when = when(overview);
    let could_have = failure.filter(|it| it.has_state && it.device_free_bytes.is_some());
    let all = could_have.map(|failure| Bytes(failure.reachable_bytes()));
    let share = |part| Percent {
        part,
        whole: live_bytes,
    };
    let of_role = role.map(|role| format!(", {} of it {}", share(top.bytes), plural(role.role)));
    let filter = row.as_ref().and_then(FindingRow::filter);
    let known = row.as_ref().filter(|_| filter.is_some());
    // A place with a small part of the memory does not answer the question.
    let matters = known.filter(|row| row.bytes >= live_bytes / 4);
    let place = matters.map_or_else(String::new, |row| row.label.clone());
    let most = row.as_ref().map(|row| {
        let from = match known {
            Some(row) => format!("is from {}", named(&row.label)),
            None => "has no stack".to_owned(),
        };
        format!("{} of it ({}) {from}.", Bytes(row.bytes), share(row.bytes))
    });
    // Without the size of the device, it is not known whether others hold a part of it.
    let others = could_have.filter(|failure| failure.device_bytes.is_none());
    let others = others
        .map(|_| "If the device has more memory, others or a limit hold the rest.".to_owned());
    let from = matters.map(|row| format!(", {} from {}", Bytes(row.bytes), named(&row.label)));
    let title = format!(
        "{}{}{}",
        sentences::live(Bytes(live_bytes), all, when),
        of_role.unwrap_or_default(),
        from.unwrap_or_default()
    );
    let seen: Vec<String> = most.into_iter().chain(others).collect();
    Cause {
        seen: seen.join(" "),
        filter: filter.map_or_else(String::new, |filter| filter.to_string()),
        place,
        ..Cause::new(CauseClass::TooMuchLive, live_bytes, title)
    }
}

fn when(overview: &Overview) -> &'static str {
    match (overview.has_trace, overview.has_failed()) {
        (false, _) => "at the dump",
        (true, false) => "at the peak",
        (true, true) => "when it failed",
    }
}

/// Adds the conclusion from replays with other settings, a finding of kind [`FindingKind::Replay`]. It becomes the
/// first advice on a failed request, else a finding before others about wasted memory. Settings that the replays do not
/// confirm are no longer advised.
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
        // If more is live than fits, or pools keep their memory, serving a single request does not help.
        let is_served =
            |cause: &&mut Cause| cause.is_of_pieces() && cause.class != CauseClass::PrivatePool;
        if let Some(cause) = causes.iter_mut().take(1).find(is_served) {
            cause.setting = Some(setting.clone());
            failure.setting = Some(setting);
            failure.evidence.extend(conclusion.evidence);
        }
        return;
    }
    let ran_short = |finding: &Finding| {
        matches!(
            finding.kind,
            FindingKind::OutOfMemory | FindingKind::Retries
        )
    };
    let ran_short = findings.iter().any(ran_short);
    let saves_much = replayed.is_some_and(|replayed| {
        u128::from(conclusion.bytes) * 100
            >= u128::from(replayed.measured_bytes) * u128::from(SAVES_MUCH_PERCENT)
    });
    let is_first = ran_short && saves_much;
    let setting = conclusion.setting.clone();
    match causes.first_mut().filter(|_| replayed.is_some()) {
        Some(first) if first.class == CauseClass::Fragmentation => first.setting = setting,
        Some(first) if first.is_of_reserved() => first.setting = setting.filter(|_| is_first),
        Some(first) if first.class == CauseClass::TooMuchLive && !has_failed => {
            if let Some(cause) = of_finding(&conclusion) {
                first.setting = setting.filter(|_| is_first);
                causes.retain(|other| other.class != cause.class);
                causes.insert(1, cause);
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
