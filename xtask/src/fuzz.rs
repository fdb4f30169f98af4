//! `cargo xtask fuzz`: runs the fuzz targets in turn with cargo-fuzz, which it installs into the target directory.
//!
//! Without a sanitizer, which safe code does not need, the active compiler is enough. This adds what cargo-fuzz lacks:
//! it continues after a crash, moves crashes to where a test runs them, and counts.

use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::installed;
use crate::process::{in_root, root, run as run_command, run_for_output, target_dir};

const CARGO_FUZZ: &str = "0.13.1";

/// Number of crashes after which a target's turn ends: more would be alike.
const MOST_CRASHES: usize = 5;

/// Time limit for an input, by the clock. The largest take some 0.2 s, and no machine is so busy that this becomes 30.
const TIMEOUT: &str = "-timeout=30";

#[derive(Args)]
pub(crate) struct Options {
    /// How long to go on, shared among the targets
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Only this target
    #[arg(long)]
    target: Option<String>,
}

/// Runs the targets, keeps new inputs and crashes, and adds to the counters.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut targets = targets()?;
    if let Some(only) = &options.target {
        targets.retain(|target| target == only);
    }
    if targets.is_empty() {
        bail!("no such target in fuzz/targets");
    }
    let seconds = (options.minutes * 60 / targets.len() as u64).max(1);
    let mut broken = Vec::new();
    for target in &targets {
        run_command(&mut cargo_fuzz("build", target)?)?;
        broken.extend(turn(target, Duration::from_secs(seconds))?);
        // Keeps only inputs that reach code which nothing smaller reaches.
        run_command(cargo_fuzz("cmin", target)?.stderr(Stdio::null()))?;
    }
    if !broken.is_empty() {
        bail!(
            "{}\nInputs in fuzz/crashes are run by a test from now on: commit them.",
            broken.join("\n")
        );
    }
    Ok(())
}

/// The names of all targets.
fn targets() -> Result<Vec<String>> {
    let mut list = in_root(Command::new(installed::built("cargo-fuzz", CARGO_FUZZ)?));
    let names = run_for_output(list.args(["fuzz", "list"]))?;
    Ok(names.lines().map(str::to_owned).collect())
}

fn cargo_fuzz(command: &str, target: &str) -> Result<Command> {
    let mut fuzz = in_root(Command::new(installed::built("cargo-fuzz", CARGO_FUZZ)?));
    fuzz.args(["fuzz", command, "--sanitizer", "none", "--target-dir"]);
    fuzz.arg(target_dir().join("fuzz")).arg(target);
    Ok(fuzz)
}

/// Fuzzes a target for this long, continuing after a crash. Returns the failures, a line each.
fn turn(target: &str, time: Duration) -> Result<Vec<String>> {
    let end = Instant::now() + time;
    let mut broken = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return Ok(broken);
        }
        let ended = fuzz(target, left)?;
        let crashes = keep_crashes(target)?;
        let may_go_on = !ended.success() && !crashes.is_empty();
        broken.extend(faults(target, ended, &crashes));
        if !may_go_on || broken.len() >= MOST_CRASHES {
            return Ok(broken);
        }
    }
}

/// What a run of a target broke: its inputs or, if it failed without leaving one, the target itself. The system kills a
/// process that takes too much memory, and a target may fail at its start.
fn faults(target: &str, ended: ExitStatus, crashes: &[String]) -> Vec<String> {
    if !ended.success() && crashes.is_empty() {
        return vec![format!(
            "{target} failed and left no input that explains it: {ended}"
        )];
    }
    (crashes.iter())
        .map(|name| format!("{target}: fuzz/crashes/{name}"))
        .collect()
}

/// Fuzzes for this many seconds, and counts the executions. Crashes stay in `fuzz/artifacts`.
fn fuzz(target: &str, seconds: u64) -> Result<ExitStatus> {
    println!("fuzzing {target} for {seconds} s");
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus))?;
    let mut command = cargo_fuzz("run", target)?;
    command.args([&corpus, "fuzz/corpus/seeds", "--", "-dict=fuzz/pickle.dict"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.args([TIMEOUT, "-max_len=20000", "-rss_limit_mb=1024"]);
    command.arg("-print_final_stats=1").stderr(Stdio::piped());
    let ended = command.output().context("cannot start cargo-fuzz")?;
    let text = String::from_utf8_lossy(&ended.stderr);
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("  {} executions", count.map_or("0", str::trim));
    if !ended.status.success() {
        // After a rule cargo-fuzz shows all bytes of the input.
        let why = text.split('─').next().unwrap_or_default();
        let from = why.len().saturating_sub(4_000);
        println!("{}", why.get(from..).unwrap_or(why));
    }
    Ok(ended.status)
}

/// Moves inputs that broke a rule to `fuzz/crashes`, and returns their names there. Inputs that are only slow stay.
fn keep_crashes(target: &str) -> Result<Vec<String>> {
    let mut crashes = Vec::new();
    let artifacts = root().join("fuzz/artifacts").join(target);
    for entry in fs::read_dir(artifacts)?.flatten() {
        let kind = entry.file_name().to_string_lossy().into_owned();
        if kind.starts_with("slow-unit-") {
            println!("  slow: {}", entry.path().display());
        } else {
            let name = format!("{target}-{kind}");
            fs::rename(entry.path(), root().join("fuzz/crashes").join(&name))?;
            crashes.push(name);
        }
    }
    Ok(crashes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_target_that_fails_without_an_input_is_a_fault() {
        let ends = |raw| ExitStatus::from_raw(raw);
        let crash = ["decode-crash-1".to_owned()];
        assert_eq!(faults("decode", ends(0), &[]), [""; 0]);
        // Killed, aborted, exit code 1.
        for raw in [9, 6, 1 << 8] {
            let found = faults("decode", ends(raw), &[]);
            assert_eq!(found.len(), 1, "{raw}");
            assert!(found[0].contains("no input"), "{found:?}");
            let found = faults("decode", ends(raw), &crash);
            assert_eq!(found, ["decode: fuzz/crashes/decode-crash-1"]);
        }
    }
}
