//! `cargo xtask bench capture`: the cost of capturing, with the stand-in driver.
//!
//! Builds the capture, the injected library, the stand-in driver, and a program that only allocates and frees,
//! all optimised. `bench` in `tests/capture` does the measuring.

use anyhow::Result;

use crate::capture::{build_client, build_driver};
use crate::process::{cargo, run};
use crate::program;

/// Builds, measures, and prints the figures.
pub(crate) fn measure() -> Result<()> {
    let capture = program::build_capture()?;
    let library = program::build_injected()?;
    let driver = build_driver()?;
    let client = build_client("bench", &driver)?;
    let mut bench = cargo();
    bench.args(["run", "--release", "--quiet"]);
    bench.args(["--package", "vramscope-capture-tests"]);
    bench.args(["--bin", "capture-cost", "--"]).arg(client);
    run(bench.arg(library).arg(capture).arg(driver))
}
