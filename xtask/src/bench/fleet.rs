//! `cargo xtask bench fleet`: packs a generated job of many ranks, and queries it.
//!
//! Snapshots are generated in batches, packed, and removed, so that the disk needs to hold one batch and the dataset.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use wait4::Wait4;

use super::program::median;
use super::{print_table, timeit};
use crate::consumers;
use crate::fingerprint::files_under;
use crate::fleet::FEATURE;
use crate::installed;
use crate::process::{built_in, cargo, output, run, target_dir};

const PROGRAMS: [&str; 2] = ["vramscope", "vramscope-synth"];

/// Number of ranks on the disk at the same time.
const BATCH: u32 = 250;

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

/// The tables of the dataset in a folder, in DuckDB.
const DUCKDB: &str = "
import duckdb
duckdb.sql('set enable_progress_bar = false')
for table in ('events', 'allocations'):
    duckdb.sql(f\"create view {table} as select * from read_parquet('FOLDER/{table}/*/*.parquet', \"
               \"hive_partitioning = true, hive_types = {'rank': bigint})\")
";

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

/// Generates, packs, queries, and prints the figures.
pub(super) fn measure(options: &Options) -> Result<()> {
    let [program, synth] = match &options.built {
        Some(folder) => PROGRAMS.map(|name| folder.join(name)),
        None => build()?,
    };
    let bytes = fs::metadata(&program)?.len() as f64;
    println!("vramscope: {:.1} MB", bytes / 1e6);
    // Before anything takes long.
    let tools = consumers::prepare();
    let folder = target_dir().join("bench/fleet");
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder)?;
    let dataset = folder.join("runs.vset");
    let mut figures = pack(options, &program, &synth, &folder, &dataset)?;
    for question in QUESTIONS {
        let (ms, _) = median(&program, &["fleet", question], &[&dataset])?;
        figures[format!("fleet {question}, ms")] = json!(ms);
    }
    print_table(&[(format!("--memory {}", options.memory), figures)]);
    compare_sql(&program, &tools, &dataset)
}

/// Builds the program with its engine, and the generator, as for release. Returns both.
fn build() -> Result<[PathBuf; 2]> {
    let mut build = cargo();
    build
        .args(["build", "--release"])
        .args(["--package", "vramscope-cli", "--package", "vramscope-synth"])
        .args(FEATURE)
        // An inherited variable would put the page inside.
        .env_remove("VRAMSCOPE_PAGE");
    run(&mut build)?;
    Ok(PROGRAMS.map(|name| built_in("release", name)))
}

fn pack(
    options: &Options,
    program: &Path,
    synth: &Path,
    folder: &Path,
    dataset: &Path,
) -> Result<Value> {
    let runs = folder.join("runs");
    let (mut wall_s, mut cpu_s, mut peak_bytes) = (0.0, 0.0, 0);
    let (mut unpacked_bytes, mut events) = (0.0, 0.0);
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
        pack.arg(&runs).arg("-o").arg(dataset);
        let start = Instant::now();
        let mut child = pack.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("the program has no output")?;
        let answer: Value = serde_json::from_reader(out)?;
        let ended = child.wait4()?;
        ensure!(ended.status.success(), "packing failed");
        wall_s += start.elapsed().as_secs_f64();
        cpu_s += (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
        peak_bytes = ended.rusage.maxrss.max(peak_bytes);
        let figure = |name: &str| answer["parts"][0][name].as_f64().unwrap_or(0.0);
        unpacked_bytes += figure("unpacked_bytes");
        events += figure("events");
        fs::remove_dir_all(&runs)?;
    }
    let mut figures = json!({
        "ranks": options.ranks,
        "events": events,
        "pickles, bytes": unpacked_bytes,
        "packed, MB/s per core by CPU time": unpacked_bytes / 1e6 / cpu_s,
        "packed, MB/s by the clock": unpacked_bytes / 1e6 / wall_s,
        "peak memory, bytes": peak_bytes,
        "dataset": size(dataset, events)?,
    });
    for entry in fs::read_dir(dataset)? {
        let entry = entry?;
        let name = entry.file_name().display().to_string();
        figures["dataset"][name] = size(&entry.path(), events)?;
    }
    Ok(figures)
}

/// The size of a file, or of all files in a folder.
fn size(path: &Path, events: f64) -> Result<Value> {
    let mut bytes = 0;
    for file in files_under(path)? {
        bytes += fs::metadata(file)?.len();
    }
    Ok(json!({"bytes": bytes, "B an event": bytes as f64 / events}))
}

/// SQL over all events by this program, if it has an engine, and by DuckDB, if it is installed.
fn compare_sql(program: &Path, tools: &Path, dataset: &Path) -> Result<()> {
    let mut ask = Command::new(program);
    let has_engine = output(ask.args(["sql", "select 1"]).arg(dataset)).is_some();
    let tables = DUCKDB.replace("FOLDER", &dataset.display().to_string());
    for sql in SQL {
        let mut ours = "not built in".to_owned();
        if has_engine {
            let (ms, _) = median(program, &["sql", sql, "--json"], &[dataset])?;
            ours = format!("{ms:.0} ms");
        }
        let duckdb = installed::program(&tools.join("python"), "python")?;
        let fetch = format!("duckdb.sql({sql:?}).fetchall()");
        let theirs = timeit(duckdb, &tables, &fetch);
        let theirs = theirs.map_or("none".to_owned(), |s| format!("{:.0} ms", s * 1e3));
        println!("{sql}\n  vramscope sql: {ours}; DuckDB, without its start, at best: {theirs}");
    }
    Ok(())
}
