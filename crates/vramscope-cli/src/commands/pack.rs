//! `vramscope pack`: packs buffers with known lifetimes into as little memory as possible.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use vramscope_core::units::Bytes;
use vramscope_plan::packing::csv::{Table, read, write};
use vramscope_plan::packing::{Fault, Packed, Packer, Packing, Problem, lower_bound, verify};
use vramscope_plan::pool_planner;

use crate::arguments::{Show, Size, parse_size, parse_time};
use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::input::{display_name, is_stdin, open_file};
use crate::inputs::report_all;
use crate::output::{csv_error, unwritten};
use crate::report::{self, Cell, Column, Part, column};

/// Pack buffers with known lifetimes into as little memory as possible
///
/// Reads the CSV files of google/minimalloc, and writes offsets as it does: a header `id,lower,upper,size`, with
/// `alignment` if needed. A buffer is live from `lower` to before `upper` (or to `end`); two may share bytes if their
/// lives do not overlap. Looks for lower packings until one is proved to be the lowest, one fits the capacity if given,
/// the time is over, or nothing is left to try: if the search is too large, as with more than 2,048 entangled buffers,
/// only greedy packers are used. If the file already has offsets, they are checked, and the result is never higher.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The buffers; `-` reads standard input
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Stop at a packing that fits into this; exit code 3 if none was found. By default the number in a file name like
    /// minimalloc's (A.1048576.csv)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    capacity: Option<Size>,
    /// Look for the lowest packing even if one already fits the capacity
    #[arg(long)]
    lowest: bool,
    /// How long to look
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "10s")]
    time: Duration,
    /// Write the buffers with their offsets here; `-` is standard output
    #[arg(short, long, value_name = "OUT.csv")]
    output: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope pack buffers.csv
  vramscope pack buffers.csv --capacity 24GiB --time 1min -o packed.csv
  vramscope pack A.1048576.csv --json | jq '.parts[0] | {bound_bytes, height_bytes, is_optimal}'

Exit codes: 0 packed (and it fits), 3 no packing that fits was found, 1 the file cannot be read, 2 wrong usage";

/// Time between checks of the clock.
const SLICE: Duration = Duration::from_millis(10);

/// Runs the command.
///
/// # Errors
/// If the file cannot be read, the result cannot be written, or nothing fits the capacity.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let destination = options.output.as_deref().map(Destination::of);
    destination::check(&destination, std::slice::from_ref(&options.file))?;
    if destination == Some(Destination::Stdout) && (options.show.json || options.show.csv) {
        let text = "the answer goes to standard output, too; name a file to write, or leave out --json and --csv";
        return Err(Failure::Usage(text.to_owned()));
    }
    let name = display_name(&options.file);
    let table = load(&options.file, &name)?;
    let capacity = options.capacity.or_else(|| named_capacity(&options.file));
    let capacity = capacity.map(|size| size.0);
    let problem = Arc::new(table.problem.clone());
    let enough = capacity.filter(|_| !options.lowest);
    let mut packer = match enough {
        Some(capacity) => Packer::within(problem.clone(), capacity),
        None => Packer::new(problem.clone()),
    };
    let theirs = table.packing.clone();
    let theirs = theirs.map(|packing| (packing.height, packer.offer(packing)));
    let (packed, is_exhausted) = pack(&mut packer, enough, options.time);
    let found = PackingResult {
        packed,
        is_exhausted,
        theirs,
    };
    let packed = &found.packed;
    verify(&problem, &packed.packing).map_err(|fault| {
        Failure::Input(format!("{name}: the packing found is invalid: {fault}"))
    })?;
    let part = answer(&name, &table, &found, capacity, options);
    let mut failures = Vec::new();
    if let Some(destination) = &destination {
        let written = destination.write(true, |out| {
            let written = write(out, &table.ids, &problem, Some(&packed.packing));
            written.map_err(|error| unwritten(csv_error(error)))
        });
        failures.extend(written.err());
    }
    if destination != Some(Destination::Stdout) {
        failures.extend(report::print("pack", [part], options.show).err());
    }
    let unfit = capacity.filter(|&capacity| packed.packing.height > capacity);
    failures.extend(
        unfit.map(|capacity| Failure::Broken(format!("{name}: {}", why_not(&found, capacity)))),
    );
    report_all(failures)
}

fn load(path: &Path, name: &str) -> Result<Table, Failure> {
    let input: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(open_file(path)?),
    };
    read(input).map_err(|error| {
        Failure::Input(format!("{name}: {error}")).followed_by([
            "A file of buffers is a CSV with the columns id,lower,upper,size; see `vramscope pack --help`.",
        ])
    })
}

/// The capacity in a file name such as `A.1048576.csv`, as in minimalloc's files. A number in any other name may be a
/// date or a count.
fn named_capacity(path: &Path) -> Option<Size> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".csv")?;
    let (letter, number) = stem.split_once('.')?;
    let is_theirs = letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_uppercase());
    is_theirs.then(|| number.parse().ok().map(Size)).flatten()
}

struct PackingResult {
    packed: Packed,
    /// Whether more time would not help, although a lower packing is neither ruled out nor needed.
    is_exhausted: bool,
    /// The height of the file's own offsets, and whether they are a valid packing.
    theirs: Option<(u64, Result<(), Fault>)>,
}

/// The lowest packing found in the given time, and whether nothing is left to try. Stops early at a packing that fits
/// `enough`.
fn pack(packer: &mut Packer, enough: Option<u64>, time: Duration) -> (Packed, bool) {
    let began = Instant::now();
    loop {
        let slice = Instant::now();
        let is_done = packer.run(&mut || slice.elapsed() >= SLICE);
        // There must be a first packing, however long it takes.
        if let Some(best) = packer.best() {
            let is_enough = enough.is_some_and(|enough| best.packing.height <= enough);
            if is_done || is_enough || began.elapsed() >= time {
                let is_asked = enough.is_none_or(|enough| best.bound <= enough);
                return (best.clone(), is_done && is_asked && !is_enough);
            }
        }
    }
}

fn answer(
    name: &str,
    table: &Table,
    found: &PackingResult,
    capacity: Option<u64>,
    options: &Options,
) -> Part {
    let packed = &found.packed;
    let mut part = Part {
        file: name.to_owned(),
        ..Part::default()
    };
    let (height, bound) = (packed.packing.height, packed.bound);
    part.fact("buffers", "buffers", Cell::Number(table.ids.len() as u64));
    let bound_remark = match bound > lower_bound(&table.problem) {
        true => "no packing can need less, as the search has proved",
        false => "no packing can need less: so much is live at once",
    };
    part.fact_with(
        "bound_bytes",
        "lower bound",
        Cell::Bytes(bound),
        bound_remark,
    );
    let above = Bytes(height - bound);
    let remark = match (packed.is_optimal(), found.is_exhausted) {
        (true, _) => "the lowest there is".to_owned(),
        (false, false) => format!("{above} above the bound; there may be lower ones"),
        (false, true) => format!("{above} above the bound; {ENTANGLED}"),
    };
    part.fact_with("height_bytes", "packed", Cell::Bytes(height), remark);
    part.fact("is_optimal", "", Cell::Flag(packed.is_optimal()));
    part.fact("method", "found by", Cell::Text(packed.method.to_string()));
    if let Some(capacity) = capacity {
        capacity_facts(&mut part, found, capacity, options);
    }
    if let Some(bytes) = pools_bytes(&table.problem, options.time) {
        let remark = "what torch.compile's memory planner would need for the same buffers";
        part.fact_with(
            "pools_bytes",
            "inductor's pools",
            Cell::Bytes(bytes),
            remark,
        );
    }
    if let Some((height, verdict)) = &found.theirs {
        let remark = match verdict {
            Ok(()) => "a packing, too".to_owned(),
            Err(fault) => format!("not a packing: {fault}, counted from 0"),
        };
        let height = Cell::Bytes(*height);
        part.fact_with("file_height_bytes", "in the file", height, remark);
    }
    if table.with_gaps > 0 {
        part.notes.push(format!(
            "{} buffers have gaps, which are not made use of: they are taken as live throughout, so the bound is one \
             for packings without gaps only.",
            table.with_gaps
        ));
    }
    if options.show.json || options.show.csv {
        offsets_table(&mut part, table, &packed.packing);
    }
    part
}

fn capacity_facts(part: &mut Part, found: &PackingResult, capacity: u64, options: &Options) {
    let height = found.packed.packing.height;
    let fits = match height <= capacity {
        true => "it fits".to_owned(),
        false => why_not(found, capacity),
    };
    let source = match options.capacity {
        Some(_) => "",
        None => " (from the file's name)",
    };
    part.fact_with(
        "capacity_bytes",
        "capacity",
        Cell::Bytes(capacity),
        fits + source,
    );
    part.fact("fits", "", Cell::Flag(height <= capacity));
}

/// Bytes that inductor's planner would need, if it finishes in time.
fn pools_bytes(problem: &Problem, time: Duration) -> Option<u64> {
    let is_small = problem.size.len() <= pool_planner::MOST_BUFFERS;
    let mut planner = is_small.then(|| pool_planner::Planner::of_problem(problem))?;
    let began = Instant::now();
    let is_done = planner.run(&mut || began.elapsed() >= time);
    is_done.then(|| planner.finish().total_bytes())
}

/// Why more time would not help.
const ENTANGLED: &str =
    "the search for anything lower is too large, as with more than 2,048 entangled buffers";

fn why_not(found: &PackingResult, capacity: u64) -> String {
    let packed = &found.packed;
    let missing = Bytes(packed.packing.height - capacity);
    if packed.bound > capacity {
        let (capacity, bound) = (Bytes(capacity), Bytes(packed.bound));
        return format!("nothing can fit {capacity}: at least {bound} are needed");
    }
    let hope = match found.is_exhausted {
        true => ENTANGLED,
        false => "a longer --time may find one that fits",
    };
    format!("the lowest packing found is {missing} too high; {hope}")
}

fn offsets_table(part: &mut Part, table: &Table, packing: &Packing) {
    const COLUMNS: [Column; 6] = [
        column("id", "id"),
        column("lower", "lower"),
        column("upper", "upper"),
        column("size", "size"),
        column("alignment", "alignment"),
        column("offset", "offset"),
    ];
    let problem = &table.problem;
    let rows = table.ids.iter().enumerate().map(|(i, id)| {
        vec![
            Cell::Text(id.clone()),
            Cell::Number(problem.lower[i]),
            Cell::Number(problem.upper[i]),
            Cell::Bytes(problem.size[i]),
            Cell::Number(problem.alignment_of(i)),
            Cell::Bytes(packing.offset[i]),
        ]
    });
    part.table("offsets", "", &COLUMNS, rows.collect());
}
