//! `vramscope peak`: the live memory at the highest moment.

use std::collections::HashMap;
use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::groups::grouping::group_totals;
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::units::Count;
use vramscope_view::display;

use crate::arguments::{Grouping, Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, remark, sum};
use crate::subject::{Device, Subject};

/// Show live memory at the peak, by call site
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope peak snapshot.pickle
  vramscope peak snapshot.pickle --group-by module --limit 5
  vramscope peak rank*.pickle --json | jq '.parts[] | [.file, .peak_bytes]'";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "peak";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| Ok(part(device, self.grouping)))
    }
}

fn part(device: &Device<'_>, grouping: Grouping) -> Part {
    let history = device.history;
    let moment = history.peak_moment;
    let active_bytes = history.active_bytes_at(moment);
    let mut part = Part::of(&device.subject.name, device.index());
    let name = if history.has_trace() { "peak" } else { "live" };
    part.fact("peak_bytes", name, Cell::Bytes(active_bytes));
    moment_facts(&mut part, device, moment, ["peak_moment", "peak_time_us"]);
    // If allocations are live but nothing is reserved, segments were not recorded.
    let is_known =
        |bytes: &u64| *bytes > 0 && !SegmentsKnown::are_made_up(&device.subject.snapshot);
    let reserved = Some(history.reserved_bytes(moment)).filter(is_known);
    let remark = match reserved {
        Some(bytes) if bytes < active_bytes => {
            "less than is live: segments are missing in the file"
        }
        _ => "",
    };
    part.fact_with(
        "reserved_bytes",
        "reserved then",
        Cell::or_none(reserved, Cell::Bytes),
        remark,
    );
    live_table(&mut part, device, grouping, moment);
    part
}

/// Adds a moment and its time, under these keys.
pub(super) fn moment_facts(
    part: &mut Part,
    device: &Device<'_>,
    moment: u32,
    [moment_key, time_key]: [&'static str; 2],
) {
    let events = Count(device.history.event_count.into());
    let remark = match device.history.has_trace() {
        true => format!("of {events}"),
        false => "the file has only the state at the dump".to_owned(),
    };
    part.fact_with(
        moment_key,
        "after event",
        Cell::Number(moment.into()),
        remark,
    );
    let time = device.time(moment);
    let since = time.map_or(String::new(), |(_, since)| {
        format!("{} after the first event", display::duration(since))
    });
    let at = Cell::or_none(time, |(at, _)| Cell::TimeUs(at));
    part.fact_with(time_key, "at (UTC)", at, since);
}

/// The operators of a group, as a cell.
pub(super) fn operators(known: &HashMap<u32, String>, group: u32) -> Cell {
    Cell::or_none(known.get(&group).cloned(), Cell::Text)
}

/// Adds the table of live memory at a moment, by group.
pub(super) fn live_table(part: &mut Part, device: &Device<'_>, grouping: Grouping, moment: u32) {
    const COLUMNS: [Column; 6] = [
        sum("bytes", "bytes"),
        sum("share", "share"),
        sum("allocations", "allocations"),
        column("largest_bytes", "largest"),
        remark("operators", "operators"),
        column("group", ""),
    ];
    let groups = device.groups(grouping);
    let live = Selection::LiveAt(moment);
    let totals = group_totals(device.history, &groups, live);
    let known = groups.operators_of(**device, live.allocations(device.history));
    let whole: u64 = totals
        .iter()
        .fold(0, |sum, total| sum.saturating_add(total.bytes));
    let rows = totals.iter().map(|total| {
        vec![
            Cell::Bytes(total.bytes),
            Cell::Share(total.bytes as f64 / whole.max(1) as f64),
            Cell::Number(total.count),
            Cell::Bytes(total.largest_bytes),
            operators(&known, total.group),
            Cell::Text(groups.labels[total.group as usize].clone()),
        ]
    });
    part.table("live", "", &COLUMNS, rows.collect());
}
