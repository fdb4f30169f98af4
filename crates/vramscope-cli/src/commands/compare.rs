//! `vramscope compare`: the segments that only one of two files has.
//!
//! This is what torch's `compare` was meant to do (it fails on every file): two segments are the same if device,
//! address and size agree. For changes by call site there is `diff`.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use clap::Args;
use vramscope_core::analysis::memory::allocator_state::StateSums;
use vramscope_core::analysis::memory::final_state::segment_sums;
use vramscope_core::analysis::report::block_stacks::{Beginning, Level};
use vramscope_core::model::{DeviceIndex, Segment};

use super::flame_graph::{Drawing, Target};
use crate::arguments::Show;
use crate::failure::Failure;
use crate::report::{self, Cell, Column, Part, column, sum};
use crate::subject::Subject;

/// List the segments that only one of two files has
///
/// Both should be of one process, because addresses of different processes are unrelated. `diff` compares any two
/// files, by call site. With -o or --folded, the segments become a flame graph.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The earlier file
    before: PathBuf,
    /// The later file
    after: PathBuf,
    /// Only this device
    #[arg(long, value_name = "N")]
    device: Option<DeviceIndex>,
    #[command(flatten)]
    drawing: Drawing,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope compare before.pickle after.pickle
  vramscope compare before.pickle after.pickle -o compare.svg
  vramscope compare before.pickle after.pickle --json | jq '.parts[0].segments'";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let show = options.show;
    let draws = options.drawing.folded || options.drawing.output.is_some();
    if draws && (show.json || show.csv) {
        return Err(Failure::Usage(
            "--json and --csv print what -o and --folded draw: choose one of them".to_owned(),
        ));
    }
    let inputs = [options.before.clone(), options.after.clone()];
    let target = draws.then(|| Target::open(&options.drawing, &inputs));
    let target = target.transpose()?;
    let before = Subject::load(&options.before, None)?;
    let after = Subject::load(&options.after, None)?;
    let sides = Sides::of(&before, &after, options.device)?;
    if let Some(target) = target {
        return sides.draw(target);
    }
    let parts: Vec<_> = sides
        .devices
        .iter()
        .map(|&device| Part {
            damage: [before.damage(), after.damage()].concat(),
            ..sides.part(device)
        })
        .collect();
    if parts.is_empty() {
        return Err(Failure::Input(format!(
            "neither {} nor {} has segments to compare",
            before.name, after.name
        )));
    }
    report::print("compare", parts, show)
}

/// The identity of a segment: device, address and size.
type Key = (i32, u64, u64);

fn key(segment: &Segment) -> Key {
    (segment.device, segment.address, segment.total_size)
}

struct Sides<'a> {
    before: &'a Subject,
    after: &'a Subject,
    in_before: HashSet<Key>,
    in_after: HashSet<Key>,
    /// The devices that are compared, ascending.
    devices: Vec<DeviceIndex>,
}

impl<'a> Sides<'a> {
    fn of(
        before: &'a Subject,
        after: &'a Subject,
        device: Option<DeviceIndex>,
    ) -> Result<Self, Failure> {
        let keys = |subject: &Subject| subject.snapshot.segments.rows.iter().map(key).collect();
        let both = [before, after].into_iter();
        let segments = both.flat_map(|subject| &subject.snapshot.segments.rows);
        let devices = segments.filter_map(|segment| u32::try_from(segment.device).ok());
        let mut devices: Vec<_> = devices.collect();
        devices.sort_unstable();
        devices.dedup();
        if let Some(device) = device {
            if !devices.contains(&device) {
                return Err(Failure::Input(format!(
                    "there are no segments of device {device} in {} or {}",
                    before.name, after.name
                )));
            }
            devices = vec![device];
        }
        Ok(Self {
            in_before: keys(before),
            in_after: keys(after),
            before,
            after,
            devices,
        })
    }

    /// The segments of one side that the other side lacks.
    fn only(&self, is_before: bool) -> impl Iterator<Item = &'a Segment> {
        let (own, others) = match is_before {
            true => (self.before, &self.in_after),
            false => (self.after, &self.in_before),
        };
        let rows = own.snapshot.segments.rows.iter();
        rows.filter(move |segment| {
            let device = u32::try_from(segment.device);
            device.is_ok_and(|device| self.devices.binary_search(&device).is_ok())
                && !others.contains(&key(segment))
        })
    }

    fn draw(&self, mut target: Target) -> Result<(), Failure> {
        let several = |subject: &Subject| subject.snapshot.devices().len() > 1;
        let beginning = |prefix| Beginning {
            prefix,
            level: Level::Segment,
            names_device: several(self.before) || several(self.after),
        };
        target.add(self.before, self.only(true), beginning("only_before;"))?;
        target.add(self.after, self.only(false), beginning("only_after;"))?;
        target.finish(&format!(
            "Segments only in {} or {}",
            self.before.name, self.after.name
        ))
    }

    fn part(&self, device: DeviceIndex) -> Part {
        let file = format!("{} → {}", self.before.name, self.after.name);
        let mut part = Part::of(&file, device);
        let mut rows = Vec::new();
        let mut sums = BTreeMap::<bool, StateSums>::new();
        for is_before in [true, false] {
            let subject = if is_before { self.before } else { self.after };
            let own = self
                .only(is_before)
                .filter(|segment| u32::try_from(segment.device) == Ok(device));
            for segment in own {
                let own = segment_sums(&subject.snapshot, segment);
                sums.entry(is_before).or_default().add(&own);
                rows.push(row(subject, segment, &own, is_before));
            }
        }
        let side = |is_before| sums.get(&is_before).copied().unwrap_or_default();
        let (before, after) = (side(true), side(false));
        let of_device = |keys: &&Key| u32::try_from(keys.0) == Ok(device);
        let common = self
            .in_before
            .intersection(&self.in_after)
            .filter(of_device);
        let bytes = common
            .clone()
            .fold(0_u64, |sum, key| sum.saturating_add(key.2));
        let count = |segments: u64| match segments {
            1 => "in 1 segment".to_owned(),
            segments => format!("in {segments} segments"),
        };
        let (before_count, after_count) = (count(before.segments), count(after.segments));
        part.fact_with(
            "common_bytes",
            "in both",
            Cell::Bytes(bytes),
            count(common.count() as u64),
        );
        part.fact_with(
            "only_before_bytes",
            "only before",
            Cell::Bytes(before.reserved_bytes),
            before_count,
        );
        part.fact_with(
            "only_after_bytes",
            "only after",
            Cell::Bytes(after.reserved_bytes),
            after_count,
        );
        rows.sort_by_key(|row| match row.first() {
            Some(Cell::Bytes(bytes)) => std::cmp::Reverse(*bytes),
            _ => std::cmp::Reverse(0),
        });
        part.table("segments", "", &COLUMNS, rows);
        if bytes == 0 && before.segments > 0 && after.segments > 0 {
            part.notes.push(
                "No segment is in both: these may be files of two processes. `vramscope diff` compares by call site."
                    .to_owned(),
            );
        }
        part
    }
}

const COLUMNS: [Column; 8] = [
    sum("bytes", "bytes"),
    sum("allocated_bytes", "allocated"),
    sum("pending_bytes", "pending free"),
    sum("free_bytes", "free"),
    sum("blocks", "blocks"),
    column("address", "address"),
    column("pool", "pool"),
    column("side", "only"),
];

fn row(subject: &Subject, segment: &Segment, sums: &StateSums, is_before: bool) -> Vec<Cell> {
    let side = if is_before { "before" } else { "after" };
    vec![
        Cell::Bytes(sums.reserved_bytes),
        Cell::Bytes(sums.allocated_bytes),
        Cell::Bytes(sums.pending_bytes),
        Cell::Bytes(sums.free_bytes),
        Cell::Number(sums.allocated_blocks + sums.pending_blocks + sums.free_blocks),
        Cell::Address(segment.address),
        Cell::or_none(segment.pool, |pool| Cell::Text(subject.pools().label(pool))),
        Cell::Text(side.to_owned()),
    ]
}
