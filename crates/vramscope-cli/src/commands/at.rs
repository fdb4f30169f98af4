//! `vramscope at`: the event at a moment, and the memory after it.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::memory::allocator_state::{SegmentKind, segment_kinds};
use vramscope_core::analysis::memory::gap::gap;
use vramscope_core::analysis::report::event_details::event_details;
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_view::display;

use super::peak::{live_table, moment_facts};
use super::stack::stack_table;
use crate::arguments::{Grouping, Inputs, MOMENTS, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Show the event at a moment, and the live, reserved and free memory after it
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{MOMENTS}\n\n{EXAMPLES}"))]
pub(crate) struct Options {
    /// The moment: an event's number, a time, an annotation's name, peak, start, end or oom
    #[arg(value_name = "MOMENT")]
    moment: String,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    grouping: Grouping,
    /// Frames of the event's stack, 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    frames: usize,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope at 12000 snapshot.pickle
  vramscope at oom snapshot.pickle --group-by module
  vramscope at 'train_step[-1]:peak' rank*.pickle --json
  vramscope at 2.5s snapshot.pickle --limit 5";

const SEGMENT_COLUMNS: [Column; 9] = [
    sum("reserved_bytes", "reserved"),
    sum("allocated_bytes", "allocated"),
    sum("pending_bytes", "pending"),
    sum("free_bytes", "free"),
    column("largest_free_bytes", "largest free"),
    sum("rounding_bytes", "rounding"),
    sum("segments", "segments"),
    sum("empty_segments", "empty"),
    column("kind", ""),
];

const AROUND_COLUMNS: [Column; 4] = [
    column("from_moment", "from event"),
    column("to_moment", "to event"),
    column("kind", "kind"),
    column("name", ""),
];

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    source.come_after(&options.inputs, "at", &options.moment)?;
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "at";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| {
            let moment = device.moment(&self.moment)?;
            let mut part = Part::of(&device.subject.name, device.index());
            moment_facts(&mut part, device, moment, ["moment", "time_us"]);
            event_facts(&mut part, device, moment);
            self.event_stack(&mut part, device, moment);
            state(&mut part, device, self.grouping, moment);
            around_table(&mut part, device, moment);
            Ok(part)
        })
    }
}

impl Options {
    fn event_stack(&self, part: &mut Part, device: &Device<'_>, moment: u32) {
        const COLUMNS: [Column; 1] = [column(
            "frame",
            "where the event came from, innermost first",
        )];
        let Some(number) = moment.checked_sub(1) else {
            return;
        };
        let events = &device.subject.snapshot.events;
        let event = (device.history.first_event + number) as usize;
        if let Some(&stack) = events.stack.get(event) {
            stack_table(part, device, COLUMNS, (stack, self.frames));
        }
    }
}

/// Adds the facts about the event that leads to the moment.
fn event_facts(part: &mut Part, device: &Device<'_>, moment: u32) {
    let subject = device.subject;
    let Some(known) = event_details(**device, moment) else {
        return;
    };
    let row = &known.row;
    part.fact_with(
        "event_action",
        "event",
        Cell::Text(row.word.clone()),
        row.meaning(),
    );
    part.fact("event_bytes", "size", Cell::Bytes(row.bytes));
    part.fact(
        "event_address",
        "address",
        Cell::or_none(row.address, Cell::Address),
    );
    let name = Some(row.name.clone()).filter(|name| !name.is_empty());
    part.fact(
        "event_allocation",
        "allocation",
        Cell::or_none(name, Cell::Text),
    );
    part.fact(
        "event_device_free_bytes",
        "free on the GPU",
        Cell::or_none(row.device_free_bytes, Cell::Bytes),
    );
    let stream = subject.streams().label(row.stream);
    part.fact("event_stream", "stream", Cell::Text(stream));
    part.fact("event_call_site", "call site", Cell::Text(known.site));
    let operator = Some(known.operator).filter(|operator| !operator.is_empty());
    part.fact(
        "event_operator",
        "operator",
        Cell::or_none(operator, Cell::Text),
    );
    let live = Cell::BytesChange(row.active_change_bytes);
    part.fact("live_change_bytes", "", live);
    let reserved = Cell::or_none(row.reserved_change_bytes, Cell::BytesChange);
    part.fact("reserved_change_bytes", "", reserved);
}

/// How the moment's event changed a sum, in words; empty if it did not.
fn change(moment: u32, bytes: impl Fn(u32) -> Option<u64>) -> String {
    let before = moment.checked_sub(1).and_then(&bytes);
    match before.zip(bytes(moment)) {
        Some((before, after)) if before != after => {
            format!("{} by this event", display::bytes_change(before, after))
        }
        _ => String::new(),
    }
}

/// Adds the tables of live and reserved memory.
fn state(part: &mut Part, device: &Device<'_>, grouping: Grouping, moment: u32) {
    let history = device.history;
    let state = device.state_at(moment);
    let gap = gap(&state, None);
    let segments = SegmentsKnown::judged_by(**device, &[gap]);
    let are_known = matches!(segments, SegmentsKnown::Real | SegmentsKnown::Doubtful);
    let active = |moment: u32| history.active_bytes.get(moment as usize).copied();
    let reserved = |moment: u32| Some(history.reserved_bytes(moment)).filter(|_| are_known);
    part.fact_with(
        "live_bytes",
        "live",
        Cell::or_none(active(moment), Cell::Bytes),
        change(moment, active),
    );
    part.fact_with(
        "reserved_bytes",
        "reserved",
        Cell::or_none(reserved(moment), Cell::Bytes),
        change(moment, reserved),
    );
    let known = |bytes: u64| Cell::or_none(are_known.then_some(bytes), Cell::Bytes);
    let pending = state.total.pending_bytes;
    let pending = Some(pending).filter(|&bytes| are_known && bytes > 0);
    part.fact_with(
        "pending_bytes",
        "pending",
        Cell::or_none(pending, Cell::Bytes),
        "freed, but other streams may still use it",
    );
    part.fact(
        "free_bytes",
        "free in segments",
        known(state.total.free_bytes),
    );
    part.fact_with(
        "largest_free_bytes",
        "largest free",
        known(gap.largest_free_anywhere_bytes),
        "a larger request needs new memory from the device",
    );
    live_table(part, device, grouping, moment);
    if are_known {
        let rows = segment_kinds(&state);
        let rows = rows.iter().map(|kind| segment_row(kind, device.subject));
        part.table("segments", "Segments", &SEGMENT_COLUMNS, rows.collect());
    }
    if !history.allocations.is_empty() {
        part.notes.extend(segments.remark().map(str::to_owned));
    }
}

fn segment_row(kind: &SegmentKind, subject: &Subject) -> Vec<Cell> {
    let sums = &kind.sums;
    let pool = subject.pools().label(kind.pool.unwrap_or_default());
    let mut words = vec![pool, subject.streams().label(kind.stream)];
    words.extend(kind.size_class.map(|class| class.word().to_owned()));
    words.extend(kind.is_expandable.then(|| "expandable".to_owned()));
    vec![
        Cell::Bytes(sums.reserved_bytes),
        Cell::Bytes(sums.allocated_bytes),
        Cell::Bytes(sums.pending_bytes),
        Cell::Bytes(sums.free_bytes),
        Cell::Bytes(sums.largest_free_bytes),
        Cell::Bytes(sums.rounding_bytes()),
        Cell::Number(sums.segments),
        Cell::Number(sums.empty_segments),
        Cell::Text(words.join(", ")),
    ]
}

fn around_table(part: &mut Part, device: &Device<'_>, moment: u32) {
    let strings = &device.subject.snapshot.strings;
    let rows = device.lanes().around(moment).map(|(kind, range)| {
        vec![
            Cell::Number(range.from.into()),
            Cell::Number(range.to.into()),
            Cell::Text(kind.word().to_owned()),
            Cell::Text(range.name.text(strings).to_owned()),
        ]
    });
    part.table(
        "around",
        "In the middle of",
        &AROUND_COLUMNS,
        rows.collect(),
    );
}
