//! `vramscope-capture run`: starts a program with the injected library and writes its snapshot.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, io, process};

use clap::{Args, ValueEnum};
use vramscope_core::analysis::search::filter::parse_bytes;
use vramscope_core::units::Bytes;
use vramscope_record::model::RecordingOptions;
use vramscope_record::rank::Rank;
use vramscope_record::settings::Settings;

use crate::commands::{Contents, Enabled};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::finish::{self, EndedRun, RunResult};
use crate::follow::live::{EVERY, LIVE_ENTRIES, parse_every};
use crate::follow::{Follower, Plan};
use crate::launch::driver_watch::DriverWatch;
use crate::launch::environment::{Environment, capture_environment};
use crate::launch::library::UnpackedLibrary;
use crate::launch::program::{self, Refusal};
use crate::launch::{self, Running, exit_code, python};
use crate::output;
use crate::run_folder::{RunFolder, convert_command};
use crate::written_snapshot::WrittenSnapshot;

/// A smaller log would hold too little to be useful.
const MIN_CAP_BYTES: u64 = 1 << 20;

/// Exit code if the program was not started and is not to blame, as in `env` and `timeout`.
const NOT_STARTED: u8 = 125;

/// Run a program and record its GPU memory
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
    /// Snapshot to write (.pickle, .json or .vram). Default: PROGRAM-PID.pickle in the current folder, with --live
    /// PROGRAM-PID.vram
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the snapshot in the viewer afterwards
    #[arg(long)]
    view: bool,
    /// Write the snapshot again and again while the program runs, to watch it with `vramscope view --live FILE`. Keeps
    /// the newest 200,000 trace entries of each device, unless --max-entries says another number
    #[arg(long)]
    live: bool,
    /// With --live, the least time between two versions
    #[arg(long, value_name = "TIME", default_value = EVERY, value_parser = parse_every)]
    every: Duration,
    #[command(flatten)]
    contents: Contents,
    /// Record callers: `native` stacks are those of the program's C, C++ and Rust code
    #[arg(long, value_enum, default_value_t = Stacks::Native)]
    stacks: Stacks,
    /// Maximum number of frames of a stack. Default: 64, or 256 for Python, whose interpreter takes most of them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    depth: Option<u32>,
    /// Have Python 3.12 and later name its functions (PYTHONPERFSUPPORT=1), which makes its calls slower: `auto` does
    /// if the program or its interpreter is a Python without known faults in that, and the variable is not set
    #[arg(long, value_enum, default_value_t = Python::Auto)]
    python: Python,
    /// Also record pinned host memory
    #[arg(long)]
    host: bool,
    /// Also write a snapshot when memory runs out, FILE-oom-N, while the program continues: for the first 16 times
    #[arg(long)]
    dump_on_oom: bool,
    /// Write only the snapshot of the first process that uses CUDA. Default: of each, as FILE, FILE-rankN or FILE-PID
    #[arg(long)]
    first_only: bool,
    /// Record nothing until the program calls vramscope_api::start
    #[arg(long)]
    start_paused: bool,
    /// Create raw logs in a new folder in DIR and keep them for `convert`
    #[arg(long, value_name = "DIR")]
    raw_dir: Option<PathBuf>,
    /// Size of a raw log, at about 100 bytes per event. Events that do not fit are counted but not recorded. With
    /// --max-entries, only events that were not read yet take up space
    #[arg(long, value_name = "BYTES", value_parser = parse_capacity, default_value = "1GiB")]
    cap: u64,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stacks {
    Off,
    Native,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Python {
    Auto,
    On,
    Off,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture run -o snap.pickle -- ./my-cuda-program --its options
  vramscope-capture run --view -- cargo run --release
  vramscope-capture run --max-entries 100000 --dump-on-oom -- ./server       # however long it runs
  vramscope-capture run -o solver.pickle -- mpirun -n 4 ./solver             # solver-rank0.pickle …
  vramscope-capture run --live -o live.vram -- ./train                       # meanwhile: vramscope view --live live.vram

The program runs as it would without vramscope-capture: same terminal, input, output, folder and process group. Signals
that other processes send to vramscope-capture are forwarded; Ctrl-C reaches the program directly. The recording
survives any end of the program. Each process that uses CUDA gets a snapshot: FILE, or if there are several,
FILE-rankN where a launcher (torchrun, mpirun, srun) gives ranks, else FILE-PID. Raw logs stay until their snapshots are
written. Programs that are linked statically or have the set-user-id bit cannot be recorded, nor can containers be looked
into from outside; a message says so. For a snapshot while the program runs, use `vramscope-capture dump PID`, or
vramscope_api::dump in the program.

Exit codes: the program's own, or 128+N if signal N ended it; 1 the program ended with 0, but its snapshot was not
written; 127 the program was not found, 126 it cannot be started, 125 it was not started because of an error of
vramscope-capture, 2 wrong usage";

/// Runs the command. Returns the program's exit code; if that is 0 but a snapshot was not written, 1.
///
/// # Errors
/// If the program was not started.
pub(crate) fn run(options: &Options) -> Result<u8, Failure> {
    let not_started_code = |failure: Failure| match failure.exit_code() {
        1 => failure.with_code(NOT_STARTED),
        _ => failure,
    };
    let run = Run::prepare(options).map_err(not_started_code)?;
    let (status, finished) = run.run().map_err(not_started_code)?;
    if options.view && !finished.snapshots.is_empty() {
        open_viewer(&finished.snapshots);
    }
    Ok(match exit_code(status) {
        0 if finished.is_incomplete => 1,
        code => code,
    })
}

/// Everything that is decided before the program starts.
struct Run<'a> {
    options: &'a Options,
    path: PathBuf,
    plan: Plan,
    library: UnpackedLibrary,
    folder: RunFolder,
    refusal: Option<Refusal>,
}

impl<'a> Run<'a> {
    fn prepare(options: &'a Options) -> Result<Self, Failure> {
        let name = &options.command[0];
        let path =
            program::find(name).map_err(|(text, code)| Failure::input(text).with_code(code))?;
        let destination = match &options.output {
            Some(output) => Destination::of(output)?,
            // Replaced once the program has a process id. Computed now to check that the folder exists.
            None => options.default_destination(&path, process::id())?,
        };
        let library = UnpackedLibrary::new()?;
        let folder = RunFolder::new(options.raw_dir.as_deref(), &destination, options.cap)?;
        let contents = &options.contents;
        let plan = Plan {
            destination,
            recording: options.recording(),
            debug_folders: contents.debug_folders.clone(),
            is_followed: options.live
                || contents.max_entries.is_some()
                || contents.enabled == Enabled::State,
            live_every: options.live.then_some(options.every),
            dump_on_oom: options.dump_on_oom,
            first_only: options.first_only,
            rank: Rank::of_environment(|name| env::var_os(name)),
            names_python: names_python(options, &path),
            is_quiet: options.quiet,
        };
        Ok(Self {
            options,
            plan,
            library,
            folder,
            refusal: program::find_refusal(&options.command, &path),
            path,
        })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let folder = self.folder.path().to_str().ok_or_else(|| {
            let folder = self.folder.path().display();
            Failure::usage(format!(
                "the name of {folder} is not UTF-8; name another folder with --raw-dir"
            ))
        })?;
        let options = self.options;
        Ok(Settings {
            folder: folder.to_owned(),
            capacity_bytes: options.cap,
            is_followed: self.plan.is_followed,
            starts_on: !options.start_paused,
            depth: match options.stacks {
                Stacks::Off => 0,
                Stacks::Native => {
                    let default = if self.plan.names_python { 256 } else { 64 };
                    options.depth.unwrap_or(default)
                }
            },
            free_stacks: options.contents.enabled == Enabled::All,
            host: options.host,
        })
    }

    /// The environment variables for the program. Prints a note if something will keep it from being fully recorded.
    fn environment(&self) -> Result<Environment, Failure> {
        let can_try = !self.refusal.as_ref().is_some_and(Refusal::is_visible);
        let library = can_try.then(|| self.library.path());
        let old_nvtx = match can_try {
            true => self.library.add_old_nvtx()?,
            false => None,
        };
        let environment = capture_environment(
            |name| env::var_os(name),
            library.as_deref(),
            old_nvtx.as_deref(),
            self.plan.names_python,
            &self.settings()?,
        );
        if let (false, Some(refusal)) = (self.plan.is_quiet, &self.refusal) {
            output::note(&refusal.to_string());
        }
        let remark = self.folder.remark(self.options.cap);
        if let (false, Some(remark)) = (self.plan.is_quiet, remark) {
            output::note(&remark);
        }
        if environment.nvtx_is_taken && !self.plan.is_quiet {
            output::note(
                "NVTX_INJECTION64_PATH is already set: NVTX ranges go to that library and are not recorded",
            );
        }
        Ok(environment)
    }

    /// Starts the program, follows its logs, and writes its snapshots.
    fn run(mut self) -> Result<(ExitStatus, RunResult), Failure> {
        let environment = self.environment()?;
        let program = self.options.command[0].to_string_lossy();
        finish::set_interruption(&self.plan, &self.folder, &self.plan.destination);
        let running = Running::start(&self.options.command, &environment)
            .map_err(|error| start_failure(&program, &error))?;
        if self.options.output.is_none() {
            let process = running.process();
            self.plan.destination = self.options.default_destination(&self.path, process)?;
        }
        let mut follower = Follower::new(self.folder.path(), &self.plan);
        let mut driver_watch = DriverWatch::new(running.process());
        let wait_failure = |error| {
            let convert = convert_command(self.folder.path(), &self.plan.destination);
            Failure::io(format!("cannot wait for {program}"))(error).with_advice(convert)
        };
        let status = loop {
            if let Some(status) = running
                .wait(follower.poll_interval())
                .map_err(wait_failure)?
            {
                break status;
            }
            follower.poll();
            if !follower.has_logs() {
                driver_watch.poll();
            }
        };
        let ended = EndedRun {
            plan: &self.plan,
            refusal: self.refusal.as_ref(),
            driver_watch: &driver_watch,
            folder: &self.folder,
            starts_paused: self.options.start_paused,
            opens_viewer: self.options.view,
            program: &program,
        };
        // The program ran. Later failures are printed, and change its exit code only if it is 0.
        let finished = finish::write_snapshots(&ended, follower.finish());
        launch::clear_interruption();
        Ok((status, finished))
    }
}

/// Whether to ask Python to name its functions.
fn names_python(options: &Options, program: &Path) -> bool {
    options.stacks != Stacks::Off
        && match options.python {
            Python::Auto => {
                env::var_os(python::VARIABLE).is_none()
                    && python::can_name_functions(&program::with_interpreters(program))
            }
            Python::On => true,
            Python::Off => false,
        }
}

/// Parses the size of a log in bytes.
fn parse_capacity(text: &str) -> Result<u64, String> {
    match parse_bytes(text).map_err(|instead| format!("write {instead}"))? {
        ..MIN_CAP_BYTES => Err(format!("at least {}", Bytes(MIN_CAP_BYTES))),
        bytes => Ok(bytes),
    }
}

/// The program file exists, so its interpreter is missing or the file has an unknown format.
fn start_failure(program: &str, error: &io::Error) -> Failure {
    Failure::input(format!("cannot start {program}: {error}")).with_code(126)
}

impl Options {
    /// The snapshot file if the user gave none.
    fn default_destination(&self, program: &Path, process: u32) -> Result<Destination, Failure> {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let ending = if self.live { "vram" } else { "pickle" };
        Destination::of(Path::new(&format!("{name}-{process}.{ending}")))
    }

    /// The part of the recording to keep.
    fn recording(&self) -> RecordingOptions {
        let recording = self.contents.recording();
        RecordingOptions {
            max_entries: recording.max_entries.or(self.live.then_some(LIVE_ENTRIES)),
            ..recording
        }
    }
}

/// Opens the viewer and waits until it is closed.
fn open_viewer(snapshots: &[WrittenSnapshot]) {
    let beside = env::current_exe()
        .ok()
        .map(|this| this.with_file_name("vramscope"));
    let viewer = beside
        .filter(|viewer| viewer.is_file())
        .unwrap_or_else(|| "vramscope".into());
    // Standard output belongs to the program.
    let outcome = launch::run(
        Command::new(viewer)
            .arg("view")
            .args(snapshots.iter().map(WrittenSnapshot::path))
            .stdout(Stdio::from(io::stderr())),
    );
    if let Err(error) = outcome {
        output::note(&format!(
            "cannot run `vramscope view` ({error}): it is neither beside this program nor in PATH.\n  \
             Install it (`cargo xtask build` in its sources), or drop {} onto its page",
            snapshots[0].path().display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_a_size_as_everywhere() {
        for (text, bytes) in [
            ("4194304", 4 << 20),
            ("2048k", 2 << 20),
            ("512MiB", 512 << 20),
            ("1.5 GB", 1_500_000_000),
            ("2g", 2 << 30),
        ] {
            assert_eq!(parse_capacity(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1X", "1e30G", "NaN", "4096", "7b"] {
            assert!(parse_capacity(text).is_err(), "{text}");
        }
    }
}
