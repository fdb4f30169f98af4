//! `cargo xtask recipes`: the book's recipes, run with the real frameworks.
//!
//! They come from PyPI into the target directory, with the versions in `tests/recipes`. Without Python, the network or the system
//! that the stand-in runtime is for, `cargo xtask test --all` says so and goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::installed::{self, programs};
use crate::process::{built, cargo, root, run as run_command, target_dir};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these programs
    names: Vec<String>,
}

/// Builds the command line and runs the recipes.
///
/// # Errors
///
/// If the packages cannot be installed, or a recipe fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    run_command(cargo().args(["build", "--package", "vramscope-cli"]))?;
    run_with(&frameworks()?, &built("vramscope"), &options.names)
}

/// Runs all with a built command line.
///
/// # Errors
///
/// If a recipe fails, but not for want of Python or of a network.
pub(crate) fn test(program: &Path) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        println!(
            "recipes: no runtime to stand in for CUDA's here; the tests of recipes are skipped"
        );
        return Ok(());
    }
    match frameworks() {
        Ok(frameworks) => run_with(&frameworks, program, &[]),
        Err(why) => {
            println!("recipes: {why:#}; the tests of recipes are skipped");
            Ok(())
        }
    }
}

fn run_with(frameworks: &Path, program: &Path, names: &[String]) -> Result<()> {
    let mut recipes = Command::new(programs(frameworks).join("python"));
    recipes
        .arg(root().join("tests/recipes/run.py"))
        .arg(program);
    run_command(recipes.args(names))
}

/// The environment with the frameworks.
fn frameworks() -> Result<PathBuf> {
    let folder = target_dir().join("recipes");
    let list = root().join("tests/recipes/requirements.txt");
    let tools =
        "torch without CUDA's libraries, transformers, TRL, DeepSpeed, Ray and others (3 GB)";
    installed::python(&folder, &list, tools, &["--no-deps"])?;
    Ok(folder)
}
