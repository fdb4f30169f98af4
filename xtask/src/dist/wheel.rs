//! The Python package for users. Its licences and the list of its components are inside, where Python's tools look for
//! them.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::installed;
use crate::page::replace_folder;
use crate::process::{root, run, target_dir};
use crate::python;

use super::inside::{Crates, Part};
use super::{PAGE, licences, portable, sbom};

/// Builds the wheel into a folder of the target directory, and returns its path.
pub(crate) fn build(page: &Path, target: &str) -> Result<PathBuf> {
    let builders = python::builders()?;
    let folder = target_dir().join("python/wheels").join(target);
    replace_folder(&folder)?;
    let package = root().join("crates/vramscope-python");
    let module: Part = ("vramscope-python", target, &[]);
    let [app, worker, planner] = PAGE;
    let mut components = Crates::read()?.inside(&[module, app, worker, planner])?;
    components.extend(portable::linked(&builders)?);
    licences::write(&components, &package.join("THIRD-PARTY.txt"))?;
    let list = target_dir().join("python/vramscope.cdx.json");
    sbom::write(&components, &list)?;
    let mut maturin = installed::program(&builders, "maturin")?;
    maturin.args(["build", "--quiet", "--locked", "--zig", "--target", target]);
    maturin.args(["--release", "--compatibility", "manylinux2014"]);
    maturin
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"));
    maturin.arg("--sbom-include").arg(&list);
    maturin.arg("--out").arg(&folder);
    run(maturin.env("VRAMSCOPE_PAGE", page))?;
    python::wheel_in(&folder)
}
