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

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

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

/// Makes the snapshots, measures, and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    match &options.part {
        Some(Part::Capture) => return capture::measure(),
        Some(Part::Planning) => return planning::measure(),
        Some(Part::Fleet(options)) => return fleet::measure(options),
        Some(Part::Page { files }) => return page_start::measure(files),
        None => {}
    }
    let files = snapshots(options)?;
    let browser = match options.no_browser {
        true => None,
        false => Some((page::build(page::profile(options.fast))?, browser::find()?)),
    };
    let mut columns = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        println!("measuring {name}");
        columns.push((name.into_owned(), measured(file, browser.as_ref())?));
    }
    print_table(&columns);
    println!("(a view's first_ms and again_ms: until it is painted, first and later)");
    println!("(frame: from one to the next; input: until its frame; p95: 95 %)");
    println!("(a block under 50 ms is told as 0: browsers tell only of longer ones)");
    Ok(())
}

/// All figures of a file, in the browser too if a page and the browser are given.
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
        synth.args(["run", "--quiet", "--release"]);
        synth.args(["--package", "vramscope-synth", "--"]);
        run_command(synth.args(arguments).arg("-o").arg(&part))?;
        fs::rename(part, &path)?;
    }
    Ok(path)
}

fn native(file: &Path) -> Result<Value> {
    let mut bench = cargo();
    bench.args(["bench", "--quiet", "--package", "vramscope-core"]);
    last_line(output(bench.args(["--bench", "decode", "--"]).arg(file)))
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

/// Prints all numbers that were measured: a column for each measurement, a row for each number by the names that lead to
/// it. Bytes are shown as MB.
fn print_table(columns: &[(String, Value)]) {
    let mut names = Vec::new();
    let mut figures = BTreeMap::new();
    for (column, (_, measured)) in columns.iter().enumerate() {
        for (name, value) in numbers("", measured) {
            if !names.contains(&name) {
                names.push(name.clone());
            }
            figures.insert((column, name), value);
        }
    }
    print_row("", columns.iter().map(|(title, _)| title.clone()));
    for name in names {
        let cells = (0..columns.len()).map(|column| match figures.get(&(column, name.clone())) {
            Some(bytes) if name.contains("bytes") => shown(bytes / 1e6),
            Some(value) => shown(*value),
            None => "-".to_owned(),
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
    let below = |below: &str, value| numbers(format!("{name} {below}").trim_start(), value);
    match measured {
        Value::Object(named) => named
            .iter()
            .flat_map(|(name, value)| below(name, value))
            .collect(),
        Value::Array(all) => {
            let all = (1..).zip(all);
            all.flat_map(|(number, value): (u32, _)| below(&number.to_string(), value))
                .collect()
        }
        _ => measured
            .as_f64()
            .map(|value| (name.to_owned(), value))
            .into_iter()
            .collect(),
    }
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
