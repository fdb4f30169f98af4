//! `cargo xtask test`: every test, with all the set-up they need.

use anyhow::Result;
use clap::Args;

use crate::browser;
use crate::page::{self, Profile};
use crate::process::{cargo, output, run as run_command};

/// The package with the browser tests.
const BROWSER_TESTS: &str = "vramscope-browser-tests";

/// What to run.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Leave the browser tests out
    #[arg(long)]
    no_browser: bool,
    /// Build the page less optimised
    #[arg(long)]
    fast: bool,
}

/// Runs the native tests, the documentation's examples, then the page in a real browser.
///
/// # Errors
///
/// When the set-up or a test fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    // Set-up first: whoever waits learns soon what is missing.
    let chromium = (!options.no_browser).then(browser::find).transpose()?;
    native()?;
    run_command(cargo().args(["test", "--workspace", "--doc"]))?;
    if let Some(chromium) = chromium {
        let page = page::build(Profile::from_flag(options.fast))?;
        println!("browser: {}", chromium.display());
        let mut tests = runner();
        tests.args(["--package", BROWSER_TESTS]);
        run_command(tests.env("CHROME", chromium).env("VRAMSCOPE_PAGE", page))?;
    }
    Ok(())
}

fn native() -> Result<()> {
    run_command(runner().args(["--workspace", "--exclude", BROWSER_TESTS]))
}

/// `cargo nextest run` where it is installed, else `cargo test`.
fn runner() -> std::process::Command {
    let mut command = cargo();
    if output(cargo().args(["nextest", "--version"])).is_some() {
        command.args(["nextest", "run", "--no-tests", "pass"]);
    } else {
        command.args(["test", "--lib", "--bins", "--tests"]);
    }
    command
}
