//! `cargo xtask bench capture`: the cost of capturing, with the stand-in driver.
//!
//! Builds the capture, the injected library, the stand-in driver, and a program that only allocates and frees,
//! all optimised. `bench` in `tests/capture` does the measuring.

use anyhow::Result;

use crate::capture::{build_client, build_driver};
use crate::process::{cargo, run, target_dir};
use crate::program;

/// Builds, measures, and prints the figures.
pub(crate) fn measure() -> Result<()> {
    let capture = program::build_capture()?;
    // With the profile of the library inside the program.
    let inject = ["--profile", "injected", "--package", "vramscope-inject"];
    run(cargo().arg("build").args(inject))?;
    let driver = build_driver()?;
    let client = build_client("bench", &driver)?;
    let mut bench = cargo();
    bench.args(["run", "--release", "--quiet"]);
    bench.args(["--package", "vramscope-capture-tests"]);
    bench.args(["--bin", "capture-cost", "--"]).arg(client);
    bench.arg(target_dir().join("injected/libvramscope_inject.so"));
    run(bench.arg(capture).arg(driver))
}
