//! `vramscope annotations`: how annotated ranges and steps change live memory.

use std::collections::HashMap;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use vramscope_core::analysis::groups::group_changes::group_changes;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::search::filter::{Matcher, Pattern};
use vramscope_core::analysis::time::annotation_totals::{RangeUse, name_uses, range_uses};
use vramscope_core::analysis::time::lanes::{Lane, LaneKind, StepsBy, WARM_UP};

use super::range;
use crate::arguments::{Grouping, Inputs, Show, grouped};
use crate::failure::Failure;
use crate::hints::hints;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column};
use crate::subject::{Device, Subject};

/// Show how annotated ranges and training steps change memory
///
/// For each name: the highest live memory in any range of that name, and how much its ranges allocated, freed and left
/// behind (net). Ranges are nested, so names do not add up. Where no annotation names the forward pass, the backward
/// pass or the optimizer, they are inferred from stacks. If the program names its training steps, or stacks show where
/// they end, a second table has a row per step; growth is live memory at its end minus that at the end of the previous
/// step.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Only ranges whose name contains this; * stands for anything
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,
    /// A row per range, in order of time, instead of one per name
    #[arg(long)]
    each: bool,
    /// Only ranges of this kind; by default all but torch's own
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// Also list what was allocated and freed in these ranges, by group
    #[arg(long, value_name = "WHAT", value_parser = grouped())]
    group_by: Option<Property>,
    /// Frames per group: 1 = the place, 2 = the place and its caller, ...
    #[arg(long, value_name = "N", default_value_t = 1, requires = "group_by", value_parser = clap::value_parser!(u8).range(1..))]
    depth: u8,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope annotations snapshot.pickle
  vramscope annotations snapshot.pickle --name 'forward*' --each --limit 0
  vramscope annotations snapshot.pickle --name 'forward*' --group-by function
  vramscope annotations snapshot.pickle --json | jq '.parts[].steps[] | [.number, .peak_bytes]'";

/// [`LaneKind`] as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Kind {
    /// record_function, profiler and optimizer steps
    Annotation,
    /// Ranges that torch itself annotates: compiled regions, collectives, ...
    Internal,
    /// The text set by torch.cuda.memory._set_memory_metadata
    UserMetadata,
    /// Regions of torch.compile
    CompileContext,
    /// Forward, backward and optimizer, inferred from stacks where they are not annotated
    Inferred,
}

impl Kind {
    fn of(kind: LaneKind) -> Self {
        match kind {
            LaneKind::Annotations => Self::Annotation,
            LaneKind::Internal => Self::Internal,
            LaneKind::UserMetadata => Self::UserMetadata,
            LaneKind::CompileContext => Self::CompileContext,
            LaneKind::Inferred => Self::Inferred,
        }
    }
}

fn word(kind: LaneKind) -> Cell {
    Cell::Text(kind.word().to_owned())
}

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "annotations";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| Ok(self.about(device)))
    }
}

impl Options {
    fn about(&self, device: &Device<'_>) -> Part {
        let mut part = Part::of(&device.subject.name, device.index());
        let ranges = self.ranges(device);
        part.fact("ranges", "ranges", Cell::Number(ranges.len() as u64));
        steps_facts(&mut part, device);
        // The table of groups comes first, since CSV prints only the first table.
        if let Some(group_by) = self.group_by {
            let depth = self.depth;
            groups_table(&mut part, device, Grouping { group_by, depth }, &ranges);
        }
        if self.each {
            ranges_table(&mut part, device, &ranges);
        } else {
            names_table(&mut part, device, &ranges);
        }
        steps_table(&mut part, device);
        self.notes(&mut part, device, ranges.len());
        part
    }

    fn ranges(&self, device: &Device<'_>) -> Vec<RangeUse> {
        let strings = &device.subject.snapshot.strings;
        let pattern = self.name.as_ref().map(|text| Pattern {
            text: text.clone(),
            is_literal: false,
            is_whole: false,
        });
        let mut matcher = pattern.as_ref().map(Matcher::new);
        let mut known = HashMap::new();
        range_uses(
            device.history,
            device.lanes(),
            device.sums(),
            |kind, range| {
                let is_kind = match self.kind {
                    Some(wanted) => wanted == Kind::of(kind),
                    None => kind != LaneKind::Internal,
                };
                // There are few names but many ranges.
                is_kind
                    && matcher.as_mut().is_none_or(|matcher| {
                        let matches = || matcher.matches(range.name.text(strings));
                        *known.entry(range.name).or_insert_with(matches)
                    })
            },
        )
    }

    /// Notes on ranges that are left out, and on how to record missing ones.
    fn notes(&self, part: &mut Part, device: &Device<'_>, shown: usize) {
        let lanes = device.lanes();
        let is_recorded = |lane: &&Lane| lane.kind != LaneKind::Inferred;
        let recorded = lanes.lanes.iter().filter(is_recorded);
        let recorded: usize = recorded.map(|lane| lane.len()).sum();
        let mut note = |text: String| part.notes.push(text);
        if recorded == 0 {
            note(hints(**device).annotations.to_owned());
        }
        if recorded > 0 && shown == 0 {
            note(format!(
                "None of the {recorded} ranges of this device is of the kind and name asked for."
            ));
        }
        let internal = lanes
            .of_kind(LaneKind::Internal)
            .map(|lane| lane.len())
            .sum::<usize>();
        if internal > 0 && self.kind.is_none() {
            note(format!(
                "Ranges that torch annotates for itself are left out (--kind internal shows them): {internal}."
            ));
        }
        if lanes.outside > 0 {
            note(format!(
                "Ranges that lie wholly before or after the recorded events: {}.",
                lanes.outside
            ));
        }
        if lanes.unplaced > 0 {
            note(format!(
                "Ranges that cannot be placed, as times are missing or go back: {}.",
                lanes.unplaced
            ));
        }
        if recorded > 0 && device.steps().is_none() {
            note(
                "No range is named like a training step (step, iteration, batch, epoch, or an optimizer's step), and stacks show none."
                    .to_owned(),
            );
        }
    }
}

fn names_table(part: &mut Part, device: &Device<'_>, ranges: &[RangeUse]) {
    const COLUMNS: [Column; 12] = [
        column("ranges", "ranges"),
        column("peak_bytes", "highest peak"),
        column("peak_moment", "at event"),
        column("rise_bytes", "highest rise"),
        column("mean_allocated_bytes", "allocated each"),
        column("allocated_bytes", "allocated"),
        column("freed_bytes", "freed"),
        column("net_bytes", "net"),
        column("allocations", "allocations"),
        column("mean_duration_us", "time each"),
        column("kind", "kind"),
        column("name", "name"),
    ];
    let strings = &device.subject.snapshot.strings;
    let names = name_uses(ranges);
    let rows = names.iter().map(|name| {
        vec![
            Cell::Number(name.ranges),
            Cell::Bytes(name.peak_bytes),
            Cell::Number(name.peak_moment.into()),
            Cell::Bytes(name.rise_bytes),
            Cell::Bytes(name.mean_allocated_bytes()),
            Cell::Bytes(name.allocated_bytes),
            Cell::Bytes(name.freed_bytes),
            Cell::BytesChange(name.net_bytes()),
            Cell::Number(name.allocations),
            Cell::or_none(name.mean_duration_us(), Cell::SpanUs),
            word(name.kind),
            Cell::Text(name.name.text(strings).to_owned()),
        ]
    });
    part.table("names", "", &COLUMNS, rows.collect());
}

fn ranges_table(part: &mut Part, device: &Device<'_>, ranges: &[RangeUse]) {
    const COLUMNS: [Column; 13] = [
        column("from_moment", "from"),
        column("to_moment", "to event"),
        column("peak_bytes", "peak"),
        column("rise_bytes", "rise"),
        column("allocated_bytes", "allocated"),
        column("freed_bytes", "freed"),
        column("net_bytes", "net"),
        column("allocations", "allocations"),
        column("duration_us", "time"),
        column("is_whole", "whole"),
        column("kind", "kind"),
        column("thread", "thread"),
        column("name", "name"),
    ];
    let strings = &device.subject.snapshot.strings;
    let thread = |one: &RangeUse| {
        let name = &device.lanes().lanes.get(one.lane)?.name;
        (!name.is_empty()).then(|| name.clone())
    };
    let rows = ranges.iter().map(|one| {
        let (range, totals) = (&one.range, &one.totals);
        vec![
            Cell::Number(range.from.into()),
            Cell::Number(range.to.into()),
            Cell::Bytes(totals.peak_bytes),
            Cell::Bytes(totals.rise_bytes()),
            Cell::Bytes(totals.allocated_bytes),
            Cell::Bytes(totals.freed_bytes),
            Cell::BytesChange(totals.net_bytes()),
            Cell::Number(totals.allocations.into()),
            Cell::or_none(one.duration_us(), Cell::SpanUs),
            Cell::Flag(!range.is_open_start && !range.is_open_end),
            word(one.kind),
            Cell::or_none(thread(one), Cell::Text),
            Cell::Text(range.name.text(strings).to_owned()),
        ]
    });
    // Only captures have threads.
    let has_threads = ranges.iter().any(|one| thread(one).is_some());
    let columns = COLUMNS.map(|column| Column {
        is_detail: column.is_detail || (column.key == "thread" && !has_threads),
        ..column
    });
    part.table("each", "", &columns, rows.collect());
}

/// Adds the table of memory allocated and freed in any of the ranges, by group.
fn groups_table(part: &mut Part, device: &Device<'_>, grouping: Grouping, ranges: &[RangeUse]) {
    let groups = device.groups(grouping);
    let ranges: Vec<_> = ranges.iter().map(|one| one.range.moments()).collect();
    let changes = group_changes(device.history, &groups, &ranges);
    range::groups_table(part, "In these ranges", &groups, &changes);
}

fn steps_facts(part: &mut Part, device: &Device<'_>) {
    let Some(steps) = device.steps() else {
        return;
    };
    let by = match steps.by {
        StepsBy::Profiler => "the profiler's steps",
        StepsBy::Numbered | StepsBy::NumberedMetadata => "by their numbers",
        StepsBy::Repeated => "by their name",
        StepsBy::Optimizer => "each ends with an optimizer step",
        StepsBy::InferredOptimizer | StepsBy::InferredBackward => {
            "inferred from stacks: each ends with one"
        }
        StepsBy::InferredRepetition => "inferred from stacks: each begins with the same code",
        StepsBy::InferredForward => "inferred from stacks: each begins with a",
    };
    let count = Cell::Number(steps.steps.len() as u64);
    part.fact_with(
        "steps_count",
        "steps",
        count,
        format!("{}: {by}", steps.pattern),
    );
    let growth = device.growth();
    part.fact_with(
        "growth_per_step_bytes",
        "growth per step",
        Cell::or_none(growth, |growth| Cell::BytesChange(growth.per_step_bytes)),
        format!("median over all pairs of steps, without the first {WARM_UP}"),
    );
}

fn steps_table(part: &mut Part, device: &Device<'_>) {
    const COLUMNS: [Column; 9] = [
        column("number", "step"),
        column("peak_bytes", "peak"),
        column("peak_moment", "at event"),
        column("allocated_bytes", "allocated"),
        column("freed_bytes", "freed"),
        column("after_bytes", "live at its end"),
        column("growth_bytes", "growth"),
        column("duration_us", "time"),
        column("is_whole", "whole"),
    ];
    let Some(steps) = device.steps() else {
        return;
    };
    let rows = steps.steps.iter().enumerate().map(|(row, step)| {
        let totals = &step.totals;
        let times = step.start_us.zip(step.end_us);
        let span = times.map(|(start, end)| end.saturating_sub(start).max(0) as u64);
        vec![
            Cell::Number(step.number),
            Cell::Bytes(totals.peak_bytes),
            Cell::Number(totals.peak_moment.into()),
            Cell::Bytes(totals.allocated_bytes),
            Cell::Bytes(totals.freed_bytes),
            Cell::Bytes(totals.after_bytes),
            Cell::or_none(steps.growth_of(row), Cell::BytesChange),
            Cell::or_none(span, Cell::SpanUs),
            Cell::Flag(step.is_whole),
        ]
    });
    part.table("steps", "Steps", &COLUMNS, rows.collect());
}
