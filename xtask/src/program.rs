//! Builds the programs: the command line with the page inside, and the capture.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::{built_in, cargo, run, target_dir};

/// Builds the command line in a profile, with a page inside if one is given: `view` and `html` do not work without one.
/// Returns its path.
pub(crate) fn build(page: Option<&Path>, profile: &str) -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-cli", "--profile", profile])
        // An inherited variable would replace the page inside.
        .env_remove("VRAMSCOPE_PAGE")
        .envs(page.map(|page| ("VRAMSCOPE_PAGE", page)));
    run(&mut build)?;
    Ok(built_in(profile, "vramscope"))
}

/// Builds the library that capturing loads into programs, in the same form as inside the capture, and returns its path.
pub(crate) fn build_injected() -> Result<PathBuf> {
    let inject = ["--profile", "injected", "--package", "vramscope-inject"];
    run(cargo().arg("build").args(inject))?;
    Ok(target_dir().join("injected/libvramscope_inject.so"))
}

/// Builds the capture for users, and returns its path. Its library is inside.
pub(crate) fn build_capture() -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-capture", "--release"])
        // An inherited variable would replace the library inside.
        .env_remove("VRAMSCOPE_INJECT");
    run(&mut build)?;
    Ok(built_in("release", "vramscope-capture"))
}
