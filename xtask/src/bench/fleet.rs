//! `cargo xtask bench fleet`: packs a generated job of many ranks, and asks about it.
//!
//! Snapshots are generated in batches, packed, and removed, so that the disk needs to hold one batch and the dataset.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;
use wait4::Wait4;

use crate::consumers;
use crate::fleet::FEATURE;
use crate::process::{cargo, run, target_dir};

/// Ranks that are on the disk at once.
const BATCH: u32 = 250;

/// Number of runs of each question. The median counts.
const RUNS: usize = 3;

const QUESTIONS: [&str; 6] = ["peaks", "odd", "diff", "leaks", "oom", "sites"];

/// SQL over all events.
const SQL: [&str; 4] = [
    "select rank, max(live_bytes) as peak from events group by rank order by peak desc, rank limit 10",
    "select call_site, sum(bytes) as bytes from events where action = 'alloc' group by call_site \
     order by bytes desc, call_site limit 10",
    "select stack_key, count(distinct rank) as ranks, count(*) as events from events group by stack_key \
     order by events desc, stack_key limit 10",
    "select rank, sum(requested_bytes) as bytes from allocations where free_completed_event is null group by rank \
     order by bytes desc, rank limit 10",
];

/// Times a query in DuckDB, with the files' folder as the first argument: milliseconds.
const DUCKDB: &str = "
import sys, time
import duckdb
duckdb.sql('set enable_progress_bar = false')
for table in ('events', 'allocations'):
    duckdb.sql(f\"create view {table} as select * from read_parquet('{sys.argv[1]}/{table}/*/*.parquet', \"
               \"hive_partitioning = true, hive_types = {'rank': bigint})\")
times = []
for _ in range(3):
    start = time.perf_counter()
    duckdb.sql(sys.argv[2]).fetchall()
    times.append(time.perf_counter() - start)
print(sorted(times)[1] * 1e3)
";

/// Options of the command.
#[derive(Args)]
pub(super) struct Options {
    /// Number of ranks
    #[arg(long, default_value_t = 1000)]
    ranks: u32,
    /// Number of events of each rank
    #[arg(long, default_value_t = 100_000)]
    events: u32,
    /// Memory limit for packing
    #[arg(long, default_value = "1GiB")]
    memory: String,
    /// Measure the programs in this folder, and build none
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

/// What packing took, over all batches.
#[derive(Default)]
struct Packing {
    wall_s: f64,
    cpu_s: f64,
    peak_bytes: u64,
    unpacked_bytes: f64,
    events: f64,
}

/// Generates, packs, asks, and prints the figures.
///
/// # Errors
///
/// If a build or a measurement fails.
pub(super) fn measure(options: &Options) -> Result<()> {
    let programs = match &options.built {
        Some(folder) => folder.clone(),
        None => build()?,
    };
    let [program, synth] = ["vramscope", "vramscope-synth"]
        .map(|name| programs.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
    let bytes = fs::metadata(&program)?.len() as f64;
    println!("vramscope: {:.1} MB", bytes / 1e6);
    // Before anything takes long.
    let tools = consumers::prepare();
    let folder = target_dir().join("bench/fleet");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let dataset = folder.join("runs.vset");
    let packing = pack(options, &program, &synth, &folder, &dataset)?;
    print_packing(options, &packing, &dataset)?;
    for question in QUESTIONS {
        let ms = timed(&program, &["fleet", question], &[], &dataset)?;
        println!("vramscope fleet {question}: {ms:.0} ms");
    }
    compare_sql(&program, &tools, &dataset)
}

/// Builds the program with its engine, and the generator, as they are given to others. Returns their folder.
fn build() -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--release"])
        .args(["--package", "vramscope-cli", "--package", "vramscope-synth"])
        .args(FEATURE)
        // An inherited variable would put the page inside.
        .env_remove("VRAMSCOPE_PAGE");
    run(&mut build)?;
    Ok(target_dir().join("release"))
}

fn pack(
    options: &Options,
    program: &Path,
    synth: &Path,
    folder: &Path,
    dataset: &Path,
) -> Result<Packing> {
    let runs = folder.join("runs");
    let mut packing = Packing::default();
    for from in (0..options.ranks).step_by(BATCH as usize) {
        let mut generate = Command::new(synth);
        generate.arg("fleet").arg(&runs);
        let figures = [options.ranks, options.events, from, BATCH];
        let names = ["--ranks", "--events", "--from", "--count"];
        for (name, figure) in names.into_iter().zip(figures) {
            generate.args([name.to_owned(), figure.to_string()]);
        }
        run(&mut generate)?;
        let mut pack = Command::new(program);
        pack.args(["fleet", "pack", "--json", "--memory", &options.memory]);
        pack.arg(&runs)
            .arg("-o")
            .arg(dataset)
            .stdout(Stdio::piped());
        let start = Instant::now();
        let mut child = pack.spawn().context("cannot run vramscope")?;
        let out = child.stdout.take().context("the program has no output")?;
        let answer: Value = serde_json::from_reader(out)?;
        let ended = child.wait4()?;
        ensure!(ended.status.success(), "packing failed");
        packing.wall_s += start.elapsed().as_secs_f64();
        packing.cpu_s += (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
        packing.peak_bytes = packing.peak_bytes.max(ended.rusage.maxrss);
        let figure = |name: &str| answer["parts"][0][name].as_f64().unwrap_or(0.0);
        packing.unpacked_bytes += figure("unpacked_bytes");
        packing.events += figure("events");
        fs::remove_dir_all(&runs)?;
    }
    Ok(packing)
}

fn print_packing(options: &Options, packing: &Packing, dataset: &Path) -> Result<()> {
    let megabytes = packing.unpacked_bytes / 1e6;
    println!(
        "{} ranks, {:.0} events, {megabytes:.0} MB of pickles",
        options.ranks, packing.events
    );
    println!(
        "packed: {:.0} MB/s per core, by CPU time",
        megabytes / packing.cpu_s
    );
    println!(
        "packed: {:.0} MB/s, by the clock",
        megabytes / packing.wall_s
    );
    let peak = packing.peak_bytes as f64 / f64::from(1 << 20);
    println!(
        "peak memory: {peak:.0} MiB with --memory {}",
        options.memory
    );
    let bytes = bytes_in(dataset)? as f64;
    println!(
        "dataset: {:.1} MB, {:.1} bytes an event",
        bytes / 1e6,
        bytes / packing.events
    );
    for entry in fs::read_dir(dataset)? {
        let path = entry?.path();
        let bytes = if path.is_dir() {
            bytes_in(&path)?
        } else {
            fs::metadata(&path)?.len()
        } as f64;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        println!(
            "  {name}: {:.3} MB, {:.2} bytes an event",
            bytes / 1e6,
            bytes / packing.events
        );
    }
    Ok(())
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        sum += if path.is_dir() {
            bytes_in(&path)?
        } else {
            fs::metadata(path)?.len()
        };
    }
    Ok(sum)
}

/// The median time of a command, in ms.
fn timed(program: &Path, words: &[&str], further: &[&str], dataset: &Path) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let mut command = Command::new(program);
        command
            .args(words)
            .arg(dataset)
            .args(further)
            .stdout(Stdio::null());
        let start = Instant::now();
        let status = command.status()?;
        ensure!(status.success(), "{words:?} failed");
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

/// SQL over all events by this program, if it has an engine, and by DuckDB, if it is installed.
fn compare_sql(program: &Path, tools: &Path, dataset: &Path) -> Result<()> {
    let mut has_engine = Command::new(program);
    has_engine.args(["sql", "select 1"]).arg(dataset);
    let has_engine = has_engine
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?
        .success();
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    let python = tools.join("python").join(programs).join("python");
    for sql in SQL {
        let ours = match has_engine {
            true => format!(
                "{:.0} ms",
                timed(program, &["sql", sql], &["--json"], dataset)?
            ),
            false => "not built in".to_owned(),
        };
        let mut duckdb = Command::new(&python);
        let theirs = duckdb.args(["-c", DUCKDB]).arg(dataset).arg(sql).output();
        let theirs = match theirs {
            Err(_) => "not installed".to_owned(),
            Ok(output) if output.status.success() => {
                let ms = String::from_utf8_lossy(&output.stdout);
                format!("{:.0} ms", ms.trim().parse::<f64>().unwrap_or(f64::NAN))
            }
            Ok(output) => format!("failed\n{}", String::from_utf8_lossy(&output.stderr)),
        };
        println!("{sql}\n  vramscope sql: {ours}; DuckDB, without its start: {theirs}");
    }
    Ok(())
}
