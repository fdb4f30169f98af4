//! The npm package: packed, and installed in sites for its tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::{VERSION, stage, with_tools};
use crate::installed;
use crate::process::{find_program, root, run, run_quiet, target_dir};

/// Names the folder of built sites that have the package installed.
pub(crate) const SITES: &str = "VRAMSCOPE_SITES";

/// Packs the package with this page inside, and returns the path of the `.tgz`.
pub(crate) fn pack(page: &Path) -> Result<PathBuf> {
    let folder = target_dir().join("npm");
    let staged = folder.join("package");
    stage("npm", page, &staged)?;
    let mut pack = npm(&staged)?;
    pack.args(["pack", "--silent", "--pack-destination"]);
    run(pack.arg(&folder).stdout(Stdio::null()))?;
    Ok(folder.join(format!("vramscope-{VERSION}.tgz")))
}

/// Installs the package in the sites of `tests/npm`, checks their types and builds them. `None` without npm or without a
/// network.
pub(crate) fn sites(page: &Path) -> Result<Option<PathBuf>> {
    let folder = target_dir().join("npm/sites");
    let source = root().join("tests/npm");
    let tools = with_tools(&source, &folder, "Vite and TypeScript");
    if installed::or_skip(tools, "the npm package").is_none() {
        return Ok(None);
    }
    let mut install = npm(&folder)?;
    install.args(["install", "--no-save", "--offline"]);
    install.args(["--ignore-scripts", "--silent"]);
    run(install.arg(pack(page)?))?;
    run_quiet(npm(&folder)?.args(["run", "--silent", "sites"]))?;
    Ok(Some(folder))
}

fn npm(folder: &Path) -> Result<Command> {
    let mut command = Command::new(find_program(&["npm"]).context("no npm here")?);
    command.current_dir(folder).stdin(Stdio::null());
    Ok(command)
}
