//! `cargo xtask fleet`: the SQL engine of the command line, alone and beside other engines.
//!
//! DataFusion takes minutes to build, so no other check builds it. Here it has its own profile, without any
//! optimisation. Then DuckDB, Polars, Spark and Ballista answer the same questions about the same files: their packages
//! come from PyPI into the target directory, with the versions in `tests/fleet`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::installed;
use crate::process::{cargo, executable, find_program, root, run as run_command, target_dir};

/// The feature of the command line that has the engine built in.
pub(crate) const FEATURE: [&str; 2] = ["--features", "vramscope-cli/sql"];

/// A profile without optimisation.
const PROFILE: &str = "engine";

#[derive(Args)]
pub(crate) struct Options {
    /// Only the engine's own tests, without Python
    #[arg(long)]
    no_python: bool,
    /// Query the programs in this folder, which are built with the engine, and build none
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
    let mut pytest = installed::program(&python()?, "python")?;
    pytest.args(["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider"]);
    pytest.current_dir(root().join("tests/fleet"));
    pytest.env("PYTHONDONTWRITEBYTECODE", "1");
    let [program, synth] =
        ["vramscope", "vramscope-synth"].map(|name| folder.join(executable(name)));
    run_command(
        pytest
            .env("VRAMSCOPE_BIN", program)
            .env("VRAMSCOPE_SYNTH", synth),
    )
}

/// Builds the program with its engine, and the generator of snapshots; runs its tests, and returns their folder.
fn tested() -> Result<PathBuf> {
    // Always together, so that cargo builds each library once.
    let all = |command| {
        let mut all = cargo();
        all.args([command, "--profile", PROFILE]).args(FEATURE);
        for package in ["vramscope-cli", "vramscope-sql", "vramscope-synth"] {
            all.args(["--package", package]);
        }
        all.args(["--test", "engine", "--test", "sql"]);
        all
    };
    let programs = ["--lib", "--bin", "vramscope", "--bin", "vramscope-synth"];
    run_command(all("build").args(programs))?;
    run_command(&mut all("test"))?;
    Ok(target_dir().join(PROFILE))
}

/// The folder of the Python environment with the other engines.
fn python() -> Result<PathBuf> {
    let folder = target_dir().join("fleet/python");
    let list = |name| root().join("tests/fleet").join(name);
    let tools = "DuckDB, Polars and Spark (400 MB)";
    installed::python(&folder, &list("requirements.txt"), tools, &[])?;
    let alone = list("ballista.txt");
    let beside = folder.join("ballista");
    installed::once(&beside, &alone, "Ballista", || {
        let platform = format!("manylinux_2_39_{}", std::env::consts::ARCH);
        let mut pip = installed::program(&folder, "python")?;
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps"]);
        pip.args(["--only-binary=:all:", "--upgrade", "--platform"]);
        pip.args([&platform, "--target"]).arg(&beside);
        run_command(pip.arg("--requirement").arg(&alone))?;
        let mut loadable = installed::program(&folder, "python")?;
        run_command(loadable.arg(list("loadable.py")).arg(&beside))
    })?;
    Ok(folder)
}
