//! `cargo xtask publish`: the crates for crates.io, in the order of their dependencies. Each is built from its package,
//! as users of crates.io build it.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::page::{Given, copy_folder, remove_mini, replace_folder};
use crate::process::{cargo, in_root, output, root, run as run_command, target_dir};
use crate::program;

#[derive(Args)]
pub(crate) struct Options {
    /// Upload them; by default they are only packaged and built
    #[arg(long)]
    upload: bool,
    #[command(flatten)]
    page: Given,
}

/// Packages and builds all crates that are published, and uploads them on request.
pub(crate) fn run(options: &Options) -> Result<()> {
    let changed = output(in_root(Command::new("git")).args(["status", "--porcelain"]));
    ensure!(
        !options.upload || changed.is_some_and(|changed| changed.is_empty()),
        "there are changes that are not committed"
    );
    let page = options.page.folder()?;
    // Crates not yet published cannot be downloaded: the capture's build gets its library from here.
    let library = program::build_injected()?;
    let carried = root().join("crates/vramscope-cli/page");
    // An interrupted run may have left its page there.
    replace_folder(&carried)?;
    let mut publish = cargo();
    // Git ignores the page.
    publish.args(["publish", "--workspace", "--locked", "--allow-dirty"]);
    // Otherwise each package has its own folder, and common dependencies are built ten times.
    publish
        .arg("--target-dir")
        .arg(target_dir().join("publish"));
    publish.args((!options.upload).then_some("--dry-run"));
    let published = copy_folder(&page, &carried)
        .and_then(|()| remove_mini(&carried))
        .and_then(|()| run_command(publish.env("VRAMSCOPE_INJECT", library)));
    fs::remove_dir_all(&carried)?;
    published
}
