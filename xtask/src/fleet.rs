//! `cargo xtask fleet`: the SQL engine of the command line, alone and beside other engines.
//!
//! DataFusion takes minutes to build, so no other check builds it. Here it has a profile of its own, without any
//! optimisation. Then DuckDB, Polars, Spark and Ballista answer the same questions about the same files: their packages
//! come from PyPI into the target directory, with the versions in `tests/fleet`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::installed::{self, pip, programs};
use crate::process::{cargo, find_program, root, run as run_command, target_dir};

/// The feature of the command line that has the engine built in.
pub(crate) const FEATURE: [&str; 2] = ["--features", "vramscope-cli/sql"];

/// The packages, always together, so that cargo builds each library once, and the profile in which they are tested.
const BUILT: [&str; 8] = [
    "--package",
    "vramscope-cli",
    "--package",
    "vramscope-sql",
    "--package",
    "vramscope-synth",
    "--profile",
    PROFILE,
];

/// A profile without optimisation.
const PROFILE: &str = "engine";

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Only the engine's own tests, without Python
    #[arg(long)]
    no_python: bool,
    /// Ask the programs in this folder, which are built with the engine, and build none
    #[arg(long, value_name = "FOLDER")]
    built: Option<PathBuf>,
}

/// Builds the engine, tests it, and compares its answers with those of others.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = match &options.built {
        Some(folder) => std::path::absolute(folder)?,
        None => tested()?,
    };
    if options.no_python {
        return Ok(());
    }
    if find_program(&["java"]).is_none() {
        println!("fleet: no Java here; Spark is left out");
    }
    let mut pytest = Command::new(python()?);
    pytest
        .args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"])
        .current_dir(root().join("tests/fleet"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("VRAMSCOPE_BIN", folder.join(name("vramscope")))
        .env("VRAMSCOPE_SYNTH", folder.join(name("vramscope-synth")));
    run_command(&mut pytest)
}

fn name(program: &str) -> String {
    format!("{program}{}", std::env::consts::EXE_SUFFIX)
}

/// Builds the program with its engine, and what generates snapshots; runs its tests, and returns their folder.
fn tested() -> Result<PathBuf> {
    let tests = ["--test", "engine", "--test", "sql"];
    let mut build = cargo();
    build.arg("build").args(BUILT).args(FEATURE).args(tests);
    let programs = ["--lib", "--bin", "vramscope", "--bin", "vramscope-synth"];
    run_command(build.args(programs))?;
    let mut test = cargo();
    run_command(test.arg("test").args(BUILT).args(FEATURE).args(tests))?;
    Ok(target_dir().join(PROFILE))
}

/// The Python with the other engines.
fn python() -> Result<PathBuf> {
    let folder = target_dir().join("fleet/python");
    let python = programs(&folder).join("python");
    let list = |name| root().join("tests/fleet").join(name);
    let tools = "DuckDB, Polars and Spark (400 MB)";
    installed::python(&folder, &list("requirements.txt"), tools, &[])?;
    let alone = list("ballista.txt");
    let beside = folder.join("ballista");
    installed::once(&beside, &alone, "Ballista", || {
        let platform = format!("manylinux_2_39_{}", std::env::consts::ARCH);
        let mut pip = pip(&folder);
        pip.args(["install", "--quiet", "--no-deps", "--only-binary=:all:"]);
        pip.args(["--upgrade", "--platform", &platform, "--target"]);
        run_command(pip.arg(&beside).arg("--requirement").arg(&alone))?;
        let mut loadable = Command::new(&python);
        loadable.arg(root().join("tests/fleet/loadable.py"));
        run_command(loadable.arg(&beside))
    })?;
    Ok(python)
}
