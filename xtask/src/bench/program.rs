//! Measures the command line from outside: times and peak memory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

use crate::program::{Speed, build_without_page};

/// Number of runs of each command. The median counts.
const RUNS: usize = 3;

/// The commands for each file, as words before its name. The first is `info`.
pub(super) const QUESTIONS: [&[&str]; 8] = [
    &["info"],
    &["peak"],
    &["at", "peak"],
    &["top", "--by", "lifetime"],
    &["find", "size>1MiB live@peak"],
    &["fragmentation"],
    &["oom"],
    &["trace"],
];

/// Figures of one file.
pub(super) struct Figures {
    /// Time of the program with nothing to do, in ms.
    pub(super) start_ms: f64,
    /// Time of each of [`QUESTIONS`], in ms.
    pub(super) questions_ms: Vec<f64>,
    /// Peak resident bytes of `info`.
    pub(super) info_bytes: f64,
}

/// Builds the program and measures it.
///
/// # Errors
///
/// If it cannot be built or fails.
pub(super) fn measure(file: &Path) -> Result<Figures> {
    let program = build_without_page(Speed::Release)?;
    let ask = |words: &[&str], file: Option<&Path>| -> Result<(f64, f64)> {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            let mut command = Command::new(&program);
            command.args(words).args(file).stdout(Stdio::null());
            let start = Instant::now();
            let ended = command.spawn().and_then(|child| child.wait4());
            let elapsed_ms = start.elapsed().as_secs_f64() * 1e3;
            let ended = ended.with_context(|| format!("cannot run {}", program.display()))?;
            ensure!(ended.status.success(), "vramscope {words:?} failed");
            runs.push((elapsed_ms, ended.rusage.maxrss as f64));
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(runs[RUNS / 2])
    };
    let (start_ms, _) = ask(&["--version"], None)?;
    let mut figures = Figures {
        start_ms,
        questions_ms: Vec::new(),
        info_bytes: 0.0,
    };
    for (place, words) in QUESTIONS.iter().enumerate() {
        let (ms, bytes) = ask(words, Some(file))?;
        figures.questions_ms.push(ms);
        if place == 0 {
            figures.info_bytes = bytes;
        }
    }
    Ok(figures)
}
