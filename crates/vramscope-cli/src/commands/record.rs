//! `vramscope record`: a thin wrapper around `vramscope-launch`, which starts the program, that then summarises the
//! files.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus};
use std::time::{Duration, SystemTime};
use std::{env, io};

use clap::{Args, ValueEnum};
use vramscope_core::units::Bytes;
use vramscope_launch::{
    HostGrowth, HostMemory, Outcome, RANKS, Session, Settings, Stacks, Steps, Whom, ask,
    run as run_program,
};

use super::brief;
use super::diff::{Growth, headlines, parse_growth};
use crate::failure::Failure;
use crate::harmless::quoted;
use crate::inputs::report_all;
use crate::{interruption, output};

/// Run a program and have PyTorch record its GPU memory, without a change of its code
///
/// The program runs as it would alone: same terminal, input, output, signals and exit code. Each of its Python
/// processes that uses a device leaves a snapshot: at its end, at the first four requests that fail (before anything is
/// freed), at SIGTERM, and when --dump asks. If host memory grows and the GPU's does not, a note says so. Recording
/// works through torchrun, accelerate, deepspeed, mpirun, srun, multiprocessing and servers, as long as they pass
/// PYTHONPATH on.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Folder for the snapshots, new or empty. Default: vramscope-DATE-TIME
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Name of the recording: a folder of that name, inside that of --output if given
    #[arg(long, value_name = "NAME", value_parser = parse_label)]
    label: Option<String>,
    /// Steps of the optimizer to record, counted from 1, both included: 10..13, 10..
    #[arg(long, value_name = "A..B", value_parser = parse_steps, conflicts_with = "skip_warmup")]
    steps: Option<Steps>,
    /// Record from the third step on
    #[arg(long)]
    skip_warmup: bool,
    /// Also write a snapshot after each N-th step of the optimizer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    every: Option<u32>,
    /// Maximum number of events stored for each device; the newest stay
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_entries: u32,
    /// Frames to record: Python's alone cost half, but memory of the backward pass has none
    #[arg(long, value_enum, default_value_t = Frames::All)]
    stacks: Frames,
    /// Include the text of the project's own source files in the snapshots, under the key source_code
    #[arg(long)]
    source: bool,
    /// Compare with an earlier recording afterwards
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Exit with code 3 if a peak grew by more than this: 5%, 100MiB
    #[arg(long, value_name = "LIMIT", value_parser = parse_growth, requires = "against")]
    fail_if_grown: Option<Growth>,
    /// Start nothing: make a recorded process, and those it has started, write a snapshot now
    #[arg(long, value_name = "PID|all", value_parser = parse_whom, conflicts_with = "command")]
    dump: Option<Whom>,
    /// Print only problems
    #[arg(short, long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        required_unless_present = "dump"
    )]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Frames {
    All,
    Python,
}

const EXAMPLES: &str = "\
Examples:
  vramscope record -- python train.py
  vramscope record -o run1 --steps 10..13 -- torchrun --nproc-per-node 8 train.py
  vramscope record --label old -- python train.py && vramscope record --label new -- python train.py --compile
  vramscope diff old/ new/
  vramscope record --against main/ --fail-if-grown 5% -- python -m pytest tests/test_memory.py
  vramscope record -o served -- vllm serve facebook/opt-125m        # meanwhile: vramscope record --dump all
  srun vramscope record -o run2 -- python train.py                  # on each machine, into one folder

Files are rank3_pid4711.pickle, or pid4711.pickle without a rank, in a folder of their moment if that is not the end: oom_1,
step_100, asked_20260131-235959. Recording costs about a microsecond for each allocation and each free. A program that uses
PyTorch's recorder itself keeps its own settings. Nothing is printed to standard output.

What PyTorch does not allocate is in no snapshot (NCCL, the CUDA context, cudaMallocAsync): `vramscope-capture` records it.
Python with -I, -E or -S, sudo and containers keep the recorder out, and so does SIGKILL; a message says so.

Exit codes: the program's own, or 128+N if signal N ended it; 127 it was not found, 126 it cannot be started, 2 wrong usage;
if the program ended with 0: 3 --fail-if-grown is broken, 1 the comparison failed";

/// How often the program's host memory is sampled.
const LOOKED_AT: Duration = Duration::from_secs(1);

/// Size of the answer at the end, in bytes.
const BRIEF_BYTES: u64 = 2 << 10;

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    if let Some(whom) = options.dump {
        return dump(whom, options.quiet);
    }
    let folder = folder(options)?;
    let was_there = folder.exists();
    let session = Session::new(settings(options, folder.clone()))
        .map_err(Failure::io(format!("cannot write to {}", folder.display())))?;
    let watch = session.watch_host(LOOKED_AT, |growth| output::note(&host_grows(&growth)));
    let ended = start(&session, &options.command);
    let host = watch.end();
    let outcome = session.outcome();
    if outcome.files.is_empty() && !was_there {
        // Only succeeds if it is empty.
        drop(fs::remove_dir(session.folder()));
    }
    let status = ended?;
    tell(options, &folder, &outcome, &host);
    match exit_code(status) {
        0 => compare(options, &folder),
        code => {
            let text = String::new();
            Err(Failure::Ended { code, text })
        }
    }
}

fn settings(options: &Options, folder: PathBuf) -> Settings {
    let warm = Steps {
        first: 3,
        last: None,
    };
    Settings {
        folder,
        max_entries: options.max_entries,
        stacks: match options.stacks {
            Frames::All => Stacks::All,
            Frames::Python => Stacks::Python,
        },
        steps: options.steps.or(options.skip_warmup.then_some(warm)),
        every: options.every,
        with_source: options.source,
    }
}

/// The folder for the snapshots, which must not contain another run's.
fn folder(options: &Options) -> Result<PathBuf, Failure> {
    let folder = match (&options.output, &options.label) {
        (None, None) => return Ok(PathBuf::from(format!("vramscope-{}", now()))),
        (Some(output), None) => output.clone(),
        (output, Some(label)) => output.clone().unwrap_or_default().join(label),
    };
    // If ranks share the folder, it is not empty for the second one.
    let is_one_of_many = RANKS.iter().any(|name| env::var_os(name).is_some());
    let mut entries = fs::read_dir(&folder).into_iter().flatten();
    if entries.next().is_some() && !is_one_of_many {
        let text = format!(
            "{} has files already: name another folder, or remove it",
            folder.display()
        );
        return Err(Failure::Usage(text));
    }
    Ok(folder)
}

/// The time in UTC for names: 20260131-235959.
fn now() -> String {
    let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    time.replace(['-', ':', 'Z'], "").replace('T', "-")
}

fn start(session: &Session, command: &[OsString]) -> Result<ExitStatus, Failure> {
    let (name, arguments) = command
        .split_first()
        .ok_or_else(|| Failure::Usage("no program is named".to_owned()))?;
    let mut program = process::Command::new(name);
    program.args(arguments);
    session.prepare(&mut program);
    interruption::without(|| run_program(&mut program)).map_err(|error| {
        let code = match error.kind() {
            ErrorKind::NotFound => 127,
            _ => 126,
        };
        let text = format!("cannot start {}: {error}", quoted(&name.to_string_lossy()));
        Failure::Ended { code, text }
    })
}

/// As in a shell: the program's own, or 128 plus the number of the signal that ended it.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|it| 128 + it));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// Prints which files were written, what they show, and how to view them.
fn tell(options: &Options, folder: &Path, outcome: &Outcome, host: &HostMemory) {
    for remark in &outcome.remarks {
        output::note(&format!("vramscope: {remark}\n"));
    }
    for growth in &host.grown {
        output::note(&host_grows(growth));
    }
    for process in &host.unknown {
        let text = "cannot tell whether its host memory grew";
        output::note(&format!("vramscope: process {process}: {text}\n"));
    }
    if options.quiet {
        return;
    }
    let place = quoted(&folder.display().to_string());
    let count = match outcome.files.len() {
        0 => return output::note("vramscope: no snapshot was written\n"),
        1 => "1 snapshot".to_owned(),
        many => format!("{many} snapshots"),
    };
    output::note(&format!("vramscope: {count} in {place}\n\n"));
    match brief::text(&[folder.to_owned()], BRIEF_BYTES) {
        Ok(text) => output::note(&text),
        Err(failure) => output::report(&failure),
    }
    output::note(&format!("\nTo look at it: vramscope view {place}\n"));
}

/// A note that host memory grows, not the GPU's.
fn host_grows(growth: &HostGrowth) -> String {
    let HostGrowth {
        process,
        host_bytes: [host, host_after],
        device_bytes: [device, device_after],
        time,
    } = growth;
    format!(
        "vramscope: process {process}: host memory grew from {} to {} in {} s, and memory on the GPU did not ({} to {}). No snapshot \
         shows what it is; memray does: python -m memray run --native SCRIPT\n",
        Bytes(*host),
        Bytes(*host_after),
        time.as_secs(),
        Bytes(*device),
        Bytes(*device_after)
    )
}

/// The change since an earlier recording.
fn compare(options: &Options, folder: &Path) -> Result<(), Failure> {
    let Some(before) = &options.against else {
        return Ok(());
    };
    let (lines, failures) = headlines([before, folder], options.fail_if_grown)?;
    for line in lines {
        output::note(&format!("{line}\n"));
    }
    let [before, folder] = [before, folder].map(|it| quoted(&it.display().to_string()));
    output::note(&format!(
        "\nTo see where: vramscope diff {before} {folder}\n"
    ));
    report_all(failures)
}

/// Makes processes write their files.
fn dump(whom: Whom, is_quiet: bool) -> Result<(), Failure> {
    let answers = ask(whom, &format!("asked_{}", now()));
    if answers.is_empty() {
        let text = match whom {
            Whom::All => "no process is being recorded".to_owned(),
            Whom::Process(process) => {
                format!("process {process} is not being recorded, nor is any that it has started")
            }
        };
        let advice =
            "It must run below `vramscope record`, which still runs, and have used a device.";
        return Err(Failure::Input(text).followed_by([advice]));
    }
    let mut failures = Vec::new();
    for answer in answers {
        let process = answer.process;
        match answer.file {
            Ok(Some(file)) if !is_quiet => output::print(&format!("{}\n", file.display()))?,
            Ok(Some(_)) => {}
            Ok(None) => output::note(&format!("process {process} records nothing now\n")),
            Err(error) => failures.push(not_written(process, error)),
        }
    }
    report_all(failures)
}

fn not_written(process: u32, error: io::Error) -> Failure {
    Failure::io(format!("process {process} wrote no file"))(error)
}

fn parse_label(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains('/') || text.starts_with('.') {
        true => Err("write a name that is valid for a folder".to_owned()),
        false => Ok(text.to_owned()),
    }
}

fn parse_steps(text: &str) -> Result<Steps, String> {
    let wrong = || "write the first and the last step, counted from 1: 10..13, or 10..".to_owned();
    let (first, last) = text.split_once("..").ok_or_else(wrong)?;
    let first = first
        .parse()
        .ok()
        .filter(|&first| first > 0)
        .ok_or_else(wrong)?;
    let last = match last {
        "" => None,
        last => Some(
            last.parse()
                .ok()
                .filter(|&last| last >= first)
                .ok_or_else(wrong)?,
        ),
    };
    Ok(Steps { first, last })
}

fn parse_whom(text: &str) -> Result<Whom, String> {
    match text {
        "all" => Ok(Whom::All),
        _ => text
            .parse()
            .ok()
            .map(Whom::Process)
            .ok_or_else(|| "write the number of a process, or all".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_the_host_has_its_figures_and_a_tool() {
        let growth = HostGrowth {
            process: 7,
            host_bytes: [1 << 30, 3 << 30],
            device_bytes: [8 << 20, 8 << 20],
            time: Duration::from_millis(48_700),
        };
        assert_eq!(
            host_grows(&growth),
            "vramscope: process 7: host memory grew from 1.00 GiB to 3.00 GiB in 48 s, and memory on the GPU did not (8.00 MiB to \
             8.00 MiB). No snapshot shows what it is; memray does: python -m memray run --native SCRIPT\n"
        );
    }
}
