//! `vramscope-capture dump`: a snapshot of a program that goes on running, from outside.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_capture::{FileSymbols, LogFile};
use vramscope_record::ConvertOptions;
use vramscope_record::layout::{HEADER_BYTES, MAGIC};
use vramscope_record::reader::{Header, Log};

use crate::commands::Contents;
use crate::commands::convert::{failure, named};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::request;
use crate::launch::witness::family;
use crate::made::Made;
use crate::output::{self, Progress};

/// Write a snapshot of a program that `run` has started, without stopping it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The process that uses CUDA, or one that started it
    #[arg(value_name = "PID")]
    process: u32,
    /// The snapshot to write (.pickle, .json or .vram); without this, PID.pickle, here
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
  vramscope-capture dump $(pgrep my-cuda-program) -o now.pickle
  vramscope-capture dump 4711 --enabled state

The program must have been started by `vramscope-capture run`. It notices nothing: its log is read from outside. When it
runs with --max-entries, `run` holds what was recorded and writes the snapshot, as its own options say.

Exit codes: 0 fine, 1 there is no such recording or the snapshot cannot be written, 2 wrong usage";

/// Runs the command.
///
/// # Errors
/// When the process is not recorded, or the snapshot cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let default = PathBuf::from(format!("{}.pickle", options.process));
    let destination = Destination::of(options.output.as_ref().unwrap_or(&default))?;
    let path = log_of(options.process)?;
    destination.is_none_of(std::slice::from_ref(&path))?;
    let shown = path.display().to_string();
    let file = LogFile::open(&path).map_err(Failure::io(format!("cannot read {shown}")))?;
    let log = Log::open(file.bytes()).map_err(|error| failure(&shown, error.into()))?;
    let text = if is_taken_over(log.header()) {
        request::ask(&path, destination.path())?
    } else {
        let how = ConvertOptions {
            recording: options.contents.recording(),
            is_running: true,
            ..ConvertOptions::default()
        };
        let mut symbols = FileSymbols::new(&options.contents.debug_folders);
        symbols.begin(&path, log.header());
        let mut progress = Progress::new(&shown, !options.quiet);
        let (snapshot, report) =
            vramscope_record::convert(file.bytes(), &how, &mut symbols, &mut |done, all| {
                progress.show(done, all)
            })
            .map_err(|error| failure(&shown, error.into()))?;
        drop(progress);
        Made::write(&snapshot, report, &destination)?.text()
    };
    if !options.quiet {
        output::note(&text);
    }
    Ok(())
}

/// Whether somebody takes the log's records over while they come: such a file is far longer than what may be in it.
fn is_taken_over(header: &Header) -> bool {
    header.consumed_bytes() > 0
        || header.file_bytes > header.capacity_bytes.saturating_add(HEADER_BYTES)
}

/// The log that a process writes, or one that it started.
fn log_of(process: u32) -> Result<PathBuf, Failure> {
    if !Path::new(&format!("/proc/{process}")).exists() {
        return Err(Failure::input(format!("there is no process {process}")));
    }
    let family = family(process);
    let recorded: Vec<_> = family
        .iter()
        .filter_map(|&process| Some((process, mapped_log(process)?)))
        .collect();
    match recorded.as_slice() {
        [(_, path)] => Ok(path.clone()),
        [] if fs::read(format!("/proc/{process}/maps")).is_err() => {
            Err(Failure::input(format!("you may not look into process {process}"))
                .with_cure("Run as the user that runs it."))
        }
        [] => Err(Failure::input(format!(
            "process {process} is not being recorded, and neither is anything that it started"
        ))
        .with_cure(
            "It must be started by `vramscope-capture run`, and its log begins with its first call of the CUDA driver.",
        )),
        several => {
            let processes = named(several.iter().map(|(process, _)| process.to_string()));
            Err(Failure::usage(format!("several processes are being recorded: name one of {processes}")))
        }
    }
}

/// The log that a process has mapped to write to, as this process can open it.
fn mapped_log(process: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    maps.lines().find_map(|line| {
        // Addresses, rights, offset, device, inode, path: that may hold blanks.
        let path = line.get(line.find('/')?..)?;
        let rights = line.split_whitespace().nth(1)?;
        (rights == "rw-s" && path.ends_with(".raw")).then_some(())?;
        // In a container of its own it has another name here.
        let inside = PathBuf::from(format!("/proc/{process}/root{path}"));
        let path = PathBuf::from(path);
        let same = fs::canonicalize(&path).is_ok() && is_same_file(&path, &inside);
        let path = if same { path } else { inside };
        // Programs map such files of their own too. Why one cannot be read is told later.
        let is_foreign = LogFile::open(&path).is_ok_and(|file| !file.bytes().starts_with(&MAGIC));
        (!is_foreign).then_some(path)
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        // A process that may not be looked into that far; its file is where it says.
        (Ok(_), Err(_)) => true,
        _ => false,
    }
}
