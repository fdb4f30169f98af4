//! `vramscope what-if`: the memory that the allocator would have reserved with other settings.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::report::findings::{Finding, helpful};
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::analysis::search::filter::ExactBytes;
use vramscope_plan::allocator_model::ModelSettings;
use vramscope_plan::what_if::{Baseline, WhatIf, baseline, conclusion};

use crate::arguments::{Inputs, Show, Size, parse_capacity};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, detail, remark};
use crate::subject::{Device, Subject};

/// Show what PyTorch's allocator would have reserved with other settings
///
/// The recorded requests and frees are replayed by a model of the allocator: with the file's own settings, and with
/// each --set on top of them. The model's error on the recording itself is shown too; if it is too large, there is no
/// answer. The program's requests and their order stay as recorded.
///
/// Settings are those of PYTORCH_CUDA_ALLOC_CONF, with : or =, joined by commas: expandable_segments,
/// max_split_size_mb, max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold,
/// large_segment_size_mb, per_process_memory_fraction.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Settings to try, e.g. expandable_segments=True,max_split_size_mb=128; may be given several times. If not
    /// given, settings that often help
    #[arg(long, value_name = "SETTINGS")]
    set: Vec<String>,
    /// How much memory the program may use, as 24GiB or by a card's name such as rtx4090; shows which requests would
    /// fail
    #[arg(long, value_name = "SIZE", value_parser = parse_capacity)]
    capacity: Option<Size>,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope what-if snapshot.pickle
  vramscope what-if snapshot.pickle --set expandable_segments=True --set max_split_size_mb=128
  vramscope what-if snapshot.pickle --set expandable_segments=True --capacity 24GiB
  vramscope what-if snapshot.pickle --json | jq '.parts[].settings[] | [.peak_reserved_bytes, .changes]'";

/// Runs the command.
///
/// # Errors
/// If the settings are invalid, a file cannot be read or the result cannot be written.
pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "what-if";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.about(device))
    }
}

impl Options {
    fn about(&self, device: &Device<'_>) -> Result<Part, Failure> {
        let mut part = Part::of(&device.subject.name, device.index());
        let segments = SegmentsKnown::of(**device);
        part.notes.extend(segments.remark().map(str::to_owned));
        let own = ModelSettings::of_device(**device);
        for changes in self.tried(&[]) {
            let checked = own.with_changes(&changes);
            checked.map_err(|why| Failure::Usage(format!("--set {changes}: {why}")))?;
        }
        let baseline = match baseline(**device) {
            Ok(baseline) => baseline,
            Err(why) => {
                part.notes.push(why);
                return Ok(part);
            }
        };
        let mut rows = Vec::new();
        if baseline.refusal.is_none() {
            for changes in self.tried(&baseline.suggestions) {
                let row = baseline.what_if(**device, &changes);
                rows.push(row.map_err(|why| Failure::Usage(format!("--set {changes}: {why}")))?);
            }
        }
        if self.set.is_empty() {
            rows.sort_by_key(WhatIf::rank);
        }
        if self.set.is_empty() && self.capacity.is_none() {
            conclude(&mut part, conclusion(**device, &baseline, &rows));
        }
        baseline_parts(&mut part, &baseline, &rows);
        self.program_table(&mut part, device);
        Ok(part)
    }

    /// Adds where live memory would peak after changes of the program.
    fn program_table(&self, part: &mut Part, device: &Device<'_>) {
        let fits = match self.capacity {
            Some(_) => column("live_fits", "live fits"),
            None => detail("live_fits"),
        };
        let columns = [
            column("peak_bytes", "live peak"),
            column("saved_bytes", "saved"),
            fits,
            column("change", "with"),
            remark("because", "because"),
        ];
        let changes = helpful(**device, device.history.event_count, true);
        let rows = changes.into_iter().map(|(saved, change)| {
            let fits = self.capacity.map(|Size(bytes)| change.peak_bytes <= bytes);
            let word = |fits: bool| Cell::Text(if fits { "yes" } else { "no" }.to_owned());
            vec![
                Cell::Bytes(change.peak_bytes),
                Cell::Bytes(saved),
                Cell::or_none(fits, word),
                Cell::Text(change.title),
                Cell::Text(change.because),
            ]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            part.table(
                "program",
                "Changes of the program, estimated from when allocations were made and freed",
                &columns,
                rows,
            );
        }
    }

    /// The settings to try: the user's, or else suggested ones. With a capacity, also the capacity alone.
    fn tried(&self, suggestions: &[String]) -> Vec<String> {
        let sets = if self.set.is_empty() {
            suggestions
        } else {
            &self.set
        };
        let Some(Size(bytes)) = self.capacity else {
            return sets.to_vec();
        };
        let capacity = format!("capacity={}", ExactBytes(bytes));
        let sets = sets.iter().filter(|changes| !changes.trim().is_empty());
        let limited = sets.map(|changes| format!("{capacity},{changes}"));
        std::iter::once(capacity.clone()).chain(limited).collect()
    }
}

/// Adds the conclusion of the replays with suggested settings.
pub(super) fn conclude(part: &mut Part, conclusion: Option<Finding>) {
    if let Some(found) = conclusion {
        part.fact("conclusion", "conclusion", Cell::Text(found.title));
        part.notes.push(found.seen);
    }
}

/// Maximum number of rows by pool and stream in text output, which is as much as a reader takes in: seven settings with
/// three each.
const MOST_PLACE_ROWS: usize = 21;

/// Adds the model's peak and error, and the replays with other settings unless the model is refused.
pub(super) fn baseline_parts(part: &mut Part, baseline: &Baseline, rows: &[WhatIf]) {
    error_facts(part, baseline);
    part.notes.extend(baseline.refusal.clone());
    part.notes.extend(baseline.trust.last().cloned());
    part.notes.extend(baseline.notes.iter().cloned());
    if baseline.refusal.is_none() {
        rows_table(part, &baseline.own, rows);
        places_table(part, &baseline.own, rows);
        let told = rows
            .iter()
            .filter(|row| row.rank().0 > 0 || !row.remark.is_empty());
        // Many settings give the same sentence; join equal ones.
        let mut said: Vec<(String, Vec<&str>)> = Vec::new();
        for row in told {
            let text = format!("{} {}", row.says, row.remark);
            match said.iter_mut().find(|(known, _)| *known == text) {
                Some((_, changes)) => changes.push(&row.changes),
                None => said.push((text, vec![&row.changes])),
            }
        }
        let notes = said.iter();
        let notes = notes.map(|(text, changes)| format!("{}: {}", changes.join("; "), text.trim()));
        part.notes.extend(notes);
    }
}

fn error_facts(part: &mut Part, baseline: &Baseline) {
    let error = &baseline.error;
    let percent = |share: f64| format!("{:+.2} %", share * 100.0).replace('-', "\u{2212}");
    part.fact(
        "reserved_bytes",
        "measured",
        Cell::Bytes(error.reserved_bytes),
    );
    part.fact_with(
        "from_empty_bytes",
        "model, from empty",
        Cell::Bytes(error.from_empty_bytes),
        "as all replays below begin",
    );
    part.fact_with(
        "from_empty_error_bytes",
        "its error",
        Cell::BytesChange(error.from_empty_error_bytes),
        format!(
            "{}: how wrong a what-if may be",
            percent(error.from_empty_share())
        ),
    );
    part.fact_with(
        "modelled_bytes",
        "model, from the start",
        Cell::Bytes(error.modelled_bytes),
        "from what there was when the recording began",
    );
    part.fact_with(
        "model_error_bytes",
        "its error",
        Cell::BytesChange(error.error_bytes),
        percent(error.share()),
    );
    agreement_facts(part, baseline);
}

/// Adds the figures of agreement, for JSON only. A note has them in words.
fn agreement_facts(part: &mut Part, baseline: &Baseline) {
    let (error, check) = (&baseline.error, &baseline.check);
    for (key, cell) in [
        (
            "from_empty_error_share",
            Cell::ShareChange(error.from_empty_share()),
        ),
        ("model_error_share", Cell::ShareChange(error.share())),
        ("allocations", Cell::Number(check.allocs.recorded)),
        ("allocations_agreeing", Cell::Number(check.allocs.agreeing)),
        (
            "segment_events",
            Cell::Number(check.segment_events.recorded),
        ),
        (
            "segment_events_agreeing",
            Cell::Number(check.segment_events.agreeing),
        ),
        (
            "segment_events_extra",
            Cell::Number(check.extra_segment_events),
        ),
        (
            "final_segments",
            Cell::Number(check.final_segments.recorded),
        ),
        (
            "final_segments_agreeing",
            Cell::Number(check.final_segments.agreeing),
        ),
        ("events_not_compared", Cell::Number(check.events_left_out)),
    ] {
        part.fact(key, "", cell);
    }
}

const SETTINGS: [Column; 18] = [
    column("peak_reserved_bytes", "reserved peak"),
    column("change_bytes", "change"),
    column("free_bytes_at_peak", "free then"),
    column("free_share", "free"),
    detail("rounding_bytes_at_peak"),
    detail("peak_moment"),
    column("refused", "failed"),
    detail("refused_within_error"),
    detail("rescued"),
    column("retries", "retries"),
    column("verdict", "verdict"),
    column("changes", "settings"),
    detail("settings"),
    detail("capacity_bytes"),
    detail("allowed_bytes"),
    detail("says"),
    detail("remark"),
    detail("place"),
];

fn rows_table(part: &mut Part, own: &WhatIf, rows: &[WhatIf]) {
    let rows = std::iter::once(own).chain(rows).map(|row| {
        let is_own = row.changes.is_empty();
        vec![
            Cell::Bytes(row.peak_reserved_bytes),
            Cell::BytesChange(row.change_bytes),
            Cell::Bytes(row.free_bytes_at_peak),
            Cell::Share(row.free_share()),
            Cell::Bytes(row.rounding_bytes_at_peak),
            Cell::Number(row.peak_moment.into()),
            Cell::Number(row.refused),
            Cell::or_none(row.refused_within_error, Cell::Number),
            Cell::Number(row.rescued),
            Cell::Number(row.retries),
            Cell::Text(if is_own { "" } else { row.verdict.label() }.to_owned()),
            changes(row),
            Cell::Text(row.settings.clone()),
            Cell::or_none(row.capacity_bytes, Cell::Bytes),
            Cell::or_none(row.allowed_bytes, Cell::Bytes),
            Cell::Text(row.says.clone()),
            Cell::Text(row.remark.clone()),
            Cell::None,
        ]
    });
    let title = "The allocator's model, beginning empty, with the file's settings and with others";
    part.table("settings", title, &SETTINGS, rows.collect());
}

fn changes(row: &WhatIf) -> Cell {
    let is_own = row.changes.is_empty();
    Cell::Text(if is_own { "as recorded" } else { &row.changes }.to_owned())
}

/// Adds the peaks by pool and stream. Text output has them only if there are several, and not too many.
fn places_table(part: &mut Part, own: &WhatIf, rows: &[WhatIf]) {
    let mut columns = [
        column("peak_reserved_bytes", "reserved peak"),
        column("change_bytes", "change"),
        column("place", "pool, stream"),
        column("changes", "settings"),
    ];
    let all = std::iter::once(own).chain(rows);
    let peaks = all.flat_map(|row| row.arenas.iter().map(move |arena| (row, arena)));
    let rows = peaks.map(|(row, arena)| {
        vec![
            Cell::Bytes(arena.peak_reserved_bytes),
            Cell::BytesChange(arena.change_bytes),
            Cell::Text(arena.label.clone()),
            changes(row),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let in_csv = rows.iter().map(|row| {
        let mut cells = vec![Cell::None; SETTINGS.len()];
        for (column, cell) in columns.iter().zip(row) {
            let same = SETTINGS.iter().position(|own| own.key == column.key);
            if let Some(place) = same {
                cells[place] = cell.clone();
            }
        }
        cells
    });
    part.csv_rows("settings", in_csv);
    if own.arenas.len() < 2 || rows.len() > MOST_PLACE_ROWS {
        for column in &mut columns {
            column.is_detail = true;
        }
    }
    part.table(
        "settings_places",
        "The same by pool and stream",
        &columns,
        rows,
    );
}
