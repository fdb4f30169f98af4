//! `cargo xtask gpu-kit`: builds what `tests/gpu/run.sh` needs on a machine with a GPU and without a compiler.

use std::fs;

use anyhow::Result;

use crate::page::replace_folder;
use crate::process::{cargo, root, run, target_dir};
use crate::program;

/// Programs of `tests/capture/clients` in the kit. Each is built alone, so that cargo does not merge their
/// features.
const CLIENTS: [&str; 5] = ["scenes", "loading", "linking", "eager", "bench"];

/// Builds everything optimised, and copies it into one folder. `with_burn`: also the program that uses burn,
/// which takes minutes.
///
/// # Errors
///
/// If a build fails or a file cannot be written.
pub(crate) fn make(with_burn: bool) -> Result<()> {
    let capture = program::build_capture()?;
    run(cargo().args(["build", "--release", "--package", "fakecuda"]))?;
    let release = target_dir().join("release");
    let stubs = target_dir().join("capture-bench/cuda");
    fs::create_dir_all(&stubs)?;
    fs::copy(release.join("libcuda.so"), stubs.join("libcuda.so"))?;
    let kit = target_dir().join("gpu-kit");
    replace_folder(&kit)?;
    fs::copy(capture, kit.join("vramscope-capture"))?;
    let target = target_dir().join("capture-bench/clients");
    let clients = CLIENTS.iter().map(|&name| ("tests/capture/clients", name));
    let burn = with_burn.then_some(("tests/capture/clients-burn", "burn-client"));
    for (folder, package) in clients.chain(burn) {
        let mut build = cargo();
        build
            .args(["build", "--release", "--locked", "--package", package])
            .current_dir(root().join(folder))
            .env("CARGO_TARGET_DIR", &target)
            .env("VRAMSCOPE_STUBS", &stubs);
        run(&mut build)?;
        let name = package.trim_end_matches("-client");
        fs::copy(target.join("release").join(package), kit.join(name))?;
    }
    println!("{}", kit.display());
    Ok(())
}
