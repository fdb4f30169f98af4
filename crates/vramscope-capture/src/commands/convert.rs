//! `vramscope-capture convert`: raw logs that were kept, or that a crash left, into snapshots.

use std::collections::HashMap;
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
    /// Raw logs, or folders of them, such as the DIR of `run --raw-dir`
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
  vramscope-capture convert logs/4710-x7Gh2k/4711-99213.raw -o snap.pickle
  vramscope-capture convert logs/ -o snap.pickle            # snap-4711-99213.pickle …
  vramscope-capture convert 4711-99213.raw --debug-dir symbols/ --max-entries 100000

`vramscope-capture run --raw-dir DIR` keeps logs in DIR, in a folder for each run. A log of a program that was killed holds all that happened
until then. Functions get their names from the program's own files, recognised by their build ids: convert where the
program ran, or give a copy of them with --debug-dir.

Exit codes: 0 fine, 1 a log cannot be read or a snapshot not written, 2 wrong usage";

/// Runs the command.
///
/// # Errors
/// When a log cannot be read, or a snapshot not written: the last such failure, after those before it were told and
/// all other logs converted.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let logs = logs(&options.logs)?;
    let destinations = logs
        .iter()
        .map(|log| destination(options, log, logs.len()))
        .collect::<Result<Vec<_>, _>>()?;
    for destination in &destinations {
        destination.is_none_of(&logs)?;
    }
    are_different(&logs, &destinations)?;
    let mut symbols = FileSymbols::new(&options.contents.debug_folders);
    let mut failed = None;
    for (log, destination) in logs.iter().zip(&destinations) {
        let outcome = convert_one(options, log, destination, &mut symbols);
        if let Some(earlier) = outcome.err().and_then(|failure| failed.replace(failure)) {
            output::report(&earlier);
        }
    }
    failed.map_or(Ok(()), Err)
}

fn convert_one(
    options: &Options,
    log: &Path,
    destination: &Destination,
    symbols: &mut FileSymbols,
) -> Result<(), Failure> {
    let how = ConvertOptions {
        recording: options.contents.recording(),
        ..ConvertOptions::default()
    };
    let shown = log.display().to_string();
    let mut progress = Progress::new(&shown, !options.quiet);
    let (snapshot, report) = convert(log, &how, symbols, &mut |done, all| {
        progress.show(done, all)
    })
    .map_err(|error| failure(&shown, error))?;
    drop(progress);
    let made = Made::write(&snapshot, report, destination)?;
    if !options.quiet {
        output::note(&made.text());
    }
    Ok(())
}

fn destination(options: &Options, log: &Path, logs: usize) -> Result<Destination, Failure> {
    let name = log.file_stem().unwrap_or_default();
    match &options.output {
        None => {
            // The stem may hold dots: an ending is put behind it, in place of nothing.
            let mut name = name.to_owned();
            name.push(".pickle");
            Destination::of(Path::new(&name))
        }
        Some(output) if logs == 1 => Destination::of(output),
        Some(output) => Ok(Destination::of(output)?.with_suffix(&name.to_string_lossy())),
    }
}

/// Refuses to write one snapshot in the place of another.
fn are_different(logs: &[PathBuf], destinations: &[Destination]) -> Result<(), Failure> {
    let mut logs_by_place = HashMap::new();
    for (log, destination) in logs.iter().zip(destinations) {
        if let Some(other) = logs_by_place.insert(destination.path(), log) {
            return Err(Failure::usage(format!(
                "{} and {} would both be written to {}",
                other.display(),
                log.display(),
                destination.path().display()
            ))
            .with_cure("Convert them one by one, each with a name of its own after -o."));
        }
    }
    Ok(())
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
        let mut found = files_in(path, LOG)?;
        for run in folders_in(path)? {
            found.extend(files_in(&run, LOG)?);
        }
        if found.is_empty() {
            return Err(Failure::input(format!(
                "{} holds no raw log (*.raw), nor does a folder in it",
                path.display()
            )));
        }
        logs.extend(found);
    }
    Ok(logs)
}

/// How the names of raw logs end.
pub(crate) const LOG: &str = "raw";

/// The files in a folder whose names end so, by name.
pub(crate) fn files_in(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new(ending)));
    Ok(paths)
}

/// The folders in a folder: `run` makes one for its logs.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = || {
        let entries = fs::read_dir(folder)?;
        entries
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<Vec<_>>>()
    };
    let mut paths = read().map_err(Failure::io(format!("cannot read {}", folder.display())))?;
    paths.sort();
    Ok(paths)
}
