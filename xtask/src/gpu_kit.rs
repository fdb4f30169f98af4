//! `cargo xtask gpu-kit`: packs into one file everything that `tests/gpu` needs on a machine with a GPU and without
//! Rust. nvcc, PyTorch and other programs must be installed there.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::capture::{build_client, build_driver};
use crate::page::replace_folder;
use crate::process::{in_root, root, run, run_for_output, target_dir};
use crate::program;

/// Programs of `tests/capture/clients` in the kit.
const CLIENTS: [&str; 5] = ["scenes", "loading", "linking", "eager", "bench"];
/// The one built with line tables, for the check of stacks. std alone brings megabytes of them to each.
const WITH_LINES: &str = "loading";
/// Files that the checks read, besides their own folder.
const READ: [&str; 3] = [
    "crates/fakecuda/habits.json",
    "crates/vramscope-inject/src/hooks/table.rs",
    "tests/capture/clients/nvtx/headers.c",
];
/// The kit's path in the repository and in the kit.
const CHECKS: &str = "tests/gpu";
/// Maximum size of the packed kit: transfers to such a machine are limited.
const MAX_BYTES: u64 = 30 << 20;

/// Builds everything optimised, and packs it into `target/gpu-kit.tar.xz`.
pub(crate) fn make() -> Result<()> {
    let kit = target_dir().join("gpu-kit");
    replace_folder(&kit)?;
    let capture = program::build_capture()?;
    fs::copy(capture, kit.join("vramscope-capture"))?;
    let driver = build_driver()?;
    for package in CLIENTS {
        fs::copy(build_client(package, &driver)?, kit.join(package))?;
    }
    for name in CLIENTS.iter().chain(&["vramscope-capture"]) {
        if *name != WITH_LINES {
            run(Command::new("strip")
                .arg("--strip-debug")
                .arg(kit.join(name)))?;
        }
    }
    let mut list = in_root(Command::new("git"));
    let listed = run_for_output(list.args(["ls-files", CHECKS]).args(READ))?;
    let packed = target_dir().join("gpu-kit.tar.xz");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--xz", "--file"]).arg(&packed);
    tar.arg("--directory").arg(&kit).arg(".");
    run(tar.arg("--directory").arg(root()).args(listed.lines()))?;
    let bytes = fs::metadata(&packed)?.len();
    println!("{}: {bytes} bytes of {MAX_BYTES}", packed.display());
    ensure!(bytes <= MAX_BYTES, "the kit is too large to travel");
    Ok(())
}
