//! Builds the programs that the capture tests start: the capture itself, the stand-in driver, and programs to
//! capture.

use std::process::Command;

use anyhow::Result;

use crate::process::{built, run_for_output};

/// The program that builds what is captured.
pub(crate) const PREPARE: &str = "prepare";

/// The environment variables that tell the tests where the programs are; empty on platforms without capture.
/// The capture and [`PREPARE`] are built already.
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
    let mut prepare = Command::new(built(PREPARE));
    let places = run_for_output(prepare.arg("--built"))?;
    let variables = places.lines().filter_map(|line| line.split_once('='));
    Ok(variables
        .map(|(name, path)| (name.to_owned(), path.to_owned()))
        .collect())
}
