//! `cargo xtask bench`: makes snapshots, measures decoding, drawing and memory with them, and prints a table.
//! `bench capture`, `bench planning`, `bench fleet` and `bench page` measure those instead.
//!
//! Machines are shared and noisy, so only figures of the same run are comparable. For comparison, CPython reads
//! the same files between our own rounds.

mod capture;
mod fleet;
mod page_start;
mod planning;
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::browser;
use crate::page;
use crate::process::{cargo, output, run as run_command, target_dir};

/// Reads a pickle three times and prints the median in seconds.
const PICKLE_LOAD: &str = "
import gc, pickle, sys, time
times = []
for _ in range(1 if len(sys.argv) > 2 else 3):
    with open(sys.argv[1], 'rb') as file:
        start = time.perf_counter()
        snapshot = pickle.load(file)
        times.append(time.perf_counter() - start)
    del snapshot
    gc.collect()
print(sorted(times)[len(times) // 2])
";

/// Maximum size of a file for CPython, which needs about five times as much memory.
const PICKLE_LOAD_MOST_BYTES: u64 = 600 << 20;

/// Scenarios of many events, or of shapes that are hard to draw.
const HARD_TO_DRAW: [&str; 4] = ["many-live", "tiny", "segment-each", "annotations"];

/// Options of the command.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    part: Option<Part>,
    /// Numbers of events of the training snapshots
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000, 10_000_000])]
    events: Vec<u32>,
    /// Further files to measure with
    files: Vec<PathBuf>,
    /// Leave the page out
    #[arg(long)]
    no_browser: bool,
    /// Build the page less optimised: in seconds, for slower figures
    #[arg(long)]
    fast: bool,
}

/// What has a table of its own.
#[derive(Subcommand)]
enum Part {
    /// What capturing costs: nanoseconds per event, bytes of log, conversion
    Capture,
    /// Packing, pools, inductor's graphs, the allocator's model and plans: bytes, seconds, CPU seconds
    Planning,
    /// Packing a generated job of many ranks, and questions to it: MB/s, bytes an event, memory, times
    Fleet(fleet::Options),
    /// How soon the page takes a file, and what it holds over all views and after ten closings
    Page {
        /// The files to open; training snapshots of 100 thousand and a million events if none is given
        files: Vec<PathBuf>,
    },
}

/// A row of the table: one file.
struct Row {
    name: String,
    file_bytes: f64,
    native: Value,
    program: program::Figures,
    python_s: Option<f64>,
    browser: Option<Value>,
}

/// Makes the snapshots, measures, and prints the table.
///
/// # Errors
///
/// If a build or a measurement fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.part {
        Some(Part::Capture) => return capture::measure(),
        Some(Part::Planning) => return planning::measure(),
        Some(Part::Fleet(options)) => return fleet::measure(options),
        Some(Part::Page { files }) => return page_start::measure(files),
        None => {}
    }
    let files = snapshots(options)?;
    let page = if options.no_browser {
        None
    } else {
        Some(page::build(page::profile(options.fast))?)
    };
    let chromium = page.as_ref().map(|_| browser::find()).transpose()?;
    let mut rows = Vec::new();
    for file in files {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        println!("measuring {name}");
        let file_bytes = fs::metadata(&file)?.len();
        let native = native(&file)?;
        let program = program::measure(&file)?;
        let python_s = python(&file, file_bytes);
        let browser = match (&page, &chromium) {
            (Some(page), Some(chromium)) => Some(in_browser(&file, page, chromium)?),
            _ => None,
        };
        rows.push(Row {
            name,
            file_bytes: file_bytes as f64,
            native,
            program,
            python_s,
            browser,
        });
    }
    print_table(&rows);
    Ok(())
}

/// The snapshots to measure with. They are made once and kept.
fn snapshots(options: &Options) -> Result<Vec<PathBuf>> {
    let folder = target_dir().join("bench");
    let mut files = Vec::new();
    for &events in &options.events {
        files.push(training(events)?);
    }
    files.push(make(&folder, "torture", &["torture"])?);
    for name in HARD_TO_DRAW {
        files.push(make(&folder, name, &["scenario", name])?);
    }
    files.extend(options.files.iter().cloned());
    Ok(files)
}

/// A snapshot of a training run. It is made once and kept.
fn training(events: u32) -> Result<PathBuf> {
    make(
        &target_dir().join("bench"),
        &format!("training-{events}"),
        &["training", "--events", &events.to_string()],
    )
}

fn make(folder: &Path, name: &str, arguments: &[&str]) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.pickle"));
    if !path.exists() {
        fs::create_dir_all(folder)?;
        println!("making {}", path.display());
        let part = path.with_extension("part");
        let mut synth = cargo();
        synth.args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "vramscope-synth",
            "--",
        ]);
        run_command(synth.args(arguments).arg("-o").arg(&part))?;
        fs::rename(part, &path)?;
    }
    Ok(path)
}

fn native(file: &Path) -> Result<Value> {
    let mut bench = cargo();
    bench
        .args([
            "bench",
            "--quiet",
            "--package",
            "vramscope-core",
            "--bench",
            "decode",
            "--",
        ])
        .arg(file);
    last_line(output(&mut bench))
}

/// Seconds that CPython's `pickle.load` takes; `None` without Python, or if the file is too large.
fn python(file: &Path, file_bytes: u64) -> Option<f64> {
    if file_bytes > PICKLE_LOAD_MOST_BYTES {
        return None;
    }
    let result = Command::new("python3")
        .args(["-c", PICKLE_LOAD])
        .arg(file)
        .output()
        .ok()?;
    String::from_utf8(result.stdout).ok()?.trim().parse().ok()
}

fn in_browser(file: &Path, page: &Path, chromium: &Path) -> Result<Value> {
    let mut bench = browser_bench(page, chromium);
    last_line(output(bench.arg("--views").arg(file)))
}

/// The program that measures a built page in a browser.
fn browser_bench(page: &Path, chromium: &Path) -> Command {
    let mut bench = cargo();
    bench
        .args(["run", "--quiet", "--release"])
        .args(["--package", "vramscope-browser-tests", "--bin", "bench"])
        .args(["--", "--page"])
        .arg(page)
        .env("CHROME", chromium);
    bench
}

fn last_line(text: Option<String>) -> Result<Value> {
    let text = text.context("the benchmark failed; run its command by hand to see why")?;
    let line = text
        .lines()
        .next_back()
        .context("the benchmark printed nothing")?;
    serde_json::from_str(line).with_context(|| format!("the benchmark printed {line:?}"))
}

/// A figure of the table: its label, and its text for a row.
type Figure = (&'static str, fn(&Row) -> String);

const FIGURES: [Figure; 22] = [
    ("file, MB", |row| format!("{:.1}", row.file_bytes / 1e6)),
    ("events", |row| row.native["events"].to_string()),
    ("allocations", |row| row.native["allocations"].to_string()),
    ("native decode, MB/s", |row| {
        rate(row, row.native["decode_s"].as_f64())
    }),
    ("  pickle.load, MB/s", |row| rate(row, row.python_s)),
    ("  ratio", |row| {
        match (row.python_s, row.native["decode_s"].as_f64()) {
            (Some(python), Some(ours)) => format!("{:.1} x", python / ours),
            _ => "-".to_owned(),
        }
    }),
    ("native pairing, ms", |row| {
        number(row.native["pair_s"].as_f64().map(|seconds| seconds * 1e3))
    }),
    ("native peak memory / file", |row| {
        share(row, row.native["peak_bytes"].as_f64())
    }),
    ("vramscope --version, ms", |row| {
        number(Some(row.program.start_ms))
    }),
    ("vramscope info: memory / file", |row| {
        share(row, Some(row.program.info_bytes))
    }),
    ("wasm decode + pairing, MB/s", |row| {
        rate(
            row,
            page_figure(row, "read_ms").map(|milliseconds| milliseconds / 1e3),
        )
    }),
    ("wasm memory / file", |row| {
        share(row, page_figure(row, "wasm_bytes"))
    }),
    ("drop to first paint, ms", |row| {
        number(page_figure(row, "paint_ms"))
    }),
    ("  of that each stage, ms", |row| {
        let stages = row.browser.as_ref().map(|page| &page["stages"]);
        let ms = STAGES.map(
            |stage| match stages.and_then(|stages| stages[stage].as_f64()) {
                Some(ms) => format!("{ms:.0}"),
                None => "-".to_owned(),
            },
        );
        ms.join(" ")
    }),
    ("frame median | 95 %, ms", |row| {
        let [median, high] =
            ["frame_median_ms", "frame_p95_ms"].map(|key| number(page_figure(row, key)));
        format!("{median} | {high}")
    }),
    ("input to frame median | 95 %, ms", |row| {
        let [median, high] =
            ["input_median_ms", "input_p95_ms"].map(|key| number(page_figure(row, key)));
        format!("{median} | {high}")
    }),
    ("sharp after last input, ms", |row| {
        number(page_figure(row, "sharp_ms"))
    }),
    ("main thread blocked loading, ms", |row| {
        number(page_figure(row, "loading_block_ms"))
    }),
    ("main thread blocked zooming, ms", |row| {
        number(page_figure(row, "playing_block_ms"))
    }),
    ("search after the last key, ms", |row| {
        median_and_high(row, "search_ms")
    }),
    ("flame graph of a moment, ms", |row| {
        median_and_high(row, "flame_ms")
    }),
    ("step of the allocator, ms", |row| {
        median_and_high(row, "step_ms")
    }),
];

/// The stages of the first picture: until the worker begins, decoding, pairing, facts and colours, their transfer, the
/// page's elements until they ask for a picture, drawing it, presenting it.
const STAGES: [&str; 8] = [
    "start_ms",
    "decode_ms",
    "pair_ms",
    "facts_ms",
    "transfer_ms",
    "elements_ms",
    "raster_ms",
    "present_ms",
];

/// The names of the views, in the order of [`FIGURES`].
const VIEWS: [&str; 10] = [
    "overview",
    "timeline",
    "segments",
    "map",
    "allocator",
    "flame",
    "table",
    "compare",
    "what-if",
    "facts",
];

fn page_figure(row: &Row, key: &str) -> Option<f64> {
    row.browser.as_ref()?[key].as_f64()
}

/// Median and 95th percentile of repeated measurements.
fn median_and_high(row: &Row, key: &str) -> String {
    let figure = row.browser.as_ref().map(|page| &page["views"][key]);
    let [median, high] =
        ["median", "p95"].map(|share| number(figure.and_then(|figure| figure[share].as_f64())));
    format!("{median} | {high}")
}

/// Times of a view: shown for the first time, shown again, its frames as median and 95th percentile, and the 95th
/// percentile from an input to its frame.
fn view_figures(row: &Row, view: &str) -> String {
    let figure = row.browser.as_ref().map(|page| &page["views"][view]);
    let keys = [
        "first_ms",
        "again_ms",
        "frame_median_ms",
        "frame_p95_ms",
        "input_p95_ms",
    ];
    let [first, again, median, high, input] = keys.map(|key| {
        let value = figure.and_then(|figure| figure[key].as_f64());
        value.map_or("-".to_owned(), |value| format!("{value:.0}"))
    });
    format!("{first} {again} | {median} {high} | {input}")
}

fn rate(row: &Row, seconds: Option<f64>) -> String {
    number(seconds.map(|seconds| row.file_bytes / 1e6 / seconds))
}

fn share(row: &Row, bytes: Option<f64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| {
        format!("{:.2}", bytes / row.file_bytes)
    })
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

fn print_table(rows: &[Row]) {
    let names = rows
        .iter()
        .map(|row| format!("{:>24}", row.name))
        .collect::<String>();
    println!("{:<40}{names}", "");
    for (label, figure) in FIGURES {
        let cells = rows
            .iter()
            .map(|row| format!("{:>24}", figure(row)))
            .collect::<String>();
        println!("{label:<40}{cells}");
    }
    for (place, words) in program::QUESTIONS.iter().enumerate() {
        let cells = rows.iter().map(|row| {
            let figure = row.program.questions_ms.get(place).copied();
            format!("{:>24}", number(figure))
        });
        let label = format!("vramscope {}, ms", words.join(" "));
        println!("{label:<40}{}", cells.collect::<String>());
    }
    for view in VIEWS {
        let cells = rows
            .iter()
            .map(|row| format!("{:>24}", view_figures(row, view)));
        println!(
            "{:<40}{}",
            format!("{view}: show, again | frames | input"),
            cells.collect::<String>()
        );
    }
    println!(
        "(views: ms to the first paint, first and later times; ms between frames, median and 95 %; ms from input to frame, 95 %)"
    );
    println!(
        "(stages: until the worker begins, decode, pair, facts and colours, transfer, elements, draw, present)"
    );
    println!("(a long task under 50 ms is reported as 0.0: browsers tell only of longer ones)");
}
