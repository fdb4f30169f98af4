//! `vramscope top`: call sites ranked over the whole recording.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use vramscope_core::analysis::groups::group_lives::{GroupLife, GroupLives, LifeUnit, Rank};

use super::peak::operators;
use crate::arguments::{Grouping, Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, remark, sum};
use crate::subject::{Device, Subject};

/// Rank call sites by their own peak, all they allocated, how often, or bytes × lifetime
///
/// `peak` shows what was live at one moment. This command sums up each call site over the whole recording.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Measure to rank by
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    by: By,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope top snapshot.pickle
  vramscope top snapshot.pickle --by count --group-by function     what allocates most often
  vramscope top snapshot.pickle --by lifetime --limit 5            what sits longest on most memory
  vramscope top rank*.pickle --by total --csv > sites.csv";

#[derive(Clone, Copy, Default, ValueEnum)]
enum By {
    /// The most bytes live at once
    #[default]
    Peak,
    /// All bytes it allocated
    Total,
    /// How many allocations it made
    Count,
    /// Each allocation's bytes times how long it lived
    Lifetime,
}

impl From<By> for Rank {
    fn from(by: By) -> Self {
        match by {
            By::Peak => Self::Peak,
            By::Total => Self::Total,
            By::Count => Self::Count,
            By::Lifetime => Self::Lifetime,
        }
    }
}

const COLUMNS: [Column; 11] = [
    column("peak_bytes", "own peak"),
    sum("at_device_peak_bytes", "at peak"),
    sum("end_bytes", "at end"),
    sum("total_bytes", "total"),
    sum("allocations", "count"),
    column("mean_life_us", "lived"),
    column("mean_life_events", "lived (ev)"),
    sum("byte_us", "bytes × life"),
    sum("byte_events", "bytes × life"),
    remark("operators", "operators"),
    column("group", ""),
];

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "top";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| Ok(self.part(device)))
    }
}

impl Options {
    fn part(&self, device: &Device<'_>) -> Part {
        let history = device.history;
        let groups = device.groups(self.grouping);
        let lives = GroupLives::of(history, &groups, self.by.into());
        let active = |moment: u32| {
            let bytes = history.active_bytes.get(moment as usize).copied();
            Cell::or_none(bytes, Cell::Bytes)
        };
        let mut part = Part::of(&device.subject.name, device.index());
        part.fact("peak_bytes", "peak", active(history.peak_moment));
        part.fact("end_bytes", "at the end", active(history.event_count));
        let count = history.allocations.len() as u64;
        part.fact("allocations", "allocations", Cell::Number(count));
        let GroupLives {
            unit,
            groups: ranked,
        } = lives;
        let known = groups.operators_of(**device, device.allocations());
        let row = move |life: &GroupLife| {
            let mut cells = row(life, unit);
            cells.push(operators(&known, life.group));
            cells.push(Cell::Text(groups.labels[life.group as usize].clone()));
            cells
        };
        part.long_table("groups", "", &COLUMNS, (ranked, row));
        if unit == LifeUnit::Events && count > 0 {
            part.notes
                .push("The events have no times: lives are counted in events.".to_owned());
        }
        part
    }
}

/// All cells except those that name the group.
fn row(life: &GroupLife, unit: LifeUnit) -> Vec<Cell> {
    let (lives, products) = match unit {
        LifeUnit::Us => (
            [Cell::SpanUs(life.mean_life()), Cell::None],
            [Cell::ByteUs(life.byte_life), Cell::None],
        ),
        LifeUnit::Events => (
            [Cell::None, Cell::Number(life.mean_life())],
            [Cell::None, Cell::ByteEvents(life.byte_life)],
        ),
    };
    let bytes = [
        life.peak_bytes,
        life.at_peak_bytes,
        life.end_bytes,
        life.total_bytes,
    ];
    let mut row: Vec<Cell> = bytes.map(Cell::Bytes).to_vec();
    row.push(Cell::Number(life.count));
    row.extend(lives.into_iter().chain(products));
    row
}
