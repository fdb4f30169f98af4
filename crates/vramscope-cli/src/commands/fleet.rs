//! `vramscope fleet`: many snapshots, one or more per rank of a job.

mod pack;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Ask about the ranks of a job, up to thousands
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Pack(pack::Options),
}

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    match &options.task {
        Task::Pack(options) => pack::run(options),
    }
}
