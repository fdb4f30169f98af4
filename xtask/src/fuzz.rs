//! `cargo xtask fuzz`: runs the libFuzzer targets in turn with the active compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use wait4::Wait4 as _;

use crate::executions;
use crate::process::{cargo, in_root, output, root, run as run_command, target_dir};

/// The flags that cargo-fuzz passes, less the sanitizer's: those need a nightly compiler, and safe code can do without.
const FLAGS: &str = "--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1 \
    -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

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
        let program = build(target)?;
        broken.extend(turn(target, &program, Duration::from_secs(seconds))?);
        shrink_corpus(target, &program)?;
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
    let entries = fs::read_dir(root().join("fuzz/targets")).context("no fuzz/targets")?;
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| stem(entry.path()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds a target with coverage. An explicit platform keeps the flags from build scripts and macros.
fn build(target: &str) -> Result<PathBuf> {
    let version = output(Command::new("rustc").arg("-vV")).context("rustc does not answer")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc names no host")?;
    let folder = target_dir().join("fuzz");
    let mut build = cargo();
    build
        .env("RUSTFLAGS", FLAGS)
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "vramscope-fuzz",
            "--bin",
            target,
        ])
        .args(["--target", host, "--target-dir"]);
    run_command(build.arg(&folder))?;
    Ok(folder.join(host).join("release").join(target))
}

/// Fuzzes a target for so long, and goes on after a crash. Returns what broke, a line each.
fn turn(target: &str, program: &Path, time: Duration) -> Result<Vec<String>> {
    let end = Instant::now() + time;
    let mut broken = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return Ok(broken);
        }
        let ended = fuzz(target, program, left)?;
        let kept = keep_crashes(target, program)?;
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
fn fuzz(target: &str, program: &Path, seconds: u64) -> Result<ExitStatus> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root().join(&corpus))?;
    fs::create_dir_all(root().join("fuzz/artifacts"))?;
    println!("fuzzing {target} for {seconds} s");
    let mut command = in_root(Command::new(program));
    command
        .args([&corpus, "fuzz/corpus/seeds", "-dict=fuzz/pickle.dict"])
        .arg(format!("-artifact_prefix=fuzz/artifacts/{target}-"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={}", MOST_CPU.as_secs()))
        .args([
            "-max_len=20000",
            "-rss_limit_mb=1024",
            "-print_final_stats=1",
        ])
        .stderr(Stdio::piped());
    let ended = command.output().context("cannot start the target")?;
    let text = String::from_utf8_lossy(&ended.stderr);
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0);
    println!("  {count} executions");
    if !ended.status.success() {
        let from = text.len().saturating_sub(4_000);
        println!("{}", text.get(from..).unwrap_or(&text));
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
fn keep_crashes(target: &str, program: &Path) -> Result<Kept> {
    let mut kept = Kept::default();
    for entry in fs::read_dir(root().join("fuzz/artifacts"))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(kind) = name.strip_prefix(&format!("{target}-")) else {
            continue;
        };
        let has_waited = kind.starts_with("timeout-") && !is_slow(program, &entry.path())?;
        kept.has_waited |= has_waited;
        if kind.starts_with("slow-unit-") || has_waited {
            println!("  slow: fuzz/artifacts/{name}");
        } else {
            fs::rename(entry.path(), root().join("fuzz/crashes").join(&name))?;
            kept.crashes.push(name);
        }
    }
    Ok(kept)
}

/// Whether a target breaks at an input, or takes longer for it than it may.
fn is_slow(program: &Path, input: &Path) -> Result<bool> {
    let mut command = in_root(Command::new(program));
    let patience = format!("-timeout={}", 20 * MOST_CPU.as_secs());
    let command = command.arg(input).arg(patience).stderr(Stdio::null());
    let ended = command
        .spawn()
        .context("cannot start the target")?
        .wait4()?;
    let cpu = ended.rusage.utime + ended.rusage.stime;
    Ok(!ended.status.success() || cpu > MOST_CPU)
}

/// Keeps of a corpus only what reaches code that nothing smaller reaches.
fn shrink_corpus(target: &str, program: &Path) -> Result<()> {
    let corpus = root().join("fuzz/corpus").join(target);
    let less = corpus.with_extension("less");
    fs::create_dir_all(&less)?;
    let mut merge = in_root(Command::new(program));
    merge.arg("-merge=1").arg(&less).arg(&corpus);
    let ended = merge.stderr(Stdio::null()).status()?;
    if ended.success() {
        fs::remove_dir_all(&corpus)?;
        fs::rename(&less, &corpus)?;
    } else {
        fs::remove_dir_all(&less)?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
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
