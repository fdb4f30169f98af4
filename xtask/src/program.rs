//! Builds the programs: the command line with the page inside, and the capture.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::{cargo, run, target_dir};

/// The build profile of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speed {
    /// For tests.
    Dev,
    /// For users.
    Release,
}

/// Builds the command line with the page inside, and returns its path.
///
/// # Errors
///
/// If the build fails.
pub(crate) fn build(page: &Path, speed: Speed) -> Result<PathBuf> {
    build_with(Some(page), speed)
}

/// Builds the command line without the page: `view` and `html` do not work.
///
/// # Errors
///
/// If the build fails.
pub(crate) fn build_without_page(speed: Speed) -> Result<PathBuf> {
    build_with(None, speed)
}

/// Builds the capture for users, and returns its path. Its library is inside.
///
/// # Errors
///
/// If the build fails.
pub(crate) fn build_capture() -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-capture", "--release"])
        // An inherited variable would replace the library inside.
        .env_remove("VRAMSCOPE_INJECT");
    run(&mut build)?;
    let name = format!("vramscope-capture{}", std::env::consts::EXE_SUFFIX);
    Ok(target_dir().join("release").join(name))
}

fn build_with(page: Option<&Path>, speed: Speed) -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-cli"])
        // An inherited variable would replace the page inside.
        .env_remove("VRAMSCOPE_PAGE")
        .envs(page.map(|page| ("VRAMSCOPE_PAGE", page)));
    let folder = match speed {
        Speed::Dev => "debug",
        Speed::Release => {
            build.arg("--release");
            "release"
        }
    };
    run(&mut build)?;
    let name = format!("vramscope{}", std::env::consts::EXE_SUFFIX);
    Ok(target_dir().join(folder).join(name))
}
