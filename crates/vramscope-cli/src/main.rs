//! The vramscope command line: reads its arguments, runs one command, reports what failed.
//!
//! One file per command. Exit codes: 0 fine, 1 bad input, 2 wrong usage.

mod failure;
mod info;
mod input;
mod output;
mod plot;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Shows what a PyTorch CUDA memory snapshot holds.
///
/// A snapshot is the file that torch.cuda.memory._dump_snapshot() writes: a pickle, also compressed
/// with gzip or zstd, zipped, as JSON, or inside the HTML of torch's trace_plot. Files are only
/// decoded, never unpickled: nothing in them is run.
#[derive(Parser)]
#[command(name = "vramscope", version, after_help = EXAMPLES, verbatim_doc_comment)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vramscope info snapshot.pickle
  vramscope view rank0.pickle rank1.pickle
  vramscope plot snapshot.pickle -o timeline.png
  vramscope info --json snapshot.pickle.gz | jq .summary.devices[0].peak

Exit codes: 0 fine, 1 bad input, 2 wrong usage";

#[derive(Subcommand)]
enum Command {
    Info(info::Options),
    View(view::Options),
    Plot(plot::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Info(options) => info::run(&options),
        Command::View(options) => view::run(&options),
        Command::Plot(options) => plot::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads us has seen enough, as `head` does.
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            output::report(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
