//! Builds the stand-in driver, and the programs to capture in tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process::{built, cargo, root, run, run_for_output, target_dir};

/// The program that builds the programs to capture.
pub(crate) const PREPARE: &str = "prepare";

/// The environment variables that name the programs for the tests; empty on platforms without capture. Expects the
/// capture and [`PREPARE`] to be built.
pub(crate) fn prepare() -> Result<Vec<(String, String)>> {
    if !cfg!(target_os = "linux") {
        println!("capture: programs can only be captured on Linux; its tests are skipped");
        return Ok(Vec::new());
    }
    println!("capture: building the programs that are captured in tests");
    let mut prepare = Command::new(built(PREPARE));
    let places = run_for_output(prepare.arg("--built"))?;
    let variables = places.lines().filter_map(|line| line.split_once('='));
    let variables = variables.map(|(name, path)| (name.to_owned(), path.to_owned()));
    Ok(variables.collect())
}

/// Builds the stand-in driver, optimised. Returns the folder that has it under the real driver's names.
pub(crate) fn build_driver() -> Result<PathBuf> {
    run(cargo().args(["build", "--release", "--package", "fakecuda"]))?;
    let folder = target_dir().join("capture-bench/cuda");
    fs::create_dir_all(&folder)?;
    for name in ["libcuda.so.1", "libcuda.so"] {
        fs::copy(target_dir().join("release/libcuda.so"), folder.join(name))?;
    }
    Ok(folder)
}

/// Builds a program of `tests/capture/clients`, optimised, against a driver. It is built alone, so that cargo does not
/// merge the features of several.
pub(crate) fn build_client(package: &str, driver: &Path) -> Result<PathBuf> {
    let target = target_dir().join("capture-bench/clients");
    let mut build = cargo();
    build
        .args(["build", "--release", "--locked", "--package", package])
        .current_dir(root().join("tests/capture/clients"))
        .env("CARGO_TARGET_DIR", &target)
        .env("VRAMSCOPE_STUBS", driver);
    run(&mut build)?;
    Ok(target.join("release").join(package))
}
