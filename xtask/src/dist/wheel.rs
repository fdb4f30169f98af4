//! The Python package for users. Its licences and the list of what it is made of are inside, where Python's tools look
//! for them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::installed;
use crate::page::replace_folder;
use crate::process::{in_root, root, run, target_dir};
use crate::python;
use crate::toolchain::WASM;

use super::inside::{Crates, Part};
use super::{licences, portable, sbom};

/// Builds the wheel into a folder of the target directory, and returns its path.
pub(crate) fn build(page: &Path, target: &str) -> Result<PathBuf> {
    let builders = python::builders()?;
    let folder = target_dir().join("python/wheels").join(target);
    replace_folder(&folder)?;
    let package = root().join("crates/vramscope-python");
    let parts = [
        Part("vramscope-python", target, &[]),
        Part("vramscope-app", WASM, &[]),
    ];
    let mut components = Crates::read()?.inside(&parts)?;
    components.extend(portable::linked(&builders)?);
    licences::write(&components, &package.join("THIRD-PARTY.txt"))?;
    let list = target_dir().join("python/vramscope.cdx.json");
    sbom::write(&components, &list)?;
    let mut maturin = in_root(Command::new(installed::programs(&builders).join("maturin")));
    maturin
        .args(["build", "--quiet", "--locked", "--zig", "--target", target])
        .arg("--release")
        .args(["--compatibility", "manylinux2014", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--sbom-include")
        .arg(&list)
        .arg("--out")
        .arg(&folder)
        .env("VRAMSCOPE_PAGE", page)
        .env(
            "PATH",
            installed::before_path(installed::programs(&builders))?,
        );
    run(&mut maturin)?;
    python::wheel_in(&folder)
}
