//! `cargo xtask fuzz`: runs the fuzz targets in turn by cargo-fuzz, which it installs into the target directory.
//!
//! Without a sanitizer, which safe code can do without, the active compiler will do. What cargo-fuzz lacks is here: it goes on
//! after a crash, tells slow inputs from a busy machine, keeps crashes where a test runs them, and counts.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use wait4::Wait4 as _;

use crate::executions;
use crate::installed;
use crate::process::{in_root, root, run as run_command, run_for_output, target_dir};

const CARGO_FUZZ: &str = "0.13.1";

/// The crashes after which a target's turn ends: more would be the same.
const MOST_CRASHES: usize = 5;

/// The most processor time for an input. The largest inputs take some 0.2 s.
const MOST_CPU: Duration = Duration::from_secs(10);

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// How long to go on, shared among the targets
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// Only this target
    #[arg(long)]
    target: Option<String>,
}

/// Runs the targets, keeps what they reached and what broke them, and adds to the counters.
///
/// # Errors
///
/// If a build fails; or if an input broke a rule or a target ended for another reason, after all targets had their time.
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
        // Keeps of the corpus only what reaches code that nothing smaller reaches.
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

/// Fuzzes a target for so long, and goes on after a crash. Returns what broke, a line each.
fn turn(target: &str, time: Duration) -> Result<Vec<String>> {
    let end = Instant::now() + time;
    let mut broken = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return Ok(broken);
        }
        let ended = fuzz(target, left)?;
        let kept = keep_crashes(target)?;
        let may_go_on = !ended.success() && (kept.has_waited || !kept.crashes.is_empty());
        broken.extend(faults(target, ended, &kept));
        if !may_go_on || broken.len() >= MOST_CRASHES {
            return Ok(broken);
        }
    }
}

/// What a run of a target broke: its inputs, or, if it failed without leaving one, the target itself. The system kills a
/// process that takes too much memory, and a target may fail at its start.
fn faults(target: &str, ended: ExitStatus, kept: &Kept) -> Vec<String> {
    if !ended.success() && kept.crashes.is_empty() && !kept.has_waited {
        return vec![format!(
            "{target} failed and left no input that explains it: {ended}"
        )];
    }
    (kept.crashes.iter())
        .map(|name| format!("{target}: fuzz/crashes/{name}"))
        .collect()
}

/// Fuzzes for so many seconds, and counts the executions. Crashes stay in `fuzz/artifacts`.
fn fuzz(target: &str, seconds: u64) -> Result<ExitStatus> {
    println!("fuzzing {target} for {seconds} s");
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus))?;
    let mut command = cargo_fuzz("run", target)?;
    command.args([&corpus, "fuzz/corpus/seeds", "--", "-dict=fuzz/pickle.dict"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={}", MOST_CPU.as_secs()));
    command.args(["-max_len=20000", "-rss_limit_mb=1024"]);
    command.arg("-print_final_stats=1").stderr(Stdio::piped());
    let ended = command.output().context("cannot start cargo-fuzz")?;
    let text = String::from_utf8_lossy(&ended.stderr);
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0);
    println!("  {count} executions");
    if !ended.status.success() {
        // Behind a rule cargo-fuzz shows all bytes of the input.
        let why = text.split('─').next().unwrap_or_default();
        let from = why.len().saturating_sub(4_000);
        println!("{}", why.get(from..).unwrap_or(why));
    }
    executions::add(target, count)?;
    Ok(ended.status)
}

/// What a run of a target left.
#[derive(Default)]
struct Kept {
    /// The names of inputs that broke a rule, in `fuzz/crashes`.
    crashes: Vec<String>,
    /// Whether it ended at an input that only waited for the machine.
    has_waited: bool,
}

/// Moves what broke a rule to `fuzz/crashes`. What is only slow on a busy machine stays: libFuzzer counts the time that
/// passes, so what ran into its limit is run again, and judged by its processor time.
fn keep_crashes(target: &str) -> Result<Kept> {
    let mut kept = Kept::default();
    let artifacts = root().join("fuzz/artifacts").join(target);
    for entry in fs::read_dir(artifacts)?.flatten() {
        let kind = entry.file_name().to_string_lossy().into_owned();
        let has_waited = kind.starts_with("timeout-") && !is_slow(target, &entry.path())?;
        kept.has_waited |= has_waited;
        if kind.starts_with("slow-unit-") || has_waited {
            println!("  slow: {}", entry.path().display());
        } else {
            let name = format!("{target}-{kind}");
            fs::rename(entry.path(), root().join("fuzz/crashes").join(&name))?;
            kept.crashes.push(name);
        }
    }
    Ok(kept)
}

/// Whether a target breaks at an input, or takes longer for it than it may.
fn is_slow(target: &str, input: &Path) -> Result<bool> {
    let mut command = cargo_fuzz("run", target)?;
    let patience = format!("-timeout={}", 20 * MOST_CPU.as_secs());
    command.arg(input).arg("--").arg(patience);
    let ended = command.stderr(Stdio::null()).spawn()?.wait4()?;
    let cpu = ended.rusage.utime + ended.rusage.stime;
    Ok(!ended.status.success() || cpu > MOST_CPU)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_target_that_fails_without_an_input_is_a_fault() {
        let ends = |raw| ExitStatus::from_raw(raw);
        let none = Kept::default();
        let crash = Kept {
            crashes: vec!["decode-crash-1".to_owned()],
            has_waited: false,
        };
        let waited = Kept {
            crashes: Vec::new(),
            has_waited: true,
        };
        assert_eq!(faults("decode", ends(0), &none), [""; 0]);
        // Killed, aborted, exit code 1.
        for raw in [9, 6, 1 << 8] {
            let found = faults("decode", ends(raw), &none);
            assert_eq!(found.len(), 1, "{raw}");
            assert!(found[0].contains("no input"), "{found:?}");
            let found = faults("decode", ends(raw), &crash);
            assert_eq!(found, ["decode: fuzz/crashes/decode-crash-1"]);
            assert_eq!(faults("decode", ends(raw), &waited), [""; 0]);
        }
    }
}
