//! Builds the programs that the capture tests start: the capture itself, the stand-in driver, and programs to
//! capture.

use anyhow::Result;

use crate::process::{cargo, run_for_output};

/// The environment variables that tell the tests where the programs are; empty on platforms without capture.
///
/// # Errors
///
/// If a build fails. Cargo has printed why.
pub(crate) fn prepare() -> Result<Vec<(String, String)>> {
    if !cfg!(target_os = "linux") {
        println!("capture: programs can only be captured on Linux; its tests are skipped");
        return Ok(Vec::new());
    }
    println!("capture: building the programs that are captured in tests");
    let mut prepare = cargo();
    prepare.args([
        "run",
        "--package",
        "vramscope-capture-tests",
        "--bin",
        "prepare",
    ]);
    let places = run_for_output(&mut prepare)?;
    let variables = places.lines().filter_map(|line| line.split_once('='));
    Ok(variables
        .map(|(name, path)| (name.to_owned(), path.to_owned()))
        .collect())
}
