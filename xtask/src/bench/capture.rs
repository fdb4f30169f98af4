//! `cargo xtask bench capture`: the cost of capturing, with the stand-in driver.
//!
//! Builds the capture, the injected library, the stand-in driver, and a program that only allocates and frees,
//! all optimised. `bench` in `tests/capture` does the measuring.

use std::fs;

use anyhow::Result;

use crate::process::{cargo, root, run, target_dir};
use crate::program;

/// Builds, measures, and prints the figures.
///
/// # Errors
///
/// If a build or a measurement fails.
pub(crate) fn measure() -> Result<()> {
    program::build_capture()?;
    let packages = ["fakecuda", "vramscope-capture-tests"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run(cargo().args(["build", "--release"]).args(packages))?;
    // With the profile of the library inside the program.
    let inject = [
        "build",
        "--profile",
        "injected",
        "--package",
        "vramscope-inject",
    ];
    run(cargo().args(inject))?;
    let release = target_dir().join("release");
    let cuda = target_dir().join("capture-bench/cuda");
    fs::create_dir_all(&cuda)?;
    for name in ["libcuda.so.1", "libcuda.so"] {
        fs::copy(release.join("libcuda.so"), cuda.join(name))?;
    }
    let clients = target_dir().join("capture-bench/clients");
    let mut client = cargo();
    client
        .args(["build", "--release", "--locked", "--package", "bench"])
        .current_dir(root().join("tests/capture/clients"))
        .env("CARGO_TARGET_DIR", &clients)
        .env("VRAMSCOPE_STUBS", &cuda);
    run(&mut client)?;
    let mut bench = cargo();
    bench
        .args([
            "run",
            "--release",
            "--quiet",
            "--package",
            "vramscope-capture-tests",
            "--bin",
            "capture-cost",
            "--",
        ])
        .arg(clients.join("release/bench"))
        .arg(target_dir().join("injected/libvramscope_inject.so"))
        .arg(release.join("vramscope-capture"))
        .arg(&cuda);
    run(&mut bench)
}
