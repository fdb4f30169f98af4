//! The answer of `vramscope brief` as data, and how it is shortened to its budget.

use std::path::Path;

use serde::Serialize;
use vramscope_core::analysis::groups::live_at::{live_at, top_call_sites};
use vramscope_core::analysis::report::causes::{Cause, CauseClass};
use vramscope_core::analysis::report::facts::{FactKind, FactLevel, facts, warning_line};
use vramscope_core::analysis::report::findings::{
    FailedRequest, Finding, FindingKind, helpful, site_table,
};
use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::analysis::report::verdicts::ShownBy;
use vramscope_core::analysis::search::filter::{Filter, Pointed, matches};
use vramscope_plan::what_if::{Baseline, Verdict, WhatIf, conclusion, replays};

use super::among::{Among, Chosen};
use crate::failure::Failure;
use crate::harmless::{HarmlessJson, quoted};
use crate::input::STANDARD_INPUT;
use crate::inputs;
use crate::report::SCHEMA;
use crate::subject::{Device, Subject};

/// Maximum number of replays listed.
const WHAT_IFS: usize = 3;
/// Maximum number of call sites listed.
const SITES: usize = 10;

/// A list that may be shortened.
#[derive(Serialize)]
pub(super) struct List<T> {
    pub(super) total: u64,
    pub(super) returned: usize,
    pub(super) items: Vec<T>,
}

impl<T> List<T> {
    fn of(items: Vec<T>, total: u64) -> Self {
        let returned = items.len();
        Self {
            total,
            returned,
            items,
        }
    }

    /// Removes the last entry if there are more than `floor`.
    fn shorten(&mut self, floor: usize) -> bool {
        let is_long = self.items.len() > floor;
        if is_long {
            self.items.pop();
            self.returned = self.items.len();
        }
        is_long
    }
}

/// The last request that failed.
#[derive(Serialize)]
pub(super) struct Failed {
    failures: u64,
    /// The moment after it.
    moment: u32,
    /// The size as aligned by the allocator.
    requested_bytes: u64,
    device_free_bytes: Option<u64>,
    /// How much the allocator held, and how much of that could have served the request; `None` if the file does not
    /// say.
    reserved_bytes: Option<u64>,
    usable_bytes: Option<u64>,
    device_bytes: Option<u64>,
    /// The pool and stream.
    place: String,
    call_site: String,
    why: &'static str,
    /// The finding's sentence about it.
    #[serde(skip)]
    pub(super) seen: String,
}

impl Failed {
    fn of(device: &Device<'_>, failure: &FailedRequest, findings: &[Finding]) -> Self {
        let sites = device.call_sites();
        let known = |bytes| failure.has_state.then_some(bytes);
        let mut findings = findings.iter();
        let finding = findings.find(|finding| finding.kind == FindingKind::OutOfMemory);
        Self {
            failures: device.failed_requests().len() as u64,
            moment: failure.moment,
            requested_bytes: failure.requested_bytes,
            device_free_bytes: failure.device_free_bytes,
            reserved_bytes: known(failure.gap.reserved_bytes),
            usable_bytes: known(failure.own_free_bytes),
            device_bytes: failure.device_bytes,
            place: device.recording.place_label(failure.arena),
            call_site: sites.get(sites.of_stack(failure.stack)).label.clone(),
            why: failure.verdict().words(),
            seen: finding.map_or_else(String::new, |finding| finding.seen.clone()),
        }
    }
}

/// A change of the program that would have needed less.
#[derive(Serialize)]
pub(super) struct Change {
    /// Approximate bytes saved at that moment.
    pub(super) saved_bytes: u64,
    pub(super) title: String,
}

/// A call site that holds live memory.
#[derive(Serialize)]
pub(super) struct Site {
    pub(super) bytes: u64,
    pub(super) count: u64,
    pub(super) label: String,
    /// A filter for `vramscope find`.
    pub(super) filter: String,
}

/// A replay with other settings.
#[derive(Serialize)]
pub(super) struct Replayed {
    pub(super) settings: String,
    pub(super) verdict: &'static str,
    pub(super) peak_reserved_bytes: u64,
    /// Relative to the recorded settings; negative is less.
    pub(super) change_bytes: i64,
    /// How wrong the model may be.
    pub(super) error_bytes: u64,
}

#[derive(Serialize)]
pub(super) struct Answer {
    schema: u32,
    vramscope: &'static str,
    command: &'static str,
    pub(super) file: String,
    pub(super) device: u32,
    /// What happened and why.
    pub(super) answer: String,
    pub(super) failed: Option<Failed>,
    /// Whether the file has a trace; without one, the memory live at the dump stands for the peak.
    #[serde(skip)]
    pub(super) has_trace: bool,
    pub(super) peak_bytes: u64,
    pub(super) peak_moment: u32,
    pub(super) made_of: Option<String>,
    pub(super) ranks: Option<Among>,
    pub(super) causes: List<Cause>,
    pub(super) sites: List<Site>,
    /// What replays with other settings achieve; `None` if none was worth it.
    pub(super) replays: Option<String>,
    pub(super) what_ifs: List<Replayed>,
    pub(super) changes: List<Change>,
    pub(super) cannot_tell: List<String>,
    pub(super) next: List<String>,
    pub(super) truncated: bool,
    budget_bytes: u64,
}

/// What an answer is about.
pub(super) struct About<'a> {
    /// The file, narrowed to the chosen device.
    pub(super) subject: &'a Subject,
    /// How that device was chosen; `None` if nothing happened on any.
    pub(super) chosen: Option<&'a Chosen>,
    /// Other files that could not be read, and why.
    pub(super) others: Vec<String>,
    /// The folder or dataset that was named, if it stands for all files.
    pub(super) folder: Option<&'a Path>,
}

impl Answer {
    /// Makes an answer of at most `budget_bytes`.
    pub(super) fn of(about: &About<'_>, budget_bytes: u64) -> Result<Self, Failure> {
        let subject = about.subject;
        let device = subject.main_device().ok_or_else(|| {
            Failure::Input(format!(
                "{}: the file holds no segment and no event",
                subject.name
            ))
        })?;
        let mut overview = overview(*device, 0);
        let (replays, what_ifs) = replays_of(&device, &mut overview);
        let failure = FailedRequest::last(*device, &overview.releases, overview.segments);
        let happened = overview.happened(*device, failure.as_ref());
        let mut verdict = overview.verdict();
        let among = about.chosen.and_then(Chosen::among);
        if let Some(chosen) = about.chosen {
            let odd = chosen.tell_odd(&mut overview.causes, failure.is_some());
            verdict = odd.unwrap_or(verdict);
        }
        let moment = failure
            .as_ref()
            .map_or(overview.peak.moment, |it| it.moment);
        let next = next(
            about,
            &device,
            (&overview, moment),
            &what_ifs,
            among.as_ref(),
        );
        Ok(Self {
            schema: SCHEMA,
            vramscope: env!("CARGO_PKG_VERSION"),
            command: "brief",
            file: subject.name.clone(),
            device: device.index(),
            answer: format!("{happened} {verdict}"),
            failed: failure
                .as_ref()
                .map(|failure| Failed::of(&device, failure, &overview.findings)),
            has_trace: overview.has_trace,
            peak_bytes: overview.peak.active_bytes,
            peak_moment: overview.peak.moment,
            made_of: overview.roles.sentence(),
            ranks: among,
            sites: sites(&device, moment),
            replays,
            what_ifs,
            changes: changes(&device, failure.as_ref()),
            cannot_tell: cannot_tell(about, &device),
            next: whole(next),
            causes: whole(overview.causes),
            truncated: false,
            budget_bytes,
        })
    }

    /// Adds why files could not be read, in place of standard error.
    pub(super) fn tell_why(&mut self, failures: &[Failure]) {
        if failures.is_empty() {
            return;
        }
        let count = format!("{} of the files could not be read.", failures.len());
        // The first entry refers to standard error.
        let others = self.cannot_tell.items.drain(..).skip(1);
        let told = [count].into_iter();
        let told = told
            .chain(inputs::reasons(failures))
            .chain(others)
            .collect();
        self.cannot_tell = whole(told);
    }

    /// The answer as one line of JSON.
    pub(super) fn json(mut self) -> Result<String, Failure> {
        self.fitted(|answer| {
            let mut bytes = Vec::new();
            serde_json::to_writer(HarmlessJson::new(&mut bytes), answer)?;
            bytes.push(b'\n');
            Ok(String::from_utf8(bytes).unwrap_or_default())
        })
    }

    /// Formats the answer with `form`, leaving out entries until it fits.
    pub(super) fn fitted(
        &mut self,
        form: impl Fn(&Self) -> serde_json::Result<String>,
    ) -> Result<String, Failure> {
        loop {
            let text = form(self).map_err(|error| Failure::Input(error.to_string()))?;
            if text.len() as u64 <= self.budget_bytes {
                return Ok(text);
            }
            if !self.shorten() {
                return Err(Failure::Usage(format!(
                    "--budget: the shortest answer has {} bytes",
                    text.len()
                )));
            }
            self.truncated = true;
        }
    }

    /// Leaves out the least important entry; `false` if nothing is left to leave out.
    fn shorten(&mut self) -> bool {
        self.cannot_tell.shorten(2)
            || self.sites.shorten(5)
            || self.changes.shorten(2)
            || self.causes.shorten(4)
            || self.clip(320)
            || self.next.shorten(4)
            || self.what_ifs.shorten(1)
            || self.cannot_tell.shorten(1)
            || self.causes.shorten(2)
            || self.sites.shorten(3)
            || self.clip(160)
            || self.changes.shorten(0)
            || self.sites.shorten(1)
            || self.what_ifs.shorten(0)
            || self.cannot_tell.shorten(0)
            || self.causes.shorten(1)
            || self.next.shorten(1)
            || self.clip(60)
            || self.sites.shorten(0)
            || self.next.shorten(0)
            || self.made_of.take().is_some()
            || self.clip_names(100)
            || self.bare_causes()
            || self.replays.take().is_some()
            || self.clip(40)
            || self.causes.shorten(0)
    }

    /// Reduces each cause to its class and title. Returns whether any had more.
    fn bare_causes(&mut self) -> bool {
        let texts = self.causes.items.iter_mut().flat_map(|cause| {
            cause.setting = None;
            [
                &mut cause.seen,
                &mut cause.advice,
                &mut cause.filter,
                &mut cause.place,
            ]
        });
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        let had_more = !texts.is_empty();
        texts.into_iter().for_each(String::clear);
        had_more
    }

    /// Cuts file names to their last `most` characters. Returns whether any was longer.
    fn clip_names(&mut self, most: usize) -> bool {
        let median = self.ranks.as_mut().map(|ranks| &mut ranks.median_file);
        let mut is_cut = false;
        for name in std::iter::once(&mut self.file).chain(median) {
            if let Some((at, _)) = name.char_indices().rev().nth(most) {
                is_cut = true;
                *name = format!("…{}", &name[at..].chars().skip(2).collect::<String>());
            }
        }
        is_cut
    }

    /// Cuts all sentences and labels to `most` characters, and empties filters and commands that are longer, as they
    /// are useless when cut. Returns whether any was longer.
    fn clip(&mut self, most: usize) -> bool {
        let mut is_cut = false;
        let mut cut = |text: &mut String, is_of_use_when_cut: bool| {
            if let Some((at, _)) = text.char_indices().nth(most) {
                is_cut = true;
                if is_of_use_when_cut {
                    text.truncate(at);
                    text.pop();
                    text.push('…');
                } else {
                    text.clear();
                }
            }
        };
        for cause in &mut self.causes.items {
            let setting = cause.setting.iter_mut().map(|it| &mut it.advice);
            let texts = [
                &mut cause.title,
                &mut cause.seen,
                &mut cause.place,
                &mut cause.advice,
            ];
            for text in texts.into_iter().chain(setting) {
                cut(text, true);
            }
            cut(&mut cause.filter, false);
        }
        for site in &mut self.sites.items {
            cut(&mut site.label, true);
            cut(&mut site.filter, false);
        }
        let sentences = self.cannot_tell.items.iter_mut();
        let sentences = sentences.chain(
            self.changes
                .items
                .iter_mut()
                .map(|change| &mut change.title),
        );
        let failed = self.failed.iter_mut();
        let failed =
            failed.flat_map(|failed| [&mut failed.seen, &mut failed.place, &mut failed.call_site]);
        let sentences = sentences.chain(&mut self.made_of).chain(failed);
        sentences.for_each(|text| cut(text, true));
        if most < 160 {
            cut(&mut self.answer, true);
        }
        is_cut
    }
}

/// The call sites that hold the memory live at a moment.
fn sites(device: &Device<'_>, moment: u32) -> List<Site> {
    let top = top_call_sites(**device, live_at(device.history, moment), SITES);
    let rows = site_table("", &top).rows.into_iter();
    let rows = rows.filter(|row| row.site.is_some());
    let sites = rows.map(|row| Site {
        bytes: row.bytes,
        count: row.count,
        filter: row
            .filter()
            .map_or_else(String::new, |filter| filter.to_string()),
        label: row.label,
    });
    let total = top.sites.len() as u64 + top.other_sites;
    List::of(sites.collect(), total)
}

/// What would have needed less when a request failed, or else at the peak.
fn changes(device: &Device<'_>, failure: Option<&FailedRequest>) -> List<Change> {
    let moment = failure.map_or(device.history.event_count, |failure| failure.moment);
    let changes = helpful(**device, moment, failure.is_none()).into_iter();
    let changes = changes.map(|(saved_bytes, change)| Change {
        saved_bytes,
        title: change.title,
    });
    whole(changes.collect())
}

/// What the files do not show.
fn cannot_tell(about: &About<'_>, device: &Device<'_>) -> List<String> {
    let damage = about.subject.damage().into_iter();
    let damage =
        damage.map(|damage| format!("The file is damaged: {}", warning_line(&damage.warning)));
    let facts = facts(device.recording).into_iter();
    let gaps = facts.filter(|fact| {
        let is_gap = fact.level == FactLevel::Gap || fact.kind == FactKind::DryRun;
        is_gap && fact.device.is_none_or(|of| of == device.index())
    });
    let gaps = gaps.map(|fact| {
        let said = format!("{} {} {}", fact.text, fact.meaning, fact.advice);
        said.trim().to_owned()
    });
    let others = about.others.iter().cloned();
    whole(others.chain(damage).chain(gaps).collect())
}

/// What replays with other settings achieve, if any is worth it, and those that help. Adds it to the overview.
fn replays_of(device: &Device<'_>, overview: &mut Overview) -> (Option<String>, List<Replayed>) {
    let Some((baseline, tried)) = replays(**device) else {
        return (None, List::of(Vec::new(), 0));
    };
    let concluded = conclusion(**device, &baseline, &tried);
    let serves = concluded.as_ref().is_some_and(Finding::serves);
    let title = concluded.as_ref().map(|finding| finding.title.clone());
    if let Some(concluded) = concluded {
        overview.conclude(concluded);
    }
    // Serving one request helps nobody if the next one fails.
    let helps = !overview.has_failed() || overview.advises_setting();
    let replayed = replayed(&baseline, tried, helps);
    (title.filter(|_| helps || !serves), replayed)
}

fn whole<T>(items: Vec<T>) -> List<T> {
    let total = items.len() as u64;
    List::of(items, total)
}

/// The replays that help, best first, and among equals the simplest first. `serving`: whether those do that serve a request that
/// failed.
fn replayed(baseline: &Baseline, mut tried: Vec<WhatIf>, serving: bool) -> List<Replayed> {
    if baseline.refusal.is_some() {
        return List::of(Vec::new(), 0);
    }
    let own = baseline.own.rescued;
    let helps = |row: &WhatIf| match row.rescued > own {
        true => serving,
        false => row.verdict == Verdict::Less,
    };
    tried.retain(|row| row.rank().0 == 0 && helps(row));
    tried.sort_by_key(|row| {
        (
            row.rank(),
            row.changes.matches(',').count(),
            row.changes.clone(),
        )
    });
    let total = tried.len() as u64;
    let rows = tried.into_iter().take(WHAT_IFS);
    let rows = rows.map(|row| Replayed {
        verdict: row.verdict_label(),
        peak_reserved_bytes: row.peak_reserved_bytes,
        change_bytes: row.change_bytes,
        error_bytes: baseline.error.largest_bytes(),
        settings: row.changes,
    });
    List::of(rows.collect(), total)
}

/// The commands that show details, most useful first.
fn next(
    about: &About<'_>,
    device: &Device<'_>,
    (overview, moment): (&Overview, u32),
    what_ifs: &List<Replayed>,
    among: Option<&Among>,
) -> Vec<String> {
    let subject = about.subject;
    let file = match subject.name.as_str() {
        STANDARD_INPUT => "-".to_owned(),
        name => quoted(name),
    };
    let only = match subject.recording.devices().count() {
        0 | 1 => String::new(),
        _ => format!(" --device {}", device.index()),
    };
    let mut next: Vec<String> = Vec::new();
    let mut add = |command: String| {
        if !next.contains(&command) {
            next.push(command);
        }
    };
    if overview.has_failed() {
        add(format!("vramscope oom {file}{only} --last 1"));
    }
    for cause in overview.causes.iter().take(3) {
        add(about_cause(
            cause.class,
            device,
            moment,
            among,
            (&file, &only),
        ));
    }
    let place = overview
        .causes
        .first()
        .filter(|cause| !cause.filter.is_empty());
    if let Some(cause) = place {
        let filter = quoted(&cause.filter);
        add(format!(
            "vramscope find {filter} {file}{only} --limit 5 --stack"
        ));
    }
    if what_ifs.total > 0 {
        add(format!("vramscope what-if {file}{only}"));
    }
    if let (Some(folder), Some(among)) = (about.folder, among) {
        let question = if among.failed > 0 { "oom" } else { "odd" };
        let folder = quoted(&folder.to_string_lossy());
        add(format!("vramscope fleet {question} {folder}"));
    }
    next
}

/// The command that shows details about a class of causes; `only` selects the file's device.
fn about_cause(
    class: CauseClass,
    device: &Device<'_>,
    moment: u32,
    among: Option<&Among>,
    (file, only): (&str, &str),
) -> String {
    match class.shown_by() {
        ShownBy::Leaks => format!("vramscope leaks {file}{only}"),
        ShownBy::PrivatePools => {
            format!("vramscope find 'pool:private live@{moment}' {file}{only} --limit 10")
        }
        ShownBy::PendingFrees if has_pending(device) => {
            format!("vramscope find pending {file}{only} --limit 10")
        }
        // For pending frees: memory that lies free on other streams.
        ShownBy::Fragmentation | ShownBy::PendingFrees => {
            format!("vramscope fragmentation {file}{only}")
        }
        ShownBy::File => format!("vramscope info {file}{only}"),
        ShownBy::UsualRank => match among.map(|among| quoted(&among.median_file)) {
            Some(median) if median != file => format!("vramscope diff {median} {file}"),
            _ => format!("vramscope info {file}"),
        },
        ShownBy::Live => format!("vramscope at {moment} {file}{only}"),
    }
}

/// Whether any free waited for another stream, so that the filter `pending` finds something.
fn has_pending(device: &Device<'_>) -> bool {
    let filter = Filter::parse("pending");
    filter.is_ok_and(|filter| {
        matches(&filter, **device, Pointed::default())
            .set
            .iter()
            .next()
            .is_some()
    })
}
