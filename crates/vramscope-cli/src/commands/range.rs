//! `vramscope range`: memory allocated, freed and retained between two moments.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::groups::group_changes::{GroupChange, GroupChanges, group_changes};
use vramscope_core::analysis::groups::grouping::GroupColumn;
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::units::Count;
use vramscope_view::display;

use crate::arguments::{Grouping, Inputs, MOMENTS, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Show what was allocated, freed and retained between two moments, by call site
///
/// Retained memory was allocated in between and is still live at the second moment. Live memory before, plus allocated,
/// minus freed, is live memory after.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{MOMENTS}\n\n{EXAMPLES}"))]
pub(crate) struct Options {
    /// The range: A..B, an annotation's name, or all
    #[arg(value_name = "A..B")]
    range: String,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope range 1000..peak snapshot.pickle
  vramscope range 'train_step[3]' snapshot.pickle --group-by function
  vramscope range 2s..2.5s snapshot.pickle --json";

const COLUMNS: [Column; 6] = [
    sum("retained_bytes", "retained"),
    sum("allocated_bytes", "allocated"),
    sum("freed_bytes", "freed"),
    sum("net_bytes", "net"),
    sum("allocations", "allocations"),
    column("group", ""),
];

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    source.come_after(&options.inputs, "range", &options.range)?;
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "range";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.part(device))
    }
}

impl Options {
    fn part(&self, device: &Device<'_>) -> Result<Part, Failure> {
        let range = device.range(&self.range)?;
        let totals = device.sums().totals(device.history, range);
        let groups = device.groups(self.grouping);
        let changes = group_changes(device.history, &groups, &[range]);
        let all = changes.total;
        let mut part = Part::of(&device.subject.name, device.index());
        range_facts(&mut part, device, range);
        part.fact(
            "before_bytes",
            "live before",
            Cell::Bytes(totals.before_bytes),
        );
        let count = |count: u64| counted(count, "allocation");
        for (keys, label, amount) in [
            (["allocated_bytes", "allocated"], "allocated", all.allocated),
            (["freed_bytes", "freed"], "freed", all.freed),
            (["retained_bytes", "retained"], "retained", all.retained),
        ] {
            let bytes = Cell::Bytes(amount.bytes);
            part.fact_with(keys[0], label, bytes, count(amount.count));
            part.fact(keys[1], "", Cell::Number(amount.count));
        }
        part.fact_with(
            "after_bytes",
            "live after",
            Cell::Bytes(totals.after_bytes),
            display::bytes_change(totals.before_bytes, totals.after_bytes),
        );
        part.fact_with(
            "peak_bytes",
            "peak in between",
            Cell::Bytes(totals.peak_bytes),
            format!("after event {}", Count(totals.peak_moment.into())),
        );
        let peak_moment = Cell::Number(totals.peak_moment.into());
        part.fact("peak_moment", "", peak_moment);
        groups_table(&mut part, "", &groups, &changes);
        if changes.groups.is_empty() {
            part.notes
                .push("Nothing was allocated or freed in between.".to_owned());
        }
        Ok(part)
    }
}

/// Adds the ends of the range.
pub(super) fn range_facts(part: &mut Part, device: &Device<'_>, (from, to): (u32, u32)) {
    // Event n leads to moment n, so the range begins after this event.
    part.fact("from_moment", "from event", Cell::Number(from.into()));
    let events = device.history.event_count;
    part.fact_with(
        "to_moment",
        "to event",
        Cell::Number(to.into()),
        format!("of {}", Count(events.into())),
    );
    let span = device.time(from).zip(device.time(to));
    let span = span.map(|((from, _), (to, _))| to.saturating_sub(from).max(0).cast_unsigned());
    part.fact("span_us", "lasting", Cell::or_none(span, Cell::SpanUs));
}

/// Adds the change of each group over the range.
pub(super) fn groups_table(
    part: &mut Part,
    title: &'static str,
    groups: &GroupColumn,
    changes: &GroupChanges,
) {
    let rows = changes.groups.iter().map(|change| {
        let label = groups.labels[change.group as usize].clone();
        row(change, label)
    });
    part.table("groups", title, &COLUMNS, rows.collect());
}

fn row(change: &GroupChange, label: String) -> Vec<Cell> {
    vec![
        Cell::Bytes(change.retained.bytes),
        Cell::Bytes(change.allocated.bytes),
        Cell::Bytes(change.freed.bytes),
        Cell::BytesChange(change.net_bytes()),
        Cell::Number(change.allocated.count),
        Cell::Text(label),
    ]
}
