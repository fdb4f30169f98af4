//! `vramscope-capture live`: repeatedly writes the snapshot of a running program, from outside.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use vramscope_capture::{FileSymbols, LogFile};
use vramscope_record::model::{Recording, RecordingOptions};
use vramscope_record::reader::Log;

use crate::commands::{Contents, dump};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::FollowedLog;
use crate::follow::live::{EVERY, LIVE_ENTRIES, LiveFile, parse_every};
use crate::output::{self, quote};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Write the snapshot of a running program again and again, to watch it with `vramscope view --live`
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Process that uses CUDA, or one of its ancestors
    #[arg(value_name = "PID", required_unless_present = "log")]
    process: Option<u32>,
    /// The raw log to follow, instead of that of a process
    #[arg(long, value_name = "RAW", conflicts_with = "process")]
    log: Option<PathBuf>,
    /// Snapshot to write (.pickle, .json or .vram)
    #[arg(short, long, value_name = "FILE", default_value = "live.vram")]
    output: PathBuf,
    /// The least time between two versions
    #[arg(long, value_name = "TIME", default_value = EVERY, value_parser = parse_every)]
    every: Duration,
    #[command(flatten)]
    contents: Contents,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture live $(pgrep my-cuda-program)            # meanwhile: vramscope view --live live.vram
  vramscope-capture live --log /scratch/raw/4711-x/4711-99213.raw -o rank3.vram --every 2s

The program must have been started by `vramscope-capture run`. It is not disturbed: its log is read from outside. Ends
when the program ends, or by Ctrl-C; the last version stays. Keeps the newest 200,000 trace entries of each device,
unless --max-entries says another number. A program started with --max-entries, --enabled state or --live is held by its
`run` alone: start that with --live.

Exit codes: 0 success, 1 there is no such recording or the first version cannot be written, 2 wrong usage";

/// Runs the command until the program ends.
///
/// # Errors
/// If the process is not being recorded, another process consumes its log, or the first or last version cannot be
/// written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let path = match (&options.log, options.process) {
        (Some(log), _) => log.clone(),
        (None, process) => dump::log_of(process.unwrap_or_default())?,
    };
    let destination = Destination::of(&options.output)?;
    destination.check_not_among(std::slice::from_ref(&path))?;
    check_not_consumed(&path)?;
    let recording = options.contents.recording();
    let recording = RecordingOptions {
        max_entries: recording.max_entries.or(Some(LIVE_ENTRIES)),
        ..recording
    };
    let mut log = FollowedLog::watch(&path, Recording::new(recording))?;
    let symbols = FileSymbols::new(&options.contents.debug_folders);
    log.set_live(LiveFile::new(destination, options.every, symbols));
    // In a container the program has another process id.
    let is_running = |log: &FollowedLog| match options.process {
        Some(process) => Path::new(&format!("/proc/{process}")).exists(),
        None => log.is_running(),
    };
    let mut is_first = true;
    loop {
        let has_ended = log.is_complete() || !is_running(&log);
        log.catch_up(!has_ended);
        match log.write_live(has_ended) {
            Err(failure) if is_first || has_ended => return Err(failure),
            Err(failure) => output::report(&failure),
            Ok(()) => {}
        }
        if std::mem::take(&mut is_first) && !options.quiet {
            let (process, program) = (log.process(), log.program());
            let file = quote(&options.output);
            output::note(&match has_ended {
                false => format!(
                    "process {process} ({program}) can be watched: vramscope view --live {file}"
                ),
                true => format!("process {process} ({program}) has ended: {file} is final"),
            });
        }
        if has_ended {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Refuses a log whose records another process consumes.
fn check_not_consumed(path: &Path) -> Result<(), Failure> {
    let display = path.display().to_string();
    let file = LogFile::open(path).map_err(Failure::io(format!("cannot read {display}")))?;
    let log =
        Log::open(file.bytes()).map_err(|error| Failure::conversion(&display, error.into()))?;
    match dump::is_consumed(log.header()) {
        false => Ok(()),
        true => Err(Failure::input(format!(
            "the `vramscope-capture run` of this program holds the recording alone, and consumes {display}"
        ))
        .with_advice(
            "Start the program with `run --live`. For a single snapshot, use `vramscope-capture dump`.",
        )),
    }
}
