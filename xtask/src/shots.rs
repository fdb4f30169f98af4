//! `cargo xtask shots`: screenshots of every view with the page's samples, for inspection and for the README.

use anyhow::Result;
use clap::Args;

use crate::browser;
use crate::page;
use crate::process::{cargo, root, run as run_command};

#[derive(Args)]
pub(crate) struct Options {
    /// Build the page less optimised
    #[arg(long)]
    fast: bool,
    /// The README's three pictures, into `docs/`
    #[arg(long)]
    readme: bool,
    /// The window in CSS pixels
    #[arg(long, default_value = "1280x720")]
    size: String,
}

/// Builds the page and takes the screenshots.
pub(crate) fn run(options: &Options) -> Result<()> {
    let chromium = browser::find()?;
    let page = page::build(page::profile(options.fast))?;
    let folder = if options.readme { "docs" } else { "shots" };
    let mut shots = cargo();
    shots.args(["run", "--quiet", "--package", "vramscope-browser-tests"]);
    shots.args(["--bin", "shots", "--", "--size", &options.size]);
    shots.args(options.readme.then_some("--readme"));
    shots.arg("--page").arg(page);
    shots.arg("--out").arg(root().join(folder));
    run_command(shots.env("CHROME", chromium))
}
