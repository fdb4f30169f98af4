//! `vramscope pack`: buffers with lifetimes into as little memory as can be.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use vramscope_core::analysis::packing::csv::{Table, read, write};
use vramscope_core::analysis::packing::{Packed, Packer, Packing, Problem, lower_bound, verify};
use vramscope_core::analysis::pools;
use vramscope_core::units::Bytes;

use crate::arguments::{Show, Size, parse_size, parse_time};
use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::input::{display_name, is_stdin, open_file};
use crate::report::{self, Cell, Column, Part, column};

/// Pack buffers with known lifetimes into as little memory as can be
///
/// Reads the CSV files of google/minimalloc, and writes offsets as it does: a header `id,lower,upper,size`, with
/// `alignment` if there is any. A buffer is live from `lower` to before `upper` (or to `end`); two may share bytes
/// if their lives do not overlap. Looks for lower packings until one is proved to be the lowest, until it fits the
/// capacity if there is one, or until the time is over. If the file has offsets already, they are checked and compared.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The buffers; `-` reads standard input
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Stop at a packing that fits into this; exit code 3 if none was found. For a file named as minimalloc's
    /// (A.1048576.csv), the number in its name
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    capacity: Option<Size>,
    /// Look for the lowest packing, although one fits the capacity already
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

/// How often somebody looks at the clock.
const SLICE: Duration = Duration::from_millis(10);

/// Runs the command.
///
/// # Errors
/// When the file cannot be read, the result cannot be written, or nothing fits the capacity.
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
    let packed = pack(&problem, capacity.filter(|_| !options.lowest), options.time);
    verify(&problem, &packed.packing).map_err(|fault| {
        Failure::Input(format!(
            "{name}: the packing that was found is none: {fault}"
        ))
    })?;
    let part = answer(&name, &table, &packed, capacity, options);
    if let Some(destination) = &destination {
        destination.write(true, |out| {
            let written = write(out, &table.ids, &problem, Some(&packed.packing));
            written.map_err(Failure::io(format!("cannot write {}", destination.name())))
        })?;
    }
    if destination != Some(Destination::Stdout) {
        report::print("pack", &[part], options.show)?;
    }
    match capacity {
        Some(capacity) if packed.packing.height > capacity => Err(Failure::Broken(format!(
            "{name}: {}",
            why_not(&packed, capacity)
        ))),
        _ => Ok(()),
    }
}

fn load(path: &Path, name: &str) -> Result<Table, Failure> {
    let input: Box<dyn Read> = match is_stdin(path) {
        true => Box::new(io::stdin().lock()),
        false => Box::new(open_file(path)?),
    };
    read(input).map_err(|error| {
        Failure::Input(format!(
            "{name}: {error}\n  A file of buffers is a CSV with the columns id,lower,upper,size; \
             `vramscope pack --help` tells more."
        ))
    })
}

/// The number in `A.1048576.csv`, as minimalloc names its files: any other may be a date or a count.
fn named_capacity(path: &Path) -> Option<Size> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".csv")?;
    let (letter, number) = stem.split_once('.')?;
    let is_theirs = letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_uppercase());
    is_theirs.then(|| number.parse().ok().map(Size)).flatten()
}

/// The lowest packing that is found in time; any that fits `enough` will do.
fn pack(problem: &Arc<Problem>, enough: Option<u64>, time: Duration) -> Packed {
    let mut packer = match enough {
        Some(capacity) => Packer::within(problem.clone(), capacity),
        None => Packer::new(problem.clone()),
    };
    let began = Instant::now();
    loop {
        let slice = Instant::now();
        let is_done = packer.run(&mut || slice.elapsed() >= SLICE);
        // The first packing is waited for, however long it takes.
        if let Some(best) = packer.best() {
            let is_enough = enough.is_some_and(|enough| best.packing.height <= enough);
            if is_done || is_enough || began.elapsed() >= time {
                return best.clone();
            }
        }
    }
}

fn answer(
    name: &str,
    table: &Table,
    packed: &Packed,
    capacity: Option<u64>,
    options: &Options,
) -> Part {
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
    let remark = match packed.is_optimal() {
        true => "the lowest there is".to_owned(),
        false => format!(
            "{} above the bound; there may be lower ones",
            Bytes(height - bound)
        ),
    };
    part.fact_with("height_bytes", "packed", Cell::Bytes(height), remark);
    part.fact("is_optimal", "", Cell::Flag(packed.is_optimal()));
    part.fact("method", "found by", Cell::Text(packed.method.to_string()));
    if let Some(capacity) = capacity {
        capacity_facts(&mut part, packed, capacity, options);
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
    if let Some(theirs) = &table.packing {
        file_fact(&mut part, table, theirs);
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

fn capacity_facts(part: &mut Part, packed: &Packed, capacity: u64, options: &Options) {
    let height = packed.packing.height;
    let fits = match height <= capacity {
        true => "it fits".to_owned(),
        false => why_not(packed, capacity),
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

/// What inductor's planner would need, if that is known in time.
fn pools_bytes(problem: &Problem, time: Duration) -> Option<u64> {
    let is_small = problem.size.len() <= pools::MOST_BUFFERS;
    let mut planner = is_small.then(|| pools::Planner::of_problem(problem))?;
    let began = Instant::now();
    let is_done = planner.run(&mut || began.elapsed() >= time);
    is_done.then(|| planner.finish().total_bytes())
}

/// The packing that the file has already.
fn file_fact(part: &mut Part, table: &Table, theirs: &Packing) {
    let remark = match verify(&table.problem, theirs) {
        Ok(()) => "a packing, too".to_owned(),
        Err(fault) => format!("not a packing: {fault}, counted from 0"),
    };
    part.fact_with(
        "file_height_bytes",
        "in the file",
        Cell::Bytes(theirs.height),
        remark,
    );
}

fn why_not(packed: &Packed, capacity: u64) -> String {
    let missing = Bytes(packed.packing.height - capacity);
    match packed.bound > capacity {
        true => format!(
            "nothing can fit {}: at least {} are needed",
            Bytes(capacity),
            Bytes(packed.bound)
        ),
        false => format!(
            "the lowest packing found in time is {missing} too high; a longer --time may find one that fits"
        ),
    }
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
