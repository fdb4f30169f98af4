//! `vramscope stats`: totals over the segments and blocks of the final state.

mod official;

use std::sync::Arc;

use clap::{Args, ValueEnum};
use vramscope_core::analysis::memory::allocator_state::{SizeClass, StateSums};
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::final_state::{
    fill, own_segments, segment_groups, segment_sums,
};
use vramscope_core::analysis::report::summary::host_summary;
use vramscope_core::model::PoolId;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::{Device, Subject};

/// Sum up the segments and blocks of the final state, by pool and stream
///
/// Memory that is free in one pool, stream or size class cannot serve a request to another: each has a row.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Also list every segment, largest first, with a bar that shows which part is in use
    #[arg(long)]
    segments: bool,
    /// Print the text of torch's _memory_viz.py stats, byte for byte
    #[arg(long, value_name = "WHOSE", conflicts_with_all = ["segments", "json", "csv", "bytes", "limit", "device", "memory"])]
    format: Option<Format>,
    #[command(flatten)]
    show: Show,
}

/// The program whose text is imitated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// torch's own, mistakes included
    Torch,
}

const EXAMPLES: &str = "\
Examples:
  vramscope stats snapshot.pickle
  vramscope stats snapshot.pickle --segments --limit 50
  vramscope stats snapshot.pickle --format torch
  vramscope stats rank*.pickle --json | jq '.parts[] | [.file, .reserved_bytes, .free_bytes]'";

/// Length of a segment's bar, in characters.
const BAR_CELLS: u32 = 32;

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    match options.format {
        Some(Format::Torch) => {
            source.must_be_files("--format torch")?;
            official::run(&options.inputs)
        }
        None => ask(source, options, &options.inputs, options.show),
    }
}

impl Question for Options {
    const COMMAND: &'static str = "stats";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        let mut parts: Vec<_> = subject.devices().map(|device| self.part(&device)).collect();
        if parts.is_empty() {
            parts.push(Part {
                file: subject.name.clone(),
                notes: vec!["The file has neither segments nor events.".to_owned()],
                ..Part::default()
            });
        }
        parts.extend(host(subject));
        Ok(parts)
    }
}

impl Options {
    fn part(&self, device: &Device<'_>) -> Part {
        let subject = device.subject;
        let groups = segment_groups(&subject.snapshot, device.index());
        let mut whole = StateSums::default();
        groups.iter().for_each(|group| whole.add(&group.sums));
        let mut part = Part::of(&subject.name, device.index());
        let kind = AllocatorKind::of(&device.subject.snapshot);
        let is_known = device.is_reserved_known();
        facts(&mut part, is_known.then_some(&whole), kind);
        let rows = groups.iter().map(|group| {
            let stream = subject.streams().label(group.stream);
            let mut row = sums_row(&group.sums);
            row.extend([
                class_cell(group.size_class),
                Cell::Text(stream),
                pool_cell(subject, group.pool),
            ]);
            row
        });
        part.table("groups", "", &GROUP_COLUMNS, rows.collect());
        if self.segments {
            self.segments_table(&mut part, device);
        }
        if whole.segments == 0 {
            part.notes
                .push("The file has no segments of this device.".to_owned());
        }
        part
    }

    fn segments_table(&self, part: &mut Part, device: &Device<'_>) {
        let snapshot = &device.subject.snapshot;
        let mut segments: Vec<_> = own_segments(snapshot, device.index()).collect();
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.total_size));
        // The bar is for human readers only.
        let has_bar = !self.show.json && !self.show.csv;
        let rows = segments.into_iter().map(|segment| {
            let sums = segment_sums(snapshot, segment);
            let stream = segment
                .stream
                .and_then(|raw| device.subject.streams().number(raw));
            let mut row = vec![
                Cell::Bytes(sums.reserved_bytes),
                Cell::Bytes(sums.allocated_bytes),
                Cell::Bytes(sums.pending_bytes),
                Cell::Bytes(sums.free_bytes),
                Cell::Bytes(sums.largest_free_bytes),
                Cell::Number(sums.allocated_blocks + sums.pending_blocks + sums.free_blocks),
                Cell::or_none(stream, |number| Cell::Number(number.into())),
                Cell::Address(segment.address),
                class_cell(SizeClass::of_kind(segment.kind)),
                pool_cell(device.subject, segment.pool),
            ];
            if has_bar {
                row.push(Cell::Text(bar(&fill(snapshot, segment, BAR_CELLS))));
            }
            row
        });
        let columns = &SEGMENT_COLUMNS[..SEGMENT_COLUMNS.len() - usize::from(!has_bar)];
        part.table("segment_list", "Segments", columns, rows.collect());
    }
}

const GROUP_COLUMNS: [Column; 11] = [
    sum("reserved_bytes", "reserved"),
    sum("allocated_bytes", "allocated"),
    sum("pending_bytes", "pending free"),
    sum("free_bytes", "free"),
    column("largest_free_bytes", "largest free"),
    sum("rounding_bytes", "rounding"),
    sum("segments", "segments"),
    sum("blocks", "blocks"),
    column("size_class", "requests"),
    column("stream", "stream"),
    column("pool", "pool"),
];

const SEGMENT_COLUMNS: [Column; 11] = [
    sum("bytes", "bytes"),
    sum("allocated_bytes", "allocated"),
    sum("pending_bytes", "pending free"),
    sum("free_bytes", "free"),
    column("largest_free_bytes", "largest free"),
    sum("blocks", "blocks"),
    column("stream", "stream"),
    column("address", "address"),
    column("size_class", "requests"),
    column("pool", "pool"),
    column("use", "in use"),
];

fn sums_row(sums: &StateSums) -> Vec<Cell> {
    vec![
        Cell::Bytes(sums.reserved_bytes),
        Cell::Bytes(sums.allocated_bytes),
        Cell::Bytes(sums.pending_bytes),
        Cell::Bytes(sums.free_bytes),
        Cell::Bytes(sums.largest_free_bytes),
        Cell::Bytes(sums.rounding_bytes()),
        Cell::Number(sums.segments),
        Cell::Number(sums.allocated_blocks + sums.pending_blocks + sums.free_blocks),
    ]
}

/// Adds the sums; `None` if the file has no segments, so that they are unknown.
fn facts(part: &mut Part, sums: Option<&StateSums>, kind: AllocatorKind) {
    let size = |of: fn(&StateSums) -> u64| Cell::or_none(sums.map(of), Cell::Bytes);
    part.fact("reserved_bytes", "reserved", size(|it| it.reserved_bytes));
    part.fact(
        "allocated_bytes",
        "allocated",
        size(|it| it.allocated_bytes),
    );
    part.fact_with(
        "pending_bytes",
        "pending free",
        size(|it| it.pending_bytes),
        "freed by the program, still in use by a stream",
    );
    part.fact("free_bytes", "free", size(|it| it.free_bytes));
    part.fact_with(
        "empty_bytes",
        "empty segments",
        size(|it| it.empty_bytes),
        format!("{} would give these back", kind.release_call()),
    );
    part.fact_with(
        "largest_free_bytes",
        "largest free",
        size(|it| it.largest_free_bytes),
        "in one block",
    );
    part.fact_with(
        "rounding_bytes",
        "rounding",
        size(StateSums::rounding_bytes),
        "what blocks are larger than their requests",
    );
    // As in `torch.cuda.memory_stats()`, for readers who compare the two.
    part.fact("active_bytes", "", size(StateSums::active_bytes));
    part.fact("requested_bytes", "", size(|it| it.requested_bytes));
    let sums = sums.copied().unwrap_or_default();
    part.fact("segments", "segments", Cell::Number(sums.segments));
    let blocks = sums.allocated_blocks + sums.pending_blocks + sums.free_blocks;
    part.fact("blocks", "blocks", Cell::Number(blocks));
}

/// Pinned host memory, if the file has it.
fn host(subject: &Subject) -> Option<Part> {
    let state = host_summary(&subject.snapshot)?.state;
    let mut part = Part {
        file: subject.name.clone(),
        ..Part::default()
    };
    part.fact(
        "host_reserved_bytes",
        "pinned host memory",
        Cell::Bytes(state.reserved_bytes),
    );
    part.fact(
        "host_active_bytes",
        "active of it",
        Cell::Bytes(state.active_bytes),
    );
    part.fact("host_segments", "segments", Cell::Number(state.segments));
    Some(part)
}

fn class_cell(class: Option<SizeClass>) -> Cell {
    Cell::or_none(class, |class| Cell::Text(class.word().to_owned()))
}

fn pool_cell(subject: &Subject, pool: Option<PoolId>) -> Cell {
    Cell::or_none(pool, |pool| Cell::Text(subject.pools().label(pool)))
}

/// Draws one character per share, from `·` for free to `█` for full.
fn bar(shares: &[f64]) -> String {
    let cell = |&share: &f64| match share {
        0.0 => '·',
        ..0.3 => '░',
        ..0.6 => '▒',
        ..0.95 => '▓',
        _ => '█',
    };
    shares.iter().map(cell).collect()
}
