//! `vramscope oom`: the reasons why requests failed.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::releases::{ReleaseCause, Releases, releases};
use vramscope_core::analysis::memory::settings::AllocatorConfig;
use vramscope_core::analysis::report::findings::{FailedRequest, helpful, origin};
use vramscope_core::analysis::report::overview::{SegmentsKnown, overview};
use vramscope_core::ids::{EventId, StackId};
use vramscope_core::model::Profile;
use vramscope_plan::what_if::concluded;

use super::peak::{live_table, moment_facts};
use super::stack::stack_table;
use super::text;
use super::what_if::conclude;
use crate::arguments::{Grouping, Inputs, Show};
use crate::failure::Failure;
use crate::hints::hints;
use crate::input::is_log_file;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Explain why requests ran out of memory
///
/// For each failed request: its size, how much the device and the allocator had free, why that was not enough, what was
/// live then, where the request came from, and what to try. Requests that succeeded only after cached memory was
/// released to CUDA are listed too, because they precede failures. For an error's text or a log, the answer is that of
/// `vramscope text`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    grouping: Grouping,
    /// Explain the last N failures in full; the last 100 are listed
    #[arg(long, value_name = "N", default_value_t = 3)]
    last: usize,
    /// Frames of the request's stack, 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    frames: usize,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope oom snapshot.pickle
  vramscope oom snapshot.pickle --last 1 --group-by module --frames 0
  vramscope oom train.log
  vramscope oom rank*.pickle --json | jq '.parts[] | select(.failure) | [.file, .why]'";

/// The head of the stack's table.
const FRAMES: [Column; 1] = [column(
    "frame",
    "where the request came from, innermost first",
)];

/// Maximum number of failures analysed, counted from the last: a program may retry for hours.
const LOOKED_AT: usize = 100;

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    if matches!(source, Source::Files) {
        let (logs, others) = inputs_by_kind(&options.inputs.files);
        match (logs.is_empty(), others.is_empty()) {
            (true, _) => {}
            (_, true) => return text::answer(Options::COMMAND, &logs, 1, options.show),
            _ => {
                return Err(Failure::Usage(
                    "logs and snapshots are answered apart: name only the ones, or only the others"
                        .to_owned(),
                ));
            }
        }
    }
    ask(source, options, &options.inputs, options.show)
}

/// The files that are text, and the others.
fn inputs_by_kind(files: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    files.iter().cloned().partition(|file| is_log_file(file))
}

impl Question for Options {
    const COMMAND: &'static str = "oom";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        let devices = subject.devices();
        let parts: Vec<_> = devices.flat_map(|device| self.about(&device)).collect();
        if parts.is_empty() {
            return subject.each_device(|device| Ok(Part::of(&subject.name, device.index())));
        }
        Ok(parts)
    }
}

/// Data that all failures of a device share.
struct Failures<'a> {
    device: &'a Device<'a>,
    /// The number of failures before the first of `looked_at`.
    earlier: usize,
    looked_at: Vec<FailedRequest>,
    releases: Releases,
    config: AllocatorConfig,
}

impl<'a> Failures<'a> {
    fn of(device: &'a Device<'a>) -> Self {
        let snapshot = &device.subject.snapshot;
        let moments = device.failed_requests();
        let earlier = moments.len().saturating_sub(LOOKED_AT);
        let releases = releases(snapshot, device.history);
        let mut looked_at = Vec::new();
        if let Some(moments) = moments.get(earlier..).filter(|moments| !moments.is_empty()) {
            let known = SegmentsKnown::of(**device) == SegmentsKnown::Real;
            looked_at.extend(moments.iter().map(|&moment| {
                let state = device.state_at(moment);
                FailedRequest::of(**device, &releases, known, moment, &state)
            }));
        }
        Self {
            device,
            earlier,
            looked_at,
            releases,
            config: AllocatorConfig::of(snapshot),
        }
    }

    fn count(&self) -> u64 {
        (self.earlier + self.looked_at.len()) as u64
    }

    fn time(&self, moment: u32) -> Cell {
        Cell::or_none(self.device.time(moment), |(at, _)| Cell::TimeUs(at))
    }

    fn site(&self, stack: StackId) -> Cell {
        let sites = &self.device.subject.call_sites();
        Cell::Text(sites.get(sites.of_stack(stack)).label.clone())
    }
}

impl Options {
    /// Lists the device's failures in a table, and explains the last ones.
    fn about(&self, device: &Device<'_>) -> Vec<Part> {
        let failures = Failures::of(device);
        let known = Some(failures.count()).filter(|_| device.tells_failures());
        let mut part = Part::of(&device.subject.name, device.index());
        part.fact(
            "failures",
            "failed requests",
            Cell::or_none(known, Cell::Number),
        );
        let advice = match failures.count() {
            0 => Advice::None,
            _ => advise(&mut part, device),
        };
        failures_table(&mut part, &failures);
        retries(&mut part, &failures);
        notes(&mut part, &failures);
        let mut parts = vec![part];
        let first = failures.looked_at.len().saturating_sub(self.last);
        let in_full = failures.looked_at.iter().enumerate().skip(first);
        parts.extend(in_full.map(|(place, failure)| {
            let number = (failures.earlier + place + 1) as u64;
            let is_advised = match advice {
                Advice::Each => true,
                // Of an earlier request nothing else is known.
                Advice::None => number < failures.count(),
                Advice::Replayed => false,
            };
            self.explained(&failures, number, failure, is_advised)
        }));
        parts
    }

    /// `is_advised`: whether a setting of the allocator may help, about which replays say nothing.
    fn explained(
        &self,
        failures: &Failures<'_>,
        number: u64,
        failure: &FailedRequest,
        is_advised: bool,
    ) -> Part {
        let device = failures.device;
        let mut part = Part::of(&device.subject.name, device.index());
        let of = match failures.count() {
            1 => "the only one".to_owned(),
            count => format!("of {count}"),
        };
        part.fact_with("failure", "failure", Cell::Number(number), of);
        moment_facts(&mut part, device, failure.moment, ["moment", "time_us"]);
        figures(&mut part, device, failure);
        let why = failure.verdict().words().to_owned();
        part.fact("why", "why", Cell::Text(why));
        let explained = failure.explained(**device, &failures.config);
        part.fact("explanation", "", Cell::Text(explained.may_mean));
        let origin = origin(**device, failure.moment);
        if !origin.is_empty() {
            part.fact("origin", "", Cell::Text(origin));
        }
        live_table(&mut part, device, self.grouping, failure.moment);
        if let Some(table) = part.tables.last_mut() {
            table.title = "Live when it failed".to_owned();
        }
        changes_table(&mut part, device, failure.moment);
        free_table(&mut part, device, failure);
        let has_stack = stack_table(&mut part, device, FRAMES, (failure.stack, self.frames));
        if !has_stack {
            let text = match AllocatorKind::of(&device.subject.snapshot) {
                AllocatorKind::Torch => {
                    "The request has no stack: record with context=\"all\" and stacks=\"python\" or \"all\"."
                }
                AllocatorKind::Driver => "The request has no stack: capture with --stacks native.",
            };
            part.notes.push(text.to_owned());
        }
        const TRY: [Column; 1] = [column("try", "what to try")];
        let setting = explained.setting.filter(|_| is_advised);
        let setting = setting.map(|it| it.advice);
        let to_try = setting.into_iter().chain(explained.to_try);
        let to_try = to_try.map(|text| vec![Cell::Text(text)]);
        part.table("try", "", &TRY, to_try.collect());
        part
    }
}

/// Which settings of the allocator are advised.
#[derive(Clone, Copy)]
enum Advice {
    /// Those that replays show to help, or none.
    Replayed,
    /// None with the last request that failed: another one would fail soon after.
    None,
    /// With each request those that may have served it; there are no replays.
    Each,
}

/// Adds the conclusion from replays, unless it serves one request and a later one would fail.
fn advise(part: &mut Part, device: &Device<'_>) -> Advice {
    let mut overview = overview(**device, 0);
    let Some(concluded) = concluded(**device) else {
        return match overview.setting_for_failure() {
            Some(_) => Advice::Each,
            None => Advice::None,
        };
    };
    overview.conclude(concluded.clone());
    let helps = !concluded.serves() || overview.advises_setting();
    conclude(part, Some(concluded).filter(|_| helps));
    Advice::Replayed
}

/// Adds what changes of the program would have saved when a request failed.
fn changes_table(part: &mut Part, device: &Device<'_>, moment: u32) {
    const COLUMNS: [Column; 5] = [
        column("saved_bytes", "saved then"),
        column("live_bytes", "live then"),
        column("peak_bytes", "peak"),
        column(
            "change",
            "change of the program (estimates from the recording)",
        ),
        column("because", ""),
    ];
    let changes = helpful(**device, moment, false).into_iter();
    let rows = changes.map(|(saved, change)| {
        vec![
            Cell::Bytes(saved),
            Cell::Bytes(change.live_bytes),
            Cell::Bytes(change.peak_bytes),
            Cell::Text(change.title),
            Cell::Text(change.because),
        ]
    });
    part.table("changes", "", &COLUMNS, rows.collect());
}

fn failures_table(part: &mut Part, failures: &Failures<'_>) {
    const COLUMNS: [Column; 8] = [
        column("moment", "event"),
        column("time_us", "at (UTC)"),
        column("requested_bytes", "requested"),
        column("device_free_bytes", "free on device"),
        column("reserved_bytes", "held by PyTorch"),
        column("usable_bytes", "usable"),
        column("why", "why"),
        column("call_site", "request"),
    ];
    let rows = failures.looked_at.iter().map(|failure| {
        let known = |bytes| Cell::or_none(failure.has_state.then_some(bytes), Cell::Bytes);
        vec![
            Cell::Number(failure.moment.into()),
            failures.time(failure.moment),
            Cell::Bytes(failure.requested_bytes),
            Cell::or_none(failure.device_free_bytes, Cell::Bytes),
            known(failure.gap.reserved_bytes),
            known(failure.own_free_bytes),
            Cell::Text(failure.verdict().words().to_owned()),
            failures.site(failure.stack),
        ]
    });
    let mut columns = COLUMNS;
    if AllocatorKind::of(&failures.device.subject.snapshot) == AllocatorKind::Driver {
        columns[4].header = "held";
    }
    part.table("failed", "", &columns, rows.collect());
}

/// Adds the requests that succeeded only after cached memory was released.
fn retries(part: &mut Part, failures: &Failures<'_>) {
    const COLUMNS: [Column; 4] = [
        column("moment", "event"),
        column("time_us", "at (UTC)"),
        sum("bytes", "given back"),
        column("call_site", "for a request at"),
    ];
    let (device, total) = (failures.device, failures.releases.for_request);
    let runs = failures.releases.runs.iter();
    let runs = runs.filter(|run| run.cause == ReleaseCause::ForRequest && !run.before_oom);
    let rows: Vec<_> = runs
        .map(|run| {
            let event = EventId(device.history.first_event + run.to.saturating_sub(1));
            let stack = device.subject.snapshot.events.get(event).stack;
            vec![
                Cell::Number(run.to.into()),
                failures.time(run.to),
                Cell::Bytes(run.bytes),
                failures.site(stack),
            ]
        })
        .collect();
    part.fact_with(
        "retries",
        "close calls",
        Cell::Number(rows.len() as u64),
        match rows.len() {
            0 => "",
            _ => "requests served only after cached memory was given back to the device",
        },
    );
    part.fact(
        "given_back_bytes",
        "given back",
        Cell::or_none(Some(total.bytes).filter(|&bytes| bytes > 0), Cell::Bytes),
    );
    part.table("retried", "Close calls", &COLUMNS, rows);
}

fn notes(part: &mut Part, failures: &Failures<'_>) {
    let history = failures.device.history;
    let mut note = |text: &str| part.notes.push(text.to_owned());
    if failures.earlier > 0 {
        note("Only the last 100 failures are listed and explained.");
    }
    if !failures.looked_at.is_empty() {
        return;
    }
    if !history.has_trace() {
        note(
            "This file has no trace, so it cannot show failed requests. `vramscope peak` shows what was live when it was \
             written.",
        );
        note(hints(**failures.device).failure);
        return;
    }
    if !failures.device.tells_failures() {
        note("A memory timeline does not record failed requests.");
        note(hints(**failures.device).failure);
        return;
    }
    note("No request failed in the recorded events.");
    let runs = &failures.releases.runs;
    if runs.last().is_some_and(|run| run.to == history.event_count) {
        note(
            "The recording ends while cached memory is given back, as it is right before a failure: if the file was \
             dumped because of one, record it without skip_actions=[\"oom\"].",
        );
    } else {
        note(match Profile::of(&failures.device.subject.snapshot) {
            None => {
                "If the program did run out of memory, the file was dumped before, or after the failure was overwritten."
            }
            Some(_) => {
                "If the program did run out of memory, it was while the profiler did not record."
            }
        });
        note(hints(**failures.device).failure);
    }
}

/// Adds the request and the memory around it in figures.
fn figures(part: &mut Part, device: &Device<'_>, failure: &FailedRequest) {
    for figure in failure.figures(**device) {
        let cell = Cell::or_none(figure.bytes, Cell::Bytes);
        part.fact_with(figure.key, figure.label, cell, figure.remark);
        if figure.key == "requested_bytes" {
            let place = device.subject.place_label(failure.arena);
            part.fact("place", "from", Cell::Text(place));
        }
    }
}

/// Adds the free memory, by who could have used it.
fn free_table(part: &mut Part, device: &Device<'_>, failure: &FailedRequest) {
    const COLUMNS: [Column; 5] = [
        sum("free_bytes", "free"),
        sum("blocks", "blocks"),
        column("largest_bytes", "largest"),
        column("usable", "usable"),
        column("place", ""),
    ];
    if !failure.has_state {
        return;
    }
    let state = device.state_at(failure.moment);
    let rows = failure.free_places(&state).into_iter().map(|place| {
        let label = device.subject.sized_place_label(place.arena, place.class);
        vec![
            Cell::Bytes(place.bytes),
            Cell::Number(place.blocks),
            Cell::Bytes(place.largest_bytes),
            Cell::Flag(place.is_own),
            Cell::Text(label),
        ]
    });
    part.table(
        "free",
        match failure.kind {
            AllocatorKind::Torch => "Free in PyTorch when it failed",
            AllocatorKind::Driver => "Free when it failed",
        },
        &COLUMNS,
        rows.collect(),
    );
}
