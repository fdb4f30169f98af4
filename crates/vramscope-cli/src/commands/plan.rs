//! `vramscope plan`: the least memory that a program could run in, and every step from there to the reserved memory.

mod export;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use vramscope_core::units::Bytes;
use vramscope_plan::what_if::{WhatIf, conclusion};
use vramscope_plan::{DevicePlan, Planner, Step, StepKind};

use self::export::Export;
use super::what_if::{baseline_parts, conclude};
use crate::arguments::{Inputs, Show, parse_time};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, detail, sum};
use crate::subject::{Device, Subject};

/// Show how little memory would be enough, and the steps from there to reserved memory
///
/// From ideal to real, step by step; each step says what it adds, what that consists of, and what can be done:
///
///   requested at once    the most bytes that the program asked for and held at one moment
///   aligned requests     the same, each as large as the allocator's sizes are: multiples of 512 B, or as
///                        roundup_power2_divisions says
///   each by itself       pools and streams do not share memory, and peak at different moments
///   best packing         placed as well as can be with all lives known, without moving anything
///   allocator model      PyTorch's allocator, replayed with the file's own settings, from empty, and from what
///                        it held when the recording began
///   measured             what the file says was held from the device
///
/// A buffer lives from its alloc to its free_completed. What other settings of the allocator would do comes after
/// that; `vramscope what-if` tries settings of your own. A snapshot does not say in which other orders the program
/// could have run; for what torch.compile compiled, `vramscope inductor` does.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// How long to look for better packings, per device
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s")]
    time: Duration,
    /// Write each pool's and stream's buffers as minimalloc's CSV, for any solver: into a folder, or those of the
    /// largest into one .csv file
    #[arg(long, value_name = "PATH")]
    export_csv: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope plan snapshot.pickle
  vramscope plan snapshot.pickle --time 1min
  vramscope plan snapshot.pickle --export-csv buffers.csv
  vramscope plan rank*.pickle --json | jq '.parts[] | [.file, .steps[].bytes]'";

/// Time between two reports of progress.
const SLICE: Duration = Duration::from_millis(50);

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or the result cannot be written.
pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    if options.export_csv.is_some() {
        source.must_be_files("--export-csv")?;
    }
    let export = options.export_csv.as_deref();
    let export = export.map(|path| Export::new(path, &options.inputs.files));
    let asked = Asked {
        time: options.time,
        export: export.transpose()?,
    };
    ask(source, &asked, &options.inputs, options.show)
}

/// The command's question about each file.
struct Asked {
    time: Duration,
    export: Option<Export>,
}

impl Question for Asked {
    const COMMAND: &'static str = "plan";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.about(device))
    }
}

impl Asked {
    fn about(&self, device: &Device<'_>) -> Result<Part, Failure> {
        if device.snapshot().is_host(device.index()) {
            let mut part = Part::of(&device.subject.name, device.index());
            let note = "Plans are for PyTorch's allocator, not for host memory.";
            part.notes.push(note.to_owned());
            return Ok(part);
        }
        let mut planner = Planner::new(**device);
        let began = Instant::now();
        loop {
            let slice = Instant::now();
            let is_done = planner.run(**device, &mut || slice.elapsed() >= SLICE);
            let is_over = planner.plan().has_all_bars && began.elapsed() >= self.time;
            if is_done || is_over {
                break;
            }
        }
        let plan = planner.plan();
        let mut part = Part::of(&device.subject.name, device.index());
        facts(&mut part, plan);
        steps_table(&mut part, plan);
        places_table(&mut part, plan);
        part.notes.extend(step_notes(plan));
        part.notes.extend(plan.segments.remark().map(str::to_owned));
        settings(&mut part, device, &planner);
        if let Some(export) = &self.export {
            part.notes.extend(export.write(device, &planner)?);
        }
        Ok(part)
    }
}

fn facts(part: &mut Part, plan: &DevicePlan) {
    part.fact("buffers", "buffers", Cell::Number(plan.buffers));
    let ideal = plan.bytes(StepKind::Requested);
    let used = ideal.and_then(|ideal| plan.share_of_real(ideal));
    let share = Cell::or_none(used, Cell::Share);
    part.fact_with(
        "used_share",
        "used",
        share,
        "requested at once, of what was reserved",
    );
    part.fact_with(
        "pools_bytes",
        "inductor's pools",
        Cell::or_none(plan.pools_bytes(), Cell::Bytes),
        "what torch.compile's memory planner would need for the same buffers",
    );
    let waiting = &plan.waiting;
    // Only relevant with several streams: on one stream a free completes when it is requested.
    let label = if waiting.at_peak_bytes > 0 {
        "waiting"
    } else {
        ""
    };
    part.fact_with(
        "waiting_at_peak_bytes",
        label,
        Cell::Bytes(waiting.at_peak_bytes),
        "freed at the peak, but other streams could still use it",
    );
    part.fact("waiting_most_bytes", "", Cell::Bytes(waiting.most_bytes));
    part.fact(
        "peak_without_waiting_bytes",
        "",
        Cell::Bytes(waiting.peak_without_bytes),
    );
}

fn steps_table(part: &mut Part, plan: &DevicePlan) {
    const COLUMNS: [Column; 9] = [
        column("bytes", "bytes"),
        column("change_bytes", "adds"),
        column("share", "of reserved"),
        column("step", "from ideal to real"),
        detail("place"),
        detail("settings"),
        detail("gap"),
        detail("why"),
        detail("advice"),
    ];
    let rows = plan.steps.iter().map(|step| {
        vec![
            Cell::Bytes(step.bytes),
            Cell::BytesChange(step.change_bytes),
            Cell::or_none(plan.share_of_real(step.bytes), Cell::Share),
            Cell::Text(step.kind.bar_label().to_owned()),
            Cell::None,
            Cell::None,
            Cell::Text(step.kind.gap_label().to_owned()),
            Cell::Text(step.why.clone()),
            Cell::Text(step.advice.clone()),
        ]
    });
    part.table("steps", "", &COLUMNS, rows.collect());
}

/// A row of the CSV table `steps` besides those of the device: for a pool and stream, or for other settings.
fn csv_bar(kind: StepKind, bytes: u64, place: Option<&str>, settings: Option<&str>) -> Vec<Cell> {
    let text = |text: &str| Cell::Text(text.to_owned());
    let mut row = vec![Cell::None; 9];
    row[0] = Cell::Bytes(bytes);
    row[3] = text(kind.bar_label());
    row[4] = Cell::or_none(place, text);
    row[5] = Cell::or_none(settings, text);
    row
}

/// The explanations of the steps that add something.
fn step_notes(plan: &DevicePlan) -> impl Iterator<Item = String> {
    // A step of less than a thousandth needs no action.
    let is_noted = |step: &&Step| step.change_bytes.unsigned_abs() > step.bytes / 1000;
    let noted = plan.steps.iter().filter(is_noted);
    noted.map(|step| {
        let sign = if step.change_bytes < 0 { "-" } else { "+" };
        let gap = step.kind.gap_label();
        let change = Bytes(step.change_bytes.unsigned_abs());
        let advice = if step.advice.is_empty() { "" } else { " " };
        format!(
            "{gap} ({sign}{change}): {}{advice}{}",
            step.why, step.advice
        )
    })
}

fn places_table(part: &mut Part, plan: &DevicePlan) {
    const COLUMNS: [Column; 10] = [
        sum("requested_bytes", "requested"),
        sum("aligned_bytes", "aligned"),
        sum("packed_bytes", "best packing"),
        sum("bound_bytes", "at least"),
        column("found_by", "found by"),
        sum("pools_bytes", "inductor's pools"),
        sum("modelled_bytes", "model"),
        sum("reserved_bytes", "reserved"),
        sum("buffers", "buffers"),
        column("place", "pool, stream"),
    ];
    let rows = plan.arenas.iter().map(|arena| {
        let packed = arena.packed;
        vec![
            Cell::Bytes(arena.requested_bytes),
            Cell::Bytes(arena.aligned_bytes),
            Cell::or_none(packed, |packed| Cell::Bytes(packed.bytes)),
            Cell::or_none(packed, |packed| Cell::Bytes(packed.bound_bytes)),
            Cell::or_none(packed, |packed| Cell::Text(packed.verdict().to_owned())),
            Cell::or_none(arena.pools_bytes, Cell::Bytes),
            Cell::or_none(arena.modelled_bytes, Cell::Bytes),
            Cell::or_none(arena.reserved_bytes, Cell::Bytes),
            Cell::Number(arena.buffers),
            Cell::Text(arena.label.clone()),
        ]
    });
    part.table("places", "By pool and stream", &COLUMNS, rows.collect());
    let bars = plan.arenas.iter().flat_map(|arena| {
        let bars = [
            (StepKind::Requested, Some(arena.requested_bytes)),
            (StepKind::Alignment, Some(arena.aligned_bytes)),
            (StepKind::Placement, arena.packed.map(|packed| packed.bytes)),
            (StepKind::Caching, arena.modelled_bytes),
            (StepKind::Kept, arena.reserved_bytes),
        ];
        let known = bars
            .into_iter()
            .filter_map(|(kind, bytes)| Some((kind, bytes?)));
        known.map(|(kind, bytes)| csv_bar(kind, bytes, Some(&arena.label), None))
    });
    part.csv_rows("steps", bars);
}

/// Adds replays with suggested settings, and how far to trust them.
fn settings(part: &mut Part, device: &Device<'_>, planner: &Planner) {
    let Some(baseline) = planner.baseline() else {
        part.notes.extend(planner.plan().no_model.clone());
        return;
    };
    let tried = baseline.suggestions.iter();
    let mut rows: Vec<_> = tried
        .flat_map(|changes| baseline.what_if(**device, changes))
        .collect();
    rows.sort_by_key(WhatIf::rank);
    conclude(part, conclusion(**device, baseline, &rows));
    baseline_parts(part, baseline, &rows);
    let device = rows.iter().map(|row| (row, None, row.peak_reserved_bytes));
    let arenas = rows.iter().flat_map(|row| {
        let arenas = row.arenas.iter();
        arenas.map(move |arena| (row, Some(&*arena.label), arena.peak_reserved_bytes))
    });
    let bars = device.chain(arenas);
    let bars = bars
        .map(|(row, place, bytes)| csv_bar(StepKind::Caching, bytes, place, Some(&row.changes)));
    part.csv_rows("steps", bars);
}
