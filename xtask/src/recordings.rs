//! `cargo xtask recordings`: dry runs of programs beside what strangers recorded of them on real cards.
//!
//! Each runs with the torch of its recording, which comes from PyPI into the target directory, with the versions in
//! `tests/dryrun`. Without Python, the network or the system that the stand-in is for, `cargo xtask test --all` says so and
//! goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::installed::{self, programs};
use crate::process::{built, cargo, root, run as run_command, target_dir};

/// The versions of torch that the recordings were made with.
const VERSIONS: [&str; 3] = ["2.6.0", "2.8.0", "2.11.0"];

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the programs of these repositories
    names: Vec<String>,
}

/// Builds the command line and compares.
///
/// # Errors
///
/// If the packages cannot be installed, or a dry run comes out differently.
pub(crate) fn run(options: &Options) -> Result<()> {
    run_command(cargo().args(["build", "--package", "vramscope-cli"]))?;
    compare(&environments()?, &built("vramscope"), &options.names)
}

/// Compares all with a built command line.
///
/// # Errors
///
/// If a dry run comes out differently, but not for want of Python or of a network.
pub(crate) fn test(program: &Path) -> Result<()> {
    if !cfg!(all(
        target_os = "linux",
        target_env = "gnu",
        target_arch = "x86_64"
    )) {
        println!("recordings: no torch with CUDA for this system; their tests are skipped");
        return Ok(());
    }
    match environments() {
        Ok(environments) => compare(&environments, program, &[]),
        Err(why) => {
            println!("recordings: {why:#}; their tests are skipped");
            Ok(())
        }
    }
}

fn compare(environments: &Path, program: &Path, names: &[String]) -> Result<()> {
    let python = programs(&environments.join(VERSIONS[0])).join("python");
    let mut compare = Command::new(python);
    compare
        .arg(root().join("tests/dryrun/run.py"))
        .args([program, environments]);
    run_command(compare.args(names))
}

/// The folder with an environment for each version.
fn environments() -> Result<PathBuf> {
    let folder = target_dir().join("recordings");
    for version in VERSIONS {
        let list = root().join(format!("tests/dryrun/requirements-{version}.txt"));
        let tools = format!("torch {version} without CUDA's libraries (2 GB)");
        installed::python(&folder.join(version), &list, &tools, &["--no-deps"])?;
    }
    Ok(folder)
}
