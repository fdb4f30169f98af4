//! The programs: the command line with the page built into it, and the one that captures.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::process::{cargo, run, target_dir};

/// How long the build may take, and how fast the result shall be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speed {
    /// What the tests run.
    Dev,
    /// What users get.
    Release,
}

/// Builds it and gives its path.
///
/// # Errors
///
/// When the build fails.
pub(crate) fn build(page: &Path, speed: Speed) -> Result<PathBuf> {
    build_with(Some(page), speed)
}

/// The same without the page: all but `view` and `html` work.
///
/// # Errors
///
/// When the build fails.
pub(crate) fn build_without_page(speed: Speed) -> Result<PathBuf> {
    build_with(None, speed)
}

/// Builds the program that captures others, as users get it, and gives its path. It carries its library by itself.
///
/// # Errors
///
/// When the build fails.
pub(crate) fn build_capture() -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-capture", "--release"])
        // One that is inherited would be carried.
        .env_remove("VRAMSCOPE_INJECT");
    run(&mut build)?;
    let name = format!("vramscope-capture{}", std::env::consts::EXE_SUFFIX);
    Ok(target_dir().join("release").join(name))
}

fn build_with(page: Option<&Path>, speed: Speed) -> Result<PathBuf> {
    let mut build = cargo();
    build
        .args(["build", "--package", "vramscope-cli"])
        // One that is inherited would be built in.
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
