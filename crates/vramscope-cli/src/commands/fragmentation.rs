//! `vramscope fragmentation`: free memory in pieces between blocks in use.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::memory::allocator_state::AllocatorState;
use vramscope_core::analysis::memory::gap::Arena;
use vramscope_core::analysis::report::fragmentation::{
    FragmentationAt, FreeSums, over_time, pinned, places,
};
use vramscope_core::analysis::report::overview::{SegmentsKnown, reserved_peak};

use super::peak::moment_facts;
use crate::arguments::{Grouping, Inputs, Show};
use crate::failure::Failure;
use crate::hints::hints;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Show how much free memory is fragmented: where, over time, and what pins it
///
/// Free memory is of two kinds. Completely free segments, and completely free pages of expandable segments, are
/// returnable: they can be released to CUDA and used for anything (in private pools only after their graph or MemPool
/// is destroyed). The rest is stuck between memory in use, and serves only requests that fit into a piece.
///
///   stuck      free - returnable, also as a share of what is reserved
///   scattered  1 - largest free piece / free: 0 % for one piece, nearly 100 % for dust
///   pinned     segments at least half free that what is left in them keeps from going back
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// The moment: an event, a time, an annotation, peak, end, ...; by default when most was reserved
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Rows over time: divide the recording into this many parts, each shown at its moment with the most stuck bytes
    #[arg(long, value_name = "N", default_value_t = 12)]
    rows: u32,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope fragmentation snapshot.pickle
  vramscope fragmentation snapshot.pickle --at oom --group-by function
  vramscope fragmentation snapshot.pickle --rows 1000 --json | jq '.parts[].over_time'";

const MOST_ROWS: u32 = 1_000_000;

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "fragmentation";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| self.about(device))
    }
}

impl Options {
    fn about(&self, device: &Device<'_>) -> Result<Part, Failure> {
        let mut part = Part::of(&device.subject.name, device.index());
        let known = SegmentsKnown::of(**device);
        part.notes.extend(known.remark().map(str::to_owned));
        if matches!(known, SegmentsKnown::MadeUp | SegmentsKnown::None) {
            let advice = hints(**device).segments;
            part.notes.push(advice.to_owned());
            return Ok(part);
        }
        let moment = match &self.at {
            Some(text) => device.moment(text)?,
            None => reserved_peak(device.history),
        };
        let state = device.state_at(moment);
        let (total, _) = places(&state);
        at_moment(&mut part, device, &state, total);
        let rows = self.over_time(device);
        worst(&mut part, device, &rows);
        places_table(&mut part, device, &state);
        self.pinned_tables(&mut part, device, &state);
        over_time_table(&mut part, device, &rows);
        Ok(part)
    }

    fn over_time(&self, device: &Device<'_>) -> Vec<FragmentationAt> {
        if self.rows == 0 {
            return Vec::new();
        }
        let segments = device.segments();
        over_time(
            device.history,
            device.block_sizes(),
            segments,
            self.rows.min(MOST_ROWS),
        )
    }

    /// Adds the allocations that pin mostly free segments, and these segments.
    fn pinned_tables(&self, part: &mut Part, device: &Device<'_>, state: &AllocatorState) {
        const GROUPS: [Column; 6] = [
            column("stuck_bytes", "stuck"),
            column("alone_bytes", "by it alone"),
            column("segments", "segments"),
            sum("held_bytes", "held"),
            sum("allocations", "allocations"),
            column("group", ""),
        ];
        const SEGMENTS: [Column; 7] = [
            sum("stuck_bytes", "stuck"),
            sum("in_use_bytes", "in use"),
            sum("bytes", "of"),
            sum("allocations", "allocations"),
            column("address", "segment"),
            column("place", "pool, stream"),
            column("largest", "largest allocation in it"),
        ];
        let groups = device.groups(self.grouping);
        let (segments, pinning) = pinned(state, &groups, true);
        let rows = pinning.iter().map(|row| {
            vec![
                Cell::Bytes(row.stuck_bytes),
                Cell::Bytes(row.alone_bytes),
                Cell::Number(row.segments),
                Cell::Bytes(row.held_bytes),
                Cell::Number(row.allocations),
                Cell::Text(groups.labels[row.group as usize].clone()),
            ]
        });
        let title = "Who pins segments that are mostly free";
        part.table("pinned_by", title, &GROUPS, rows.collect());
        let rows = segments.iter().map(|row| {
            let segment = &state.segments[row.segment];
            let arena = state.groups.get(segment.group as usize).map(Arena::of);
            let place = |arena| device.subject.sized_place_label(arena, segment.size_class);
            vec![
                Cell::Bytes(row.free.stuck_bytes()),
                Cell::Bytes(segment.sums.active_bytes()),
                Cell::Bytes(segment.bytes),
                Cell::Number(row.allocations),
                Cell::Address(segment.address),
                Cell::or_none(arena.map(place), Cell::Text),
                Cell::Text(groups.label(row.largest).to_owned()),
            ]
        });
        part.table("pinned", "Pinned segments", &SEGMENTS, rows.collect());
    }
}

fn time(device: &Device<'_>, moment: u32) -> Cell {
    Cell::or_none(device.time(moment), |(at, _)| Cell::TimeUs(at))
}

fn at_moment(part: &mut Part, device: &Device<'_>, state: &AllocatorState, total: FreeSums) {
    let moment = state.moment;
    moment_facts(part, device, moment, ["moment", "time_us"]);
    part.fact(
        "reserved_bytes",
        "reserved",
        Cell::Bytes(total.reserved_bytes),
    );
    let in_use = Cell::Bytes(state.total.active_bytes());
    part.fact("in_use_bytes", "in use", in_use);
    let rounding = Cell::Bytes(state.total.rounding_bytes());
    part.fact_with(
        "rounding_bytes",
        "rounding",
        rounding,
        "part of what is in use",
    );
    part.fact_with(
        "free_bytes",
        "free",
        Cell::Bytes(total.free_bytes),
        format!("in {} pieces", total.pieces),
    );
    let returnable = Cell::Bytes(total.returnable_bytes);
    let remark = format!(
        "wholly free segments and pages: {} gives them back",
        state.kind.release_call()
    );
    part.fact_with("returnable_bytes", "returnable", returnable, remark);
    let stuck = Cell::Bytes(total.stuck_bytes());
    part.fact_with(
        "stuck_bytes",
        "stuck",
        stuck,
        "in pieces between memory in use",
    );
    let share = Cell::Share(total.stuck_share());
    part.fact_with("stuck_share", "stuck share", share, "of what is reserved");
    let largest = Cell::Bytes(total.largest_free_bytes);
    part.fact("largest_free_bytes", "largest piece", largest);
    let scattered = Cell::Share(total.scattered_share());
    part.fact_with(
        "scattered_share",
        "scattered",
        scattered,
        "1 - largest piece / free",
    );
}

/// Adds the moment of the whole recording with the most stuck bytes.
fn worst(part: &mut Part, device: &Device<'_>, rows: &[FragmentationAt]) {
    let most = rows.iter().map(|at| at.free.stuck_bytes()).max();
    let Some(at) = rows.iter().find(|at| Some(at.free.stuck_bytes()) == most) else {
        return;
    };
    let moment = Cell::Number(at.moment.into());
    part.fact("worst_moment", "most stuck after event", moment);
    part.fact("worst_time_us", "at (UTC)", time(device, at.moment));
    let stuck = Cell::Bytes(at.free.stuck_bytes());
    part.fact("worst_stuck_bytes", "stuck then", stuck);
    let share = Cell::Share(at.free.stuck_share());
    part.fact_with(
        "worst_stuck_share",
        "stuck share",
        share,
        "of what was reserved then",
    );
}

/// Adds reserved memory by pool, stream and served sizes.
fn places_table(part: &mut Part, device: &Device<'_>, state: &AllocatorState) {
    const COLUMNS: [Column; 10] = [
        sum("stuck_bytes", "stuck"),
        sum("returnable_bytes", "returnable"),
        column("largest_free_bytes", "largest piece"),
        column("scattered_share", "scattered"),
        sum("pieces", "pieces"),
        sum("rounding_bytes", "rounding"),
        sum("in_use_bytes", "in use"),
        sum("reserved_bytes", "reserved"),
        sum("segments", "segments"),
        column("place", "pool, stream, requests"),
    ];
    let (_, places) = places(state);
    let rows = places.iter().map(|place| {
        let free = &place.free;
        let label = device.subject.sized_place_label(place.arena, place.class);
        vec![
            Cell::Bytes(free.stuck_bytes()),
            Cell::Bytes(free.returnable_bytes),
            Cell::Bytes(free.largest_free_bytes),
            Cell::Share(free.scattered_share()),
            Cell::Number(free.pieces),
            Cell::Bytes(place.sums.rounding_bytes()),
            Cell::Bytes(place.sums.active_bytes()),
            Cell::Bytes(free.reserved_bytes),
            Cell::Number(place.sums.segments),
            Cell::Text(label),
        ]
    });
    part.table("places", "", &COLUMNS, rows.collect());
}

fn over_time_table(part: &mut Part, device: &Device<'_>, rows: &[FragmentationAt]) {
    const COLUMNS: [Column; 7] = [
        column("moment", "event"),
        column("time_us", "at (UTC)"),
        column("reserved_bytes", "reserved"),
        column("free_bytes", "free"),
        column("stuck_bytes", "stuck"),
        column("stuck_share", "of reserved"),
        column("largest_free_bytes", "largest piece"),
    ];
    if !device.history.has_trace() {
        return;
    }
    let rows = rows.iter().map(|at| {
        vec![
            Cell::Number(at.moment.into()),
            time(device, at.moment),
            Cell::Bytes(at.free.reserved_bytes),
            Cell::Bytes(at.free.free_bytes),
            Cell::Bytes(at.free.stuck_bytes()),
            Cell::Share(at.free.stuck_share()),
            Cell::Bytes(at.free.largest_free_bytes),
        ]
    });
    let title = "Over time: the moment with the most stuck bytes of each stretch";
    part.table("over_time", title, &COLUMNS, rows.collect());
}
