//! `vramscope-capture convert`: raw logs that were kept, or that a crash left, into snapshots.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_capture::{ConvertError, FileSymbols, convert};
use vramscope_record::ConvertOptions;

use crate::commands::Contents;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::made::Made;
use crate::output::{self, Progress};

/// Make snapshots of raw logs: after a crash, or on another machine
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Raw logs, or folders of them
    #[arg(required = true, value_name = "RAW")]
    logs: Vec<PathBuf>,
    /// The snapshot to write (.pickle, .json or .vram). With several logs their names are added to it; without
    /// this, the log's name with .pickle, here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    contents: Contents,
    /// Say nothing but what went wrong
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture convert /tmp/logs/4711-99213.raw -o snap.pickle
  vramscope-capture convert logs/ -o snap.pickle            # snap-4711-99213.pickle …
  vramscope-capture convert 4711-99213.raw --debug-dir symbols/ --max-entries 100000

`vramscope-capture run --raw-dir DIR` keeps logs in DIR. A log of a program that was killed holds all that happened
until then. Functions get their names from the program's own files, recognised by their build ids: convert where the
program ran, or give a copy of them with --debug-dir.

Exit codes: 0 fine, 1 a log cannot be read or a snapshot not written, 2 wrong usage";

/// Runs the command.
///
/// # Errors
/// When a log cannot be read, or a snapshot not written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let logs = logs(&options.logs)?;
    let destinations = logs
        .iter()
        .map(|log| destination(options, log, logs.len()))
        .collect::<Result<Vec<_>, _>>()?;
    for destination in &destinations {
        destination.is_none_of(&logs)?;
    }
    let mut symbols = FileSymbols::new(&options.contents.debug_folders);
    for (log, destination) in logs.iter().zip(&destinations) {
        let how = ConvertOptions {
            recording: options.contents.recording(),
            ..ConvertOptions::default()
        };
        let shown = log.display().to_string();
        let mut progress = Progress::new(&shown);
        let (snapshot, report) = convert(log, &how, &mut symbols, &mut |done, all| {
            progress.show(done, all)
        })
        .map_err(|error| failure(&shown, error))?;
        drop(progress);
        let made = Made::write(&snapshot, report, destination)?;
        if !options.quiet {
            output::note(&made.text());
        }
    }
    Ok(())
}

fn destination(options: &Options, log: &Path, logs: usize) -> Result<Destination, Failure> {
    let name = log.file_stem().unwrap_or_default();
    match &options.output {
        None => Destination::of(&Path::new(name).with_extension("pickle")),
        Some(output) if logs == 1 => Destination::of(output),
        Some(output) => Ok(Destination::of(output)?.with_suffix(&name.to_string_lossy())),
    }
}

/// Why a log could not be converted, in words.
pub(crate) fn failure(log: &str, error: ConvertError) -> Failure {
    match error {
        ConvertError::Io(error) => Failure::io(format!("cannot read {log}"))(error),
        ConvertError::Log(error) => {
            let advice = error.advice();
            Failure::input(format!("{log}: {error}")).with_cure(advice)
        }
    }
}

/// A list to be read: the first eight.
#[cfg(target_os = "linux")]
pub(crate) fn named(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > 8 { ", …" } else { "" };
    let names: Vec<_> = names.take(8).collect();
    format!("{}{more}", names.join(", "))
}

/// The logs that are named, or in folders that are.
fn logs(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut logs = Vec::new();
    for path in named {
        if !path.is_dir() {
            logs.push(path.clone());
            continue;
        }
        let found = logs_in(path)?;
        if found.is_empty() {
            return Err(Failure::input(format!(
                "{} holds no raw log (*.raw)",
                path.display()
            )));
        }
        logs.extend(found);
    }
    Ok(logs)
}

/// The logs in a folder, by name.
pub(crate) fn logs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || {
        let entries = fs::read_dir(folder)?;
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = read().map_err(Failure::io(format!("cannot read {}", folder.display())))?;
    paths.retain(|path| path.extension() == Some(OsStr::new("raw")));
    paths.sort();
    Ok(paths)
}
