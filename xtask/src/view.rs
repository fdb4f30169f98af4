//! `cargo xtask view`: from a fresh clone to an open page.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::page::{self, Profile};
use crate::process::{cargo, run as run_command};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Snapshots to load
    files: Vec<PathBuf>,
    /// Print the address, open no browser
    #[arg(long)]
    no_open: bool,
    /// Serve on this port instead of a free one
    #[arg(long)]
    port: Option<u16>,
    /// Build the page less optimised, for working on it
    #[arg(long)]
    fast: bool,
}

/// Builds the page, then serves it until interrupted.
///
/// # Errors
///
/// If a build fails or the server cannot start.
pub(crate) fn run(options: &Options) -> Result<()> {
    // The files' names are relative to the user's folder, but the command runs in the root.
    let here = std::env::current_dir()?;
    let files: Vec<PathBuf> = options.files.iter().map(|file| here.join(file)).collect();
    for file in &files {
        // Told now, not after the builds. Patterns are for the program.
        let is_pattern = file.to_string_lossy().contains(['*', '?', '[']);
        ensure!(
            is_pattern || file.exists(),
            "there is no {}",
            file.display()
        );
    }
    let page = page::build(Profile::from_flag(options.fast))?;
    let mut command = cargo();
    // The command line with the page built in.
    command.env("VRAMSCOPE_PAGE", page);
    command.args(["run", "--package", "vramscope-cli", "--", "view"]);
    if options.no_open {
        command.arg("--no-open");
    }
    if let Some(port) = options.port {
        command.args(["--port", &port.to_string()]);
    }
    command.args(files);
    run_command(&mut command)
}
