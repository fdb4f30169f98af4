//! `vramscope-capture run`: a program with the library in it, and its snapshot afterwards.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::{env, io, process};

use clap::{Args, ValueEnum};
use vramscope_core::analysis::filter::parse_bytes;
use vramscope_core::units::Bytes;
use vramscope_record::settings::Settings;

use crate::commands::{Contents, Enabled};
use crate::destination::Destination;
use crate::failure::Failure;
use crate::finish::{self, Finished, Outcome};
use crate::follow::{Follower, Plan};
use crate::launch::environment::environment;
use crate::launch::library::Unpacked;
use crate::launch::program::{self, Refusal};
use crate::launch::witness::Witness;
use crate::launch::{self, Running, exit_code};
use crate::made::Made;
use crate::output::{self, quoted};

/// Less room holds nothing of use.
const LEAST_CAP_BYTES: u64 = 1 << 20;

/// The exit code when nothing was started for a reason of ours, as `env` and `timeout` have it.
const NOT_STARTED: u8 = 125;

/// Run a program and record its GPU memory
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The program and its arguments, as without `vramscope-capture run --`
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
    /// The snapshot to write (.pickle, .json or .vram); without this, PROGRAM-PID.pickle, here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Open the snapshot in the viewer afterwards
    #[arg(long)]
    view: bool,
    #[command(flatten)]
    contents: Contents,
    /// Record who called: `native` stacks are the program's own, of C, C++, Rust
    #[arg(long, value_enum, default_value_t = Stacks::Native)]
    stacks: Stacks,
    /// The most frames of a stack
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=128))]
    depth: u32,
    /// Record pinned host memory too
    #[arg(long)]
    host: bool,
    /// When memory runs out, write a snapshot of that moment, FILE-oom-N, while the program goes on: of the first 16
    /// such moments
    #[arg(long)]
    dump_on_oom: bool,
    /// Write one snapshot for each process that uses CUDA, FILE-PID, not only the first one's
    #[arg(long)]
    follow_children: bool,
    /// Record nothing until the program says so by vramscope_api::start
    #[arg(long)]
    start_paused: bool,
    /// Make raw logs in a new folder in DIR and keep them, for `convert`
    #[arg(long, value_name = "DIR")]
    raw_dir: Option<PathBuf>,
    /// Room for a raw log, about 100 bytes per event: what does not fit is counted, not recorded. With --max-entries,
    /// room for what is not taken over yet
    #[arg(long, value_name = "BYTES", value_parser = room, default_value = "1GiB")]
    cap: u64,
    /// Say nothing but what went wrong
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Stacks {
    Off,
    Native,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture run -o snap.pickle -- ./my-cuda-program --its options
  vramscope-capture run --view -- cargo run --release
  vramscope-capture run --max-entries 100000 --dump-on-oom -- ./server       # however long it runs
  vramscope-capture run --follow-children -o rank.pickle -- mpirun -n 4 ./solver

The program runs as it would without: same terminal, input, output, folder and process group. Signals that others send
to vramscope-capture are passed on; Ctrl-C reaches the program by itself. What is recorded survives however it ends.
Nothing can be recorded in programs that are linked statically or have the set-user-id bit; it is said which.
A snapshot in between: `vramscope-capture dump PID`, or vramscope_api::dump in the program.

Exit codes: the program's own, or 128+N when signal N ended it; 1 the program ended with 0, but its snapshot was not
written; 127 the program was not found, 126 it cannot be started, 125 nothing was started for a reason of
vramscope-capture's, 2 wrong usage";

/// Runs the command, and gives the exit code of the program; of one that ended well, 1 if its snapshot was not written.
///
/// # Errors
/// When nothing was started.
pub(crate) fn run(options: &Options) -> Result<u8, Failure> {
    let ours = |failure: Failure| match failure.exit_code() {
        1 => failure.with_code(NOT_STARTED),
        _ => failure,
    };
    let run = Run::prepare(options).map_err(ours)?;
    let (status, finished) = run.run().map_err(ours)?;
    if options.view && !finished.made.is_empty() {
        view(&finished.made);
    }
    Ok(match (exit_code(status), finished.failed) {
        (0, Some(failure)) => failure.exit_code(),
        (code, _) => code,
    })
}

/// All that is decided before the program starts.
struct Run<'a> {
    options: &'a Options,
    /// The program's file.
    path: PathBuf,
    plan: Plan,
    library: Unpacked,
    folder: LogFolder,
    refusal: Option<Refusal>,
}

impl<'a> Run<'a> {
    fn prepare(options: &'a Options) -> Result<Self, Failure> {
        let name = &options.command[0];
        let path =
            program::find(name).map_err(|(text, code)| Failure::input(text).with_code(code))?;
        let destination = match &options.output {
            Some(output) => Destination::of(output)?,
            // Until the program has a number: a folder that is not there is known before it runs.
            None => own_destination(&path, process::id())?,
        };
        let library = Unpacked::new()?;
        let folder = LogFolder::new(options.raw_dir.as_deref().unwrap_or(library.folder()))?;
        let contents = &options.contents;
        let plan = Plan {
            destination,
            recording: contents.recording(),
            debug_folders: contents.debug_folders.clone(),
            is_followed: contents.max_entries.is_some() || contents.enabled == Enabled::State,
            dump_on_oom: options.dump_on_oom,
            follow_children: options.follow_children,
            is_quiet: options.quiet,
        };
        Ok(Self {
            options,
            plan,
            library,
            folder,
            refusal: program::refusal(&path),
            path,
        })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let folder = self.folder.path.to_str().ok_or_else(|| {
            let folder = self.folder.path.display();
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
                Stacks::Native => options.depth,
            },
            free_stacks: options.contents.enabled == Enabled::All,
            host: options.host,
        })
    }

    /// Starts the program, looks after its logs, and writes its snapshots.
    fn run(mut self) -> Result<(ExitStatus, Finished), Failure> {
        let library = self.library.path();
        let can_try = !self.refusal.as_ref().is_some_and(Refusal::is_visible);
        let old_nvtx = self.library.as_old_nvtx()?;
        let environment = environment(
            |name| env::var_os(name),
            can_try.then_some(library.as_path()),
            old_nvtx.as_deref(),
            &self.settings()?,
        );
        if environment.nvtx_is_taken && !self.plan.is_quiet {
            output::note(
                "NVTX_INJECTION64_PATH is set already: ranges go there and are not recorded",
            );
        }
        let program = self.options.command[0].to_string_lossy();
        launch::leave_last_words(&output::line(&self.last_words()));
        let running = Running::start(&self.options.command, &environment)
            .map_err(|error| not_started(&program, &error))?;
        if self.options.output.is_none() {
            self.plan.destination = own_destination(&self.path, running.process())?;
        }
        let mut follower = Follower::new(&self.folder.path, &self.plan);
        let mut witness = Witness::new(running.process());
        let lost = || Failure::io(format!("cannot wait for {program}"));
        let status = loop {
            if let Some(status) = running.wait(follower.patience()).map_err(lost())? {
                break status;
            }
            follower.look();
            if !follower.has_logs() {
                witness.look();
            }
        };
        let outcome = Outcome {
            plan: &self.plan,
            refusal: self.refusal.as_ref(),
            witness: &witness,
            folder: &self.folder.path,
            starts_paused: self.options.start_paused,
            opens_viewer: self.options.view,
            program: &program,
        };
        // The program ran: what fails from now on is told, and changes no exit code of it but 0.
        let finished = finish::finish(&outcome, follower.end());
        launch::forget_last_words();
        if finished.failed.is_some() && self.options.raw_dir.is_none() {
            self.library.keep();
        }
        Ok((status, finished))
    }

    /// What is true if a signal ends us before the snapshots are written.
    fn last_words(&self) -> String {
        if self.plan.is_followed {
            return "interrupted before the snapshot was written: what was recorded is lost, for it was in this \
                    program's memory alone (--max-entries, --enabled state)"
                .to_owned();
        }
        format!(
            "interrupted before the snapshot was written: what was recorded is in {0}\n  vramscope-capture convert {0} -o FILE",
            quoted(&self.folder.path)
        )
    }
}

/// Bytes of room for a log.
fn room(text: &str) -> Result<u64, String> {
    match parse_bytes(text).map_err(|instead| format!("write {instead}"))? {
        ..LEAST_CAP_BYTES => Err(format!("at least {}", Bytes(LEAST_CAP_BYTES))),
        bytes => Ok(bytes),
    }
}

/// It was found, so what is missing is its interpreter.
fn not_started(program: &str, error: &io::Error) -> Failure {
    Failure::input(format!("cannot start {program}: {error}")).with_code(126)
}

/// The snapshot's file where none was named.
fn own_destination(program: &Path, process: u32) -> Result<Destination, Failure> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    Destination::of(Path::new(&format!("{name}-{process}.pickle")))
}

/// A folder for the logs of this run alone: others may have the same raw folder, and only its user may read what
/// programs did. If it is empty in the end, it goes.
struct LogFolder {
    path: PathBuf,
}

impl LogFolder {
    /// A new one in `parent`, which is made if it is not there.
    fn new(parent: &Path) -> Result<Self, Failure> {
        let make = || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(parent)?;
            let folder = tempfile::Builder::new()
                .prefix(&format!("{}-", process::id()))
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(parent.canonicalize()?)?;
            Ok(folder.keep())
        };
        let path = make().map_err(Failure::io(format!(
            "cannot make a folder in {}",
            parent.display()
        )))?;
        Ok(Self { path })
    }
}

impl Drop for LogFolder {
    fn drop(&mut self) {
        // Refused if there is anything in it.
        drop(fs::remove_dir(&self.path));
    }
}

/// Opens the viewer, and waits until it is closed.
fn view(made: &[Made]) {
    let beside = env::current_exe()
        .ok()
        .map(|this| this.with_file_name("vramscope"));
    let viewer = beside
        .filter(|viewer| viewer.is_file())
        .unwrap_or_else(|| "vramscope".into());
    // Standard output is the program's alone.
    let outcome = launch::run(
        Command::new(viewer)
            .arg("view")
            .args(made.iter().map(Made::path))
            .stdout(Stdio::from(io::stderr())),
    );
    if let Err(error) = outcome {
        output::note(&format!(
            "cannot run `vramscope view` ({error}): it is neither beside this program nor in PATH.\n  \
             Install it (`cargo xtask build` in its sources), or drop {} on its page",
            made[0].path().display()
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
            assert_eq!(room(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1X", "1e30G", "NaN", "4096", "7b"] {
            assert!(room(text).is_err(), "{text}");
        }
    }
}
