//! `cargo xtask bench capture`: what capturing costs, on the stand-in driver.
//!
//! Builds the capture's program, the injected library, the driver and a program that does nothing but allocate and free,
//! all optimised; the measuring is `bench` in `tests/capture`.

use std::fs;

use anyhow::Result;

use crate::process::{cargo, root, run, target_dir};
use crate::program;

/// Builds, measures, prints.
///
/// # Errors
///
/// When a build or a measurement fails.
pub(crate) fn measure() -> Result<()> {
    program::build_capture()?;
    let packages = ["fakecuda", "vramscope-capture-tests"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run(cargo().args(["build", "--release"]).args(packages))?;
    // As the program carries it.
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
            "bench",
            "--",
        ])
        .arg(clients.join("release/bench"))
        .arg(target_dir().join("injected/libvramscope_inject.so"))
        .arg(release.join("vramscope-capture"))
        .arg(&cuda);
    run(&mut bench)
}
