//! `vramscope leaks`: memory that repeated steps, or a range, leave behind.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::groups::group_changes::group_changes;
use vramscope_core::analysis::groups::leaks::{GroupLeft, Leaks, leaks, whole_repetitions};
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::analysis::time::lanes::WARM_UP;
use vramscope_core::analysis::time::selection::Moments;

use super::range::range_facts;
use crate::arguments::{Grouping, Inputs, MOMENTS, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Find memory that repeated steps leave behind: allocated in one and still live after all others
///
/// Steps are found by their annotations (the profiler's steps, `train_step 12`, optimizer steps) or named with
/// --annotation. Memory that most steps leave behind comes first, sorted by the median per step. The last step does
/// not count, because the next one may free its memory. Without steps, --range shows what was allocated in a range
/// and is live at its end.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{MOMENTS}\n\n{EXAMPLES}"))]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Repetitions: all annotated ranges of this name; `*` in it stands for anything
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    annotation: Option<String>,
    /// Leave out the first N repetitions, as warm-up; by default 2, as for growth elsewhere, or fewer if there are few
    #[arg(long, value_name = "N", conflicts_with = "range")]
    skip: Option<usize>,
    /// Instead of repetitions, show what was allocated in this range and is live at its end
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope leaks snapshot.pickle
  vramscope leaks snapshot.pickle --annotation 'train_step *' --skip 3 --depth 3
  vramscope leaks snapshot.pickle --range 'epoch[1]:end..epoch[2]:end'";

const LEAK_COLUMNS: [Column; 7] = [
    column("median_bytes_per_step", "per step"),
    sum("left_bytes", "in all"),
    sum("allocations", "allocations"),
    column("steps", "steps"),
    column("first_step", "first"),
    column("last_step", "last"),
    column("group", ""),
];

const RETAINED_COLUMNS: [Column; 5] = [
    sum("retained_bytes", "retained"),
    sum("retained", "allocations"),
    sum("allocated_bytes", "allocated"),
    column("kept_share", "kept"),
    column("group", ""),
];

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

/// Steps in order, without overlaps.
struct Repetitions {
    /// The name of the steps.
    name: String,
    /// The number and moments of each step.
    steps: Vec<(u64, Moments)>,
}

impl Question for Options {
    const COMMAND: &'static str = "leaks";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.part(device))
    }
}

impl Options {
    fn part(&self, device: &Device<'_>) -> Result<Part, Failure> {
        if let Some(range) = &self.range {
            return Ok(self.retained(device, device.range(range)?));
        }
        let (found, why) = match &self.annotation {
            Some(name) => (Some(called(device, name)?), String::new()),
            None => match steps_of(device) {
                Some(steps) => (Some(steps), String::new()),
                None => (
                    None,
                    "no annotation looks like a step, and stacks show none".to_owned(),
                ),
            },
        };
        let whole = found.as_ref().map_or(0, |found| found.steps.len());
        let skip = self
            .skip
            .unwrap_or_else(|| WARM_UP.min(whole.saturating_sub(2)));
        let found = found.map(|mut found| {
            found.steps.drain(..skip.min(whole));
            found
        });
        let why = match found {
            Some(repetitions) if repetitions.steps.len() >= 2 => {
                return Ok(self.left(device, &repetitions, skip));
            }
            Some(repetitions) => format!(
                "of {}, {whole} recorded from beginning to end, {} after --skip {}; two are needed",
                repetitions.name,
                repetitions.steps.len(),
                skip
            ),
            None => why,
        };
        if self.annotation.is_some() {
            return Err(Failure::Input(format!(
                "{}, device {}: {why}",
                device.subject.name,
                device.index()
            )));
        }
        let mut part = self.retained(device, (0, device.history.event_count));
        part.notes.extend(doubts(device));
        part.notes.insert(
            0,
            format!(
                "There are no steps to compare ({why}), so this is all that was allocated during the recording and \
                 is live at its end. Name repetitions with --annotation, or two moments with --range A..B."
            ),
        );
        Ok(part)
    }

    /// Answers for repetitions.
    fn left(&self, device: &Device<'_>, repetitions: &Repetitions, skipped: usize) -> Part {
        let groups = device.groups(self.grouping);
        let moments: Vec<Moments> = repetitions.steps.iter().map(|step| step.1).collect();
        let found = leaks(device.history, &groups, &moments);
        let mut part = Part::of(&device.subject.name, device.index());
        part.notes.extend(doubts(device));
        step_facts(&mut part, repetitions, &found, skipped);
        let rows = found.groups.iter().map(|group| {
            let label = groups.labels.get(group.group as usize);
            row(group, repetitions, label.cloned().unwrap_or_default())
        });
        part.table("leaks", "", &LEAK_COLUMNS, rows.collect());
        let judge = repetitions.steps.last().map_or(0, |step| step.0);
        if found.groups.is_empty() {
            part.notes.push(format!(
                "Nothing that these steps allocated is live at the end of step {judge}."
            ));
        } else {
            part.notes.push(format!(
                "Live at the end of step {judge}, which need not be a leak: state that is made once (0 B per step) and \
                 caches look the same."
            ));
        }
        part
    }

    /// Answers for a range.
    fn retained(&self, device: &Device<'_>, range: Moments) -> Part {
        let groups = device.groups(self.grouping);
        let changes = group_changes(device.history, &groups, &[range]);
        let all = changes.total.retained;
        let mut part = Part::of(&device.subject.name, device.index());
        range_facts(&mut part, device, range);
        part.fact_with(
            "retained_bytes",
            "retained",
            Cell::Bytes(all.bytes),
            counted(all.count, "allocation"),
        );
        let kept = changes
            .groups
            .iter()
            .filter(|group| !group.retained.is_nothing());
        let rows = kept.map(|group| {
            let (retained, allocated) = (group.retained, group.allocated.bytes);
            vec![
                Cell::Bytes(retained.bytes),
                Cell::Number(retained.count),
                Cell::Bytes(allocated),
                Cell::Share(retained.bytes as f64 / allocated.max(1) as f64),
                Cell::Text(groups.labels[group.group as usize].clone()),
            ]
        });
        part.table("retained", "", &RETAINED_COLUMNS, rows.collect());
        part.notes.push(
            "Live at the end of the range, which need not be a leak: what is needed later looks the same."
                .to_owned(),
        );
        part
    }
}

/// Reasons to doubt that memory really stayed.
fn doubts(device: &Device<'_>) -> Vec<String> {
    let mut doubts = Vec::new();
    if device.snapshot().warnings.hide_frees() {
        doubts.push("Some frees are missing, or are not understood: what seems to stay may have been freed.".to_owned());
    }
    let unplaced = device.lanes().unplaced;
    if unplaced > 0 {
        doubts.push(format!(
            "{} cannot be placed, as times are missing or go back: steps may be missing.",
            counted(unplaced, "annotation")
        ));
    }
    doubts
}

/// The steps named by the program, or else those that stacks show.
fn steps_of(device: &Device<'_>) -> Option<Repetitions> {
    let steps = device.steps()?;
    let whole = steps.steps.iter().filter(|step| step.is_whole);
    Some(Repetitions {
        name: if steps.by.is_inferred() {
            format!("{}, inferred from stacks", steps.pattern)
        } else {
            steps.pattern.clone()
        },
        steps: whole.map(|step| (step.number, step.moments)).collect(),
    })
}

/// The ranges with a name, numbered from 1 as in `NAME[3]`.
fn called(device: &Device<'_>, name: &str) -> Result<Repetitions, Failure> {
    let whole = whole_repetitions(&device.ranges_called(name)?);
    let steps = (1..).zip(whole.iter().map(|range| range.moments()));
    Ok(Repetitions {
        name: name.to_owned(),
        steps: steps.collect(),
    })
}

fn step_facts(part: &mut Part, repetitions: &Repetitions, found: &Leaks, skipped: usize) {
    let number = |step: Option<&(u64, Moments)>| step.map_or(0, |step| step.0);
    let (first, judge) = (repetitions.steps.first(), repetitions.steps.last());
    let count = found.repetitions.len();
    part.fact(
        "steps_called",
        "steps",
        Cell::Text(repetitions.name.clone()),
    );
    part.fact_with(
        "steps",
        "counted",
        Cell::Number(count as u64),
        format!(
            "from step {}; {skipped} skipped, and the last is not counted",
            number(first)
        ),
    );
    part.fact_with(
        "until_moment",
        "looked at after event",
        Cell::Number(found.until.into()),
        format!("the end of step {}", number(judge)),
    );
    part.fact_with(
        "median_bytes_per_step",
        "left per step",
        Cell::Bytes(found.median_bytes),
        "the median",
    );
    let total = found.total();
    part.fact_with(
        "left_bytes",
        "left in all",
        Cell::Bytes(total.bytes),
        counted(total.count, "allocation"),
    );
    let outside = Some(found.outside.bytes).filter(|&bytes| bytes > 0);
    part.fact(
        "outside_bytes",
        "left between steps",
        Cell::or_none(outside, Cell::Bytes),
    );
    part.fact_with(
        "growth_bytes_per_step",
        "live memory",
        Cell::BytesChange(found.growth_bytes()),
        "per step, from the end of the first counted to the end of the last",
    );
}

fn row(group: &GroupLeft, repetitions: &Repetitions, label: String) -> Vec<Cell> {
    let number = |place: usize| {
        let step = repetitions.steps.get(place);
        Cell::or_none(step, |step| Cell::Number(step.0))
    };
    vec![
        Cell::Bytes(group.median_bytes),
        Cell::Bytes(group.left.bytes),
        Cell::Number(group.left.count),
        Cell::Number(group.repetitions),
        number(group.first),
        number(group.last),
        Cell::Text(label),
    ]
}
