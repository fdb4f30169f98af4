//! `vramscope what-if`: what the allocator would have reserved under other settings.

use clap::Args;
use vramscope_core::analysis::allocator_model::ModelSettings;
use vramscope_core::analysis::overview::SegmentsKnown;
use vramscope_core::analysis::plan::what_if::{Baseline, ModelError, WhatIf, baseline};

use crate::arguments::{Inputs, Show, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::{Question, ask};
use crate::report::{Cell, Column, Part, column, detail};
use crate::subject::{Device, Subject};

/// Tell what PyTorch's allocator would have reserved with other settings
///
/// The recorded requests and frees are run again through a model of the allocator: with the file's own settings, and
/// with each --set on top of them. What the model gets wrong of the recording itself stands beside it; where that is too
/// much, there is no answer. The program is taken as it ran: it asks for the same, in the same order.
///
/// Settings are those of PYTORCH_CUDA_ALLOC_CONF, with : or =, joined by commas: expandable_segments,
/// max_split_size_mb, max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold,
/// large_segment_size_mb, per_process_memory_fraction.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Settings to try, e.g. expandable_segments=True,max_split_size_mb=128; may be given several times. If not given,
    /// those that often help
    #[arg(long, value_name = "SETTINGS")]
    set: Vec<String>,
    /// How much memory the program may take: tells which requests would fail
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
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
/// When the settings make no sense, a file cannot be read or the result cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    for changes in options.tried(&[]) {
        let checked = ModelSettings::default().with_changes(&changes);
        checked.map_err(|why| Failure::Usage(format!("--set {changes}: {why}")))?;
    }
    ask(options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "what-if";

    fn parts(&self, subject: &Subject) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.about(device))
    }
}

impl Options {
    fn about(&self, device: &Device<'_>) -> Result<Part, Failure> {
        let mut part = Part::of(&device.subject.name, device.index());
        let recording = device.recording();
        let known = SegmentsKnown::in_recording(recording, device.allocator());
        part.notes.extend(known.remark().map(str::to_owned));
        let baseline = match baseline(recording, known) {
            Ok(baseline) => baseline,
            Err(why) => {
                part.notes.push(why);
                return Ok(part);
            }
        };
        let mut rows = Vec::new();
        if baseline.refusal.is_none() {
            for changes in self.tried(&baseline.suggestions) {
                let row = baseline.what_if(recording, &changes);
                rows.push(row.map_err(|why| Failure::Usage(format!("--set {changes}: {why}")))?);
            }
        }
        if self.set.is_empty() {
            rows.sort_by_key(|row| row.peak_reserved_bytes);
        }
        baseline_parts(&mut part, &baseline, &rows);
        Ok(part)
    }

    /// The changes to try: the user's, else the suggested ones; with a capacity, also none but that.
    fn tried(&self, suggestions: &[String]) -> Vec<String> {
        let sets = if self.set.is_empty() {
            suggestions
        } else {
            &self.set
        };
        let Some(Size(bytes)) = self.capacity else {
            return sets.to_vec();
        };
        let limited = sets
            .iter()
            .map(|changes| format!("{changes},capacity={bytes}"));
        std::iter::once(format!("capacity={bytes}"))
            .chain(limited)
            .collect()
    }
}

/// What the model reserves, how wrong it is, and the replays under other settings, if they are to be given.
pub(super) fn baseline_parts(part: &mut Part, baseline: &Baseline, rows: &[WhatIf]) {
    error_facts(part, &baseline.error);
    part.notes.extend(baseline.refusal.clone());
    part.notes.extend(baseline.notes.iter().cloned());
    if baseline.refusal.is_none() {
        rows_table(part, &baseline.own, rows);
        if rows.iter().any(|row| row.refused > 0) {
            let why = "Where requests fail, the program goes on without them here: a lower peak is no saving then.";
            part.notes.push(why.to_owned());
        }
    }
}

fn error_facts(part: &mut Part, error: &ModelError) {
    part.fact(
        "reserved_bytes",
        "really reserved",
        Cell::Bytes(error.reserved_bytes),
    );
    part.fact_with(
        "modelled_bytes",
        "by the model",
        Cell::Bytes(error.modelled_bytes),
        "from what there was when the recording began",
    );
    part.fact_with(
        "model_error_bytes",
        "model's error",
        Cell::BytesChange(error.error_bytes),
        match error.error_bytes {
            0 => "the model reserves just as much".to_owned(),
            _ => format!("{:+.2} %", error.share() * 100.0),
        },
    );
    part.fact("model_error_share", "", Cell::ShareChange(error.share()));
}

fn rows_table(part: &mut Part, own: &WhatIf, rows: &[WhatIf]) {
    const COLUMNS: [Column; 11] = [
        column("peak_reserved_bytes", "reserved peak"),
        column("change_bytes", "change"),
        column("free_bytes_at_peak", "free then"),
        column("free_share", "free"),
        detail("rounding_bytes_at_peak"),
        detail("peak_moment"),
        column("refused", "failed"),
        detail("rescued"),
        column("retries", "retries"),
        column("changes", "settings"),
        detail("settings"),
    ];
    let rows = std::iter::once(own).chain(rows).map(|row| {
        let is_own = row.changes.is_empty();
        let changes = if is_own { "as recorded" } else { &row.changes };
        vec![
            Cell::Bytes(row.peak_reserved_bytes),
            Cell::BytesChange(row.change_bytes),
            Cell::Bytes(row.free_bytes_at_peak),
            Cell::Share(row.free_share()),
            Cell::Bytes(row.rounding_bytes_at_peak),
            Cell::Number(row.peak_moment.into()),
            Cell::Number(row.refused),
            Cell::Number(row.rescued),
            Cell::Number(row.retries),
            Cell::Text(changes.to_owned()),
            Cell::Text(row.settings.clone()),
        ]
    });
    let title = "The allocator's model, beginning empty, with the file's settings and with others";
    part.table("settings", title, &COLUMNS, rows.collect());
}
