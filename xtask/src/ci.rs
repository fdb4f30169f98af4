//! `cargo xtask ci`: everything that a change must pass, quick checks first.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use xtask_page::page::CRATES;

use crate::fresh;
use crate::process::{cargo, output, run as run_command, target_dir};
use crate::test::{self, ALL_PARTS};
use crate::tidy;
use crate::toolchain::{self, Toolchain};

/// Runs all checks until one fails.
pub(crate) fn run() -> Result<()> {
    let checks = [
        ("tidy", tidy::run as fn() -> Result<()>),
        ("format", format),
        ("lints", lints),
        ("lints for wasm32", wasm_lints),
        ("documentation", documentation),
        ("the command line for other systems", other_systems),
        ("fuzz targets", fuzz_targets),
        ("tests", all_tests),
        ("first picture in a fresh clone", fresh::check),
    ];
    let mut times = Vec::new();
    for (name, check) in checks {
        println!("\n== {name}");
        let start = Instant::now();
        check().with_context(|| format!("the check \"{name}\" failed"))?;
        times.push(format!("{name} {} s", start.elapsed().as_secs()));
    }
    println!("\nall checks passed: {}", times.join(", "));
    Ok(())
}

fn all_tests() -> Result<()> {
    test::run(&test::Options {
        all: true,
        no_browser: false,
    })
}

fn format() -> Result<()> {
    run_command(cargo().args(["fmt", "--all", "--check"]))
}

fn lints() -> Result<()> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets"]);
    run_command(clippy.args(ALL_PARTS).args(["--", "-Dwarnings"]))
}

/// Debian's toolchain has no clippy for wasm32. There the compiler's own warnings must do; the native run above lints
/// everything except wasm32-only code.
fn wasm_lints() -> Result<()> {
    let toolchain = toolchain::find()?;
    let packages = CRATES.iter().flat_map(|name| ["--package", *name]);
    match toolchain {
        Toolchain::Active => {
            let mut clippy = toolchain.cargo("clippy");
            clippy.args(packages).args(["--lib", "--", "-Dwarnings"]);
            run_command(&mut clippy)
        }
        Toolchain::Debian => {
            println!("no clippy for wasm32 in this toolchain: checking the compiler's warnings");
            let mut check = toolchain.cargo("check");
            let flags = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";
            check.env(flags, "-Dwarnings").args(packages);
            run_command(check.arg("--lib"))
        }
    }
}

fn documentation() -> Result<()> {
    let mut doc = cargo();
    doc.env("RUSTDOCFLAGS", "-Dwarnings");
    doc.args(["doc", "--workspace", "--no-deps"]);
    run_command(doc.args(ALL_PARTS))
}

/// Checks that what only reads compiles for Windows and macOS. Nothing is linked, so that their C compilers are not needed.
fn other_systems() -> Result<()> {
    for target in ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"] {
        if output(Command::new("rustup").args(["target", "add", target])).is_none() {
            println!("not checked for {target}: rustup has no standard library for it here");
            continue;
        }
        let name = target.replace('-', "_");
        let tools = ["CC", "AR"].map(|tool| (format!("{tool}_{name}"), "true"));
        let mut check = cargo();
        check.args(["check", "--target", target]).envs(tools);
        check.args(["-p", "vramscope-cli", "-p", "vramscope-python"]);
        run_command(check.env("RUSTFLAGS", "-Dwarnings"))?;
    }
    Ok(())
}

/// Builds the fuzz targets as fuzzers, but without coverage, which only makes fuzzing fast. Uses its own target
/// directory and an explicit target, so that the flag affects nothing else.
fn fuzz_targets() -> Result<()> {
    let mut build = cargo();
    build.env("RUSTFLAGS", "--cfg fuzzing");
    build.args(["build", "--package", "vramscope-fuzz", "--bins"]);
    build.args(["--target", "host-tuple"]);
    run_command(build.arg("--target-dir").arg(target_dir().join("fuzz")))
}
