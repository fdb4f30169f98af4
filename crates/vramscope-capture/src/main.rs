//! `vramscope-capture`: records the GPU memory of any CUDA program as a snapshot.
//!
//! `commands` has a file per subcommand. `launch` starts a program with the injected library, `follow` follows its logs
//! while it runs, and `finish` writes the snapshots at the end, named by `snapshot_names`, or explains why there are
//! none. Until then the logs are in `run_folder`. `log_folder` finds the logs of earlier runs; `destination` and
//! `written_snapshot` handle snapshot files.

// Lowest first: a module uses those of groups above its own.

mod failure;
#[cfg(target_os = "linux")]
mod snapshot_names;

#[cfg(target_os = "linux")]
mod launch;
mod log_folder;
mod output;

mod destination;

#[cfg(target_os = "linux")]
mod run_folder;
mod written_snapshot;

#[cfg(target_os = "linux")]
mod follow;

#[cfg(target_os = "linux")]
mod finish;

#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "only `run` is given bytes")
)]
mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::convert;
#[cfg(target_os = "linux")]
use crate::commands::{dump, live, run};

/// Records the GPU memory of any CUDA program as a snapshot, without changing the program.
///
/// It records what the program allocates and frees through the CUDA driver, with stacks, ranges (NVTX) and the free
/// memory of each device. The snapshot opens in vramscope, in PyTorch's viewer (pytorch.org/memory_viz) and in
/// torch's _memory_viz.py.
#[derive(Parser)]
#[command(name = "vramscope-capture", version, after_help = EXAMPLES, verbatim_doc_comment)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vramscope-capture run -o snap.pickle -- ./my-cuda-program args…
  vramscope-capture run --view -- cargo run --release
  vramscope-capture run --live -o live.vram -- ./train      # watch it: vramscope view --live live.vram
  vramscope-capture dump PID -o now.pickle
  vramscope-capture convert RAW -o snap.pickle

`vramscope-capture COMMAND --help` tells more, with examples and exit codes.";

#[derive(Subcommand)]
enum Command {
    #[cfg(target_os = "linux")]
    Run(run::Options),
    #[cfg(target_os = "linux")]
    Dump(dump::Options),
    #[cfg(target_os = "linux")]
    Live(live::Options),
    Convert(convert::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        #[cfg(target_os = "linux")]
        Command::Run(options) => run::run(&options),
        #[cfg(target_os = "linux")]
        Command::Dump(options) => dump::run(&options).map(|()| 0),
        #[cfg(target_os = "linux")]
        Command::Live(options) => live::run(&options).map(|()| 0),
        Command::Convert(options) => convert::run(&options).map(|()| 0),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::report(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
