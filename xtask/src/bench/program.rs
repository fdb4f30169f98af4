//! Measures the command line from outside: times and peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use wait4::Wait4;

use crate::program;

/// Number of runs of each command. The median counts.
const RUNS: usize = 3;

/// The commands for each file, as words before its name.
const QUESTIONS: [&[&str]; 8] = [
    &["info"],
    &["peak"],
    &["at", "peak"],
    &["top", "--by", "lifetime"],
    &["find", "size>1MiB live@peak"],
    &["fragmentation"],
    &["oom"],
    &["trace"],
];

/// Builds the program and measures it: its time with nothing to do and those of [`QUESTIONS`] in ms, and the peak
/// resident bytes of `info`.
pub(super) fn measure(file: &Path) -> Result<Value> {
    let program = program::build(None, "release")?;
    let (start_ms, _) = median(&program, &["--version"], &[])?;
    let mut figures = json!({"start_ms": start_ms});
    for words in QUESTIONS {
        let (ms, bytes) = median(&program, words, &[file])?;
        figures[format!("{}, ms", words.join(" "))] = json!(ms);
        if words == ["info"] {
            figures["info_bytes"] = json!(bytes);
        }
    }
    Ok(figures)
}

/// The median time of a command in ms, and the peak resident bytes of that run.
pub(super) fn median(program: &Path, words: &[&str], files: &[&Path]) -> Result<(f64, f64)> {
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let mut command = Command::new(program);
        command.args(words).args(files).stdout(Stdio::null());
        let start = Instant::now();
        let ended = command.spawn().and_then(|child| child.wait4());
        let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
        let ended = ended.with_context(|| format!("cannot run {}", program.display()))?;
        ensure!(ended.status.success(), "vramscope {words:?} failed");
        runs.push((elapsed_ms, ended.rusage.maxrss as f64));
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(runs[RUNS / 2])
}
