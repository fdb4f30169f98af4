//! `vramscope-capture convert`: turns raw logs, kept or left by a crash, into snapshots.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_capture::{FileSymbols, convert};
use vramscope_record::ConvertOptions;

use crate::commands::Contents;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::log_folder::find_logs;
use crate::output::{self, Progress};
use crate::written_snapshot::WrittenSnapshot;

/// Convert raw logs into snapshots: after a crash, or on another machine
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Raw logs, or folders of them, such as the DIR of `run --raw-dir`
    #[arg(required = true, value_name = "RAW")]
    logs: Vec<PathBuf>,
    /// Snapshot to write (.pickle, .json or .vram). With several logs, each log's name is added to it. Default: the
    /// log's name with .pickle, in the current folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    contents: Contents,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture convert logs/4710-x7Gh2k/4711-99213.raw -o snap.pickle
  vramscope-capture convert logs/ -o snap.pickle            # snap-4711-99213.pickle …
  vramscope-capture convert 4711-99213.raw --debug-dir symbols/ --max-entries 100000

`vramscope-capture run --raw-dir DIR` keeps its logs in DIR, in a new folder for each run. The log of a killed program
contains everything up to that point. Function names come from the program's own files, matched by build id: convert
where the program ran, or give copies of the files with --debug-dir.

Exit codes: 0 success, 1 a log cannot be read or a snapshot cannot be written, 2 wrong usage";

/// Runs the command. One log that cannot be converted does not stop the others.
///
/// # Errors
/// The last failure to read a log or write a snapshot. Earlier ones are printed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let logs = find_logs(&options.logs)?;
    let destinations = logs
        .iter()
        .map(|log| destination_of(options, log, logs.len()))
        .collect::<Result<Vec<_>, _>>()?;
    for destination in &destinations {
        destination.check_not_among(&logs)?;
    }
    check_distinct(&logs, &destinations)?;
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
    let display = log.display().to_string();
    let mut progress = Progress::new(&display, !options.quiet);
    let (snapshot, report) = convert(log, &how, symbols, &mut |done, all| {
        progress.show(done, all)
    })
    .map_err(|error| Failure::conversion(&display, error))?;
    drop(progress);
    let written = WrittenSnapshot::write(&snapshot, report, destination)?;
    if !options.quiet {
        output::note(&written.message());
    }
    Ok(())
}

fn destination_of(options: &Options, log: &Path, logs: usize) -> Result<Destination, Failure> {
    let name = log.file_stem().unwrap_or_default();
    match &options.output {
        None => {
            // The stem may contain dots, so append the extension instead of replacing one.
            let mut name = name.to_owned();
            name.push(".pickle");
            Destination::of(Path::new(&name))
        }
        Some(output) if logs == 1 => Destination::of(output),
        Some(output) => Ok(Destination::of(output)?.with_suffix(&name.to_string_lossy())),
    }
}

/// Refuses to write two snapshots to the same file.
fn check_distinct(logs: &[PathBuf], destinations: &[Destination]) -> Result<(), Failure> {
    let mut logs_by_path = HashMap::new();
    for (log, destination) in logs.iter().zip(destinations) {
        if let Some(other) = logs_by_path.insert(destination.path(), log) {
            return Err(Failure::usage(format!(
                "{} and {} would both be written to {}",
                other.display(),
                log.display(),
                destination.path().display()
            ))
            .with_advice("Convert them one by one, with different names after -o."));
        }
    }
    Ok(())
}
