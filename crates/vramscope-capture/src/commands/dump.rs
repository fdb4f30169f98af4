//! `vramscope-capture dump`: writes a snapshot of a running program, from outside.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_capture::{FileSymbols, LogFile};
use vramscope_record::ConvertOptions;
use vramscope_record::layout::{HEADER_BYTES, MAGIC};
use vramscope_record::reader::{Header, Log};

use crate::commands::Contents;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::request;
use crate::launch::driver_watch::process_tree;
use crate::output::{self, Progress, join_names};
use crate::written_snapshot::WrittenSnapshot;

/// Write a snapshot of a program started by `run`, without stopping it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Process that uses CUDA, or one of its ancestors
    #[arg(value_name = "PID")]
    process: u32,
    /// Snapshot to write (.pickle, .json or .vram). Default: PID.pickle in the current folder
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
  vramscope-capture dump $(pgrep my-cuda-program) -o now.pickle
  vramscope-capture dump 4711 --enabled state

The program must have been started by `vramscope-capture run`. It is not disturbed: its log is read from outside. With
--max-entries or --enabled state, only `run` holds the recording, so it writes the snapshot, with its own options.

Exit codes: 0 success, 1 there is no such recording or the snapshot cannot be written, 2 wrong usage";

/// Runs the command.
///
/// # Errors
/// If the process is not being recorded, or if the snapshot cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let default = PathBuf::from(format!("{}.pickle", options.process));
    let destination = Destination::of(options.output.as_ref().unwrap_or(&default))?;
    let path = log_of(options.process)?;
    destination.check_not_among(std::slice::from_ref(&path))?;
    let display = path.display().to_string();
    let file = LogFile::open(&path).map_err(Failure::io(format!("cannot read {display}")))?;
    let log =
        Log::open(file.bytes()).map_err(|error| Failure::conversion(&display, error.into()))?;
    let text = if is_consumed(log.header()) {
        request::request_snapshot(&path, destination.path())?
    } else {
        let how = ConvertOptions {
            recording: options.contents.recording(),
            is_running: true,
            ..ConvertOptions::default()
        };
        let mut symbols = FileSymbols::new(&options.contents.debug_folders);
        symbols.begin(&path, log.header());
        let mut progress = Progress::new(&display, !options.quiet);
        let (snapshot, report) =
            vramscope_record::convert(file.bytes(), &how, &mut symbols, &mut |done, all| {
                progress.show(done, all)
            })
            .map_err(|error| Failure::conversion(&display, error.into()))?;
        drop(progress);
        WrittenSnapshot::write(&snapshot, report, &destination)?.message()
    };
    if !options.quiet {
        output::note(&text);
    }
    Ok(())
}

/// Whether the log's records are consumed as they are written. The file is then far larger than its capacity.
pub(super) fn is_consumed(header: &Header) -> bool {
    header.consumed_bytes() > 0
        || header.file_bytes > header.capacity_bytes.saturating_add(HEADER_BYTES)
}

/// The log written by a process or by one of its descendants.
pub(super) fn log_of(process: u32) -> Result<PathBuf, Failure> {
    if !Path::new(&format!("/proc/{process}")).exists() {
        return Err(Failure::input(format!("there is no process {process}")));
    }
    let processes = process_tree(process);
    let recorded: Vec<_> = processes
        .iter()
        .filter_map(|&process| Some((process, mapped_log(process)?)))
        .collect();
    match recorded.as_slice() {
        [(_, path)] => Ok(path.clone()),
        [] if fs::read(format!("/proc/{process}/maps")).is_err() => {
            Err(Failure::input(format!("no permission to inspect process {process}"))
                .with_advice("Run this command as the user of that process."))
        }
        [] => Err(Failure::input(format!(
            "process {process} is not being recorded, and neither is any process that it started"
        ))
        .with_advice(
            "It must be started by `vramscope-capture run`. Its log begins with its first call of the CUDA driver.",
        )),
        several => {
            let processes = join_names(several.iter().map(|(process, _)| process.to_string()));
            Err(Failure::usage(format!("several processes are being recorded: name one of {processes}")))
        }
    }
}

/// The log that a process has mapped for writing, under a path that this process can open.
fn mapped_log(process: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    maps.lines().find_map(|line| {
        // The fields are: addresses, rights, offset, device, inode, path. The path may contain blanks.
        let path = line.get(line.find('/')?..)?;
        let rights = line.split_whitespace().nth(1)?;
        (rights == "rw-s" && path.ends_with(".raw")).then_some(())?;
        // In a container the file may have another path.
        let inside = PathBuf::from(format!("/proc/{process}/root{path}"));
        let path = PathBuf::from(path);
        let same = fs::canonicalize(&path).is_ok() && is_same_file(&path, &inside);
        let path = if same { path } else { inside };
        // Programs may map other .raw files. If the file cannot be opened, let the caller report why.
        let is_foreign = LogFile::open(&path).is_ok_and(|file| !file.bytes().starts_with(&MAGIC));
        (!is_foreign).then_some(path)
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        // The process's root may not be accessible; then use the path as it is.
        (Ok(_), Err(_)) => true,
        _ => false,
    }
}
