//! `cargo xtask bench`: makes snapshots, measures decoding, drawing and memory with them, and prints a table. `bench
//! capture`, `bench planning`, `bench fleet`, `bench page` and `bench shapes` measure these instead.
//!
//! Machines are shared and noisy, so only figures from the same run are comparable. For comparison, CPython reads the
//! same files between our own rounds.

mod capture;
mod fleet;
mod page_start;
mod program;
mod shapes;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::browser;
use crate::page;
use crate::process::{cargo, output, root, run as run_command, target_dir};

/// Maximum size of a file for CPython, which needs about five times as much memory.
const PICKLE_LOAD_MOST_BYTES: u64 = 600 << 20;

/// Scenarios with many events, or with shapes that are hard to draw.
const HARD_TO_DRAW: [&str; 4] = ["many-live", "tiny", "segment-each", "annotations"];

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
    #[command(flatten)]
    browser: Browser,
}

/// Measurements with their own table.
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
    /// What one more event, frame, stack or other part of a file costs, natively and in the page
    Shapes(Browser),
}

#[derive(Args)]
struct Browser {
    /// Leave the page out
    #[arg(long)]
    no_browser: bool,
    /// Build the page less optimised: in seconds, for slower figures
    #[arg(long)]
    fast: bool,
}

impl Browser {
    /// The page, built, and the browser; `None` if they are left out.
    fn find(&self) -> Result<Option<(PathBuf, PathBuf)>> {
        match self.no_browser {
            true => Ok(None),
            false => Ok(Some((
                page::build(page::profile(self.fast))?,
                browser::find()?,
            ))),
        }
    }
}

/// Makes the snapshots, measures, and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.part {
        Some(Part::Capture) => return capture::measure(),
        Some(Part::Planning) => return planning(),
        Some(Part::Fleet(options)) => return fleet::measure(options),
        Some(Part::Page { files }) => return page_start::measure(files),
        Some(Part::Shapes(browser)) => return shapes::measure(browser.find()?.as_ref()),
        None => {}
    }
    let files = snapshots(options)?;
    let browser = options.browser.find()?;
    let mut columns = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        println!("measuring {name}");
        columns.push((name.into_owned(), measured(file, browser.as_ref())?));
    }
    print_table(&columns);
    println!("(a view's first_ms and again_ms: until it is painted, first and later)");
    println!("(frame: from one to the next; input: until its frame; p95: 95 %)");
    println!("(a block under 50 ms counts as 0: browsers report only longer ones)");
    Ok(())
}

/// Packing, pools, graphs, the allocator's model and plans, measured by a crate's example; also on real snapshots if
/// `VRAMSCOPE_SHARED` names a folder with some.
fn planning() -> Result<()> {
    let mut bench = cargo();
    bench.args(["run", "--release", "--quiet", "--package", "vramscope-plan"]);
    bench.args(["--example", "planning", "--"]);
    bench.arg(root().join("tests/fixtures/planning"));
    let shared = std::env::var_os("VRAMSCOPE_SHARED");
    run_command(bench.args(shared.map(|shared| Path::new(&shared).join("real"))))
}

/// All figures of a file, including those in the browser if a page and the browser are given.
fn measured(file: &Path, browser: Option<&(PathBuf, PathBuf)>) -> Result<Value> {
    let file_bytes = fs::metadata(file)?.len();
    let native = native(file)?;
    let program = program::measure(file)?;
    let python_s = python(file, file_bytes);
    let page = match browser {
        Some((page, chromium)) => in_browser(file, page, chromium)?,
        None => Value::Null,
    };
    let file_bytes = file_bytes as f64;
    let decode_s = native["decode_s"].as_f64();
    let read_s = page["read_ms"].as_f64().map(|ms| ms / 1e3);
    let per_s = |seconds: Option<f64>| seconds.map(|seconds| file_bytes / 1e6 / seconds);
    let per_file = |bytes: &Value| bytes.as_f64().map(|bytes| bytes / file_bytes);
    Ok(json!({
        "native decode, MB/s": per_s(decode_s),
        "pickle.load, MB/s": per_s(python_s),
        "pickle.load / native decode": python_s.zip(decode_s).map(|(python, ours)| python / ours),
        "native peak memory / file": per_file(&native["peak_bytes"]),
        "info: memory / file": per_file(&program["info_bytes"]),
        "wasm decode + pairing, MB/s": per_s(read_s),
        "wasm memory / file": per_file(&page["wasm_bytes"]),
        "native": native,
        "vramscope": program,
        "page": page,
    }))
}

/// The snapshots to measure with. They are made once and kept.
fn snapshots(options: &Options) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for &events in &options.events {
        files.push(training(events)?);
    }
    files.push(make("torture", &["torture"])?);
    for name in HARD_TO_DRAW {
        files.push(make(name, &["scenario", name])?);
    }
    files.extend(options.files.iter().cloned());
    Ok(files)
}

/// A snapshot of a training run.
fn training(events: u32) -> Result<PathBuf> {
    let words = ["training", "--events", &events.to_string()];
    make(&format!("training-{events}"), &words)
}

fn make(name: &str, arguments: &[&str]) -> Result<PathBuf> {
    let folder = target_dir().join("bench");
    let path = folder.join(format!("{name}.pickle"));
    if !path.exists() {
        fs::create_dir_all(folder)?;
        println!("making {}", path.display());
        let part = path.with_extension("part");
        let mut synth = cargo();
        synth.args(["run", "--quiet", "--release"]);
        synth.args(["--package", "vramscope-synth", "--"]);
        run_command(synth.args(arguments).arg("-o").arg(&part))?;
        fs::rename(part, &path)?;
    }
    Ok(path)
}

fn native(file: &Path) -> Result<Value> {
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--package", "vramscope-worker"]);
    last_line(output(bench.args(["--bench", "open", "--"]).arg(file)))
}

/// Seconds that CPython's `pickle.load` takes, the best of three; `None` without Python, or if the file is too large.
fn python(file: &Path, file_bytes: u64) -> Option<f64> {
    if file_bytes > PICKLE_LOAD_MOST_BYTES {
        return None;
    }
    let load = format!(
        "snapshot = pickle.load(open({:?}, 'rb'))",
        file.display().to_string()
    );
    let setup = "import gc, pickle; gc.enable()";
    timeit(Command::new("python3"), setup, &load)
}

/// Seconds that Python takes for a statement, the best of three; `None` if it fails.
fn timeit(mut python: Command, setup: &str, statement: &str) -> Option<f64> {
    python.args(["-m", "timeit", "--number", "1", "--repeat", "3"]);
    python.args(["--unit", "sec", "--setup", setup, statement]);
    // 1 loop, best of 3: 0.123 sec per loop
    let told = output(&mut python)?;
    told.split_once(": ")?.1.split(' ').next()?.parse().ok()
}

fn in_browser(file: &Path, page: &Path, chromium: &Path) -> Result<Value> {
    let mut bench = browser_bench(page, chromium);
    last_line(output(bench.arg("--views").arg(file)))
}

/// How long the page takes to the first picture, with its stages.
fn first_picture(file: &Path, page: &Path, chromium: &Path) -> Result<Value> {
    last_line(output(
        browser_bench(page, chromium).arg("--first").arg(file),
    ))
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
    let line = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("the benchmark printed {line:?}"))
}

/// Prints all measured numbers: a column for each measurement, a row for each number, named by its path. Bytes are
/// shown as MB.
fn print_table(columns: &[(String, Value)]) {
    let figures = columns.iter().map(|(_, measured)| numbers("", measured));
    let figures: Vec<_> = figures.collect();
    print_row("", columns.iter().map(|(title, _)| title.clone()));
    let mut printed = HashSet::new();
    for (name, _) in figures.iter().flatten() {
        if !printed.insert(name) {
            continue;
        }
        let unit = if name.contains("bytes") { 1e6 } else { 1.0 };
        let cells = figures.iter().map(|column| {
            let figure = column.iter().find(|(other, _)| other == name);
            figure.map_or("-".to_owned(), |(_, value)| shown(value / unit))
        });
        print_row(&name.replace("bytes", "mb"), cells);
    }
}

fn print_row(name: &str, cells: impl Iterator<Item = String>) {
    let cells: String = cells.map(|cell| format!("{cell:>24}")).collect();
    println!("{name:<40}{cells}");
}

fn shown(value: f64) -> String {
    match value {
        _ if value.fract() == 0.0 => format!("{value}"),
        -1.0..1.0 => format!("{value:.4}"),
        -10.0..10.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// The numbers in a measurement, in its order.
fn numbers(name: &str, measured: &Value) -> Vec<(String, f64)> {
    let below: Vec<(String, &Value)> = match measured {
        Value::Object(named) => named.iter().map(|(key, it)| (key.clone(), it)).collect(),
        Value::Array(all) => (1..)
            .zip(all)
            .map(|(n, it): (u32, _)| (n.to_string(), it))
            .collect(),
        _ => return Vec::from_iter(measured.as_f64().map(|value| (name.to_owned(), value))),
    };
    let below = below.into_iter();
    below
        .flat_map(|(key, it)| numbers(format!("{name} {key}").trim_start(), it))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::numbers;
    use serde_json::json;

    #[test]
    fn all_numbers_are_found_in_their_order() {
        let measured = json!({"b": 1, "a": {"x_ms": 2.5, "file": "name"}, "closed": [3, null]});
        let found = numbers("", &measured);
        let wanted = [("b", 1.0), ("a x_ms", 2.5), ("closed 1", 3.0)];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value)));
    }
}
