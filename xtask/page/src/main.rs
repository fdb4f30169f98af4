//! `cargo xtask`: shows the page, and passes all other commands to the program `xtask`, which is built first.

use std::ffi::OsStr;
use std::process::{self, Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result};
use clap::Parser;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use xtask_page::page::{FAST, FULL, replace_folder};
use xtask_page::process::{built, cargo, ended, in_root, run_quiet};
use xtask_page::view;

const OTHERS: &str = "xtask";

#[derive(Parser)]
#[command(name = "cargo xtask view")]
struct View {
    #[command(flatten)]
    options: view::Options,
}

fn main() -> ExitCode {
    ended(run())
}

fn run() -> Result<ExitCode> {
    if env::args_os().nth(1).as_deref() != Some(OsStr::new("view")) {
        return others();
    }
    let View { options } = View::parse_from(env::args_os().skip(1));
    view::run(&options, if options.release { FULL } else { FAST })?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the program with the other commands, in the same profile as for `test`, and runs it with the same arguments.
/// Temporary files that it and its children write are removed afterwards.
fn others() -> Result<ExitCode> {
    // Ctrl-C is meant for the programs that run: this one cleans up after them.
    let _held = Signals::new([SIGINT])?;
    run_quiet(cargo().args(["build", "--workspace", "--bin", OTHERS]))?;
    let temporary = env::temp_dir().join(format!("vramscope-xtask-{}", process::id()));
    replace_folder(&temporary)?;
    let mut run = in_root(Command::new(built(OTHERS)));
    let status = run
        .args(env::args_os().skip(1))
        .env("TMPDIR", &temporary)
        .status();
    fs::remove_dir_all(&temporary)
        .with_context(|| format!("cannot remove {}", temporary.display()))?;
    let status = status.context("cannot start the other commands")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
