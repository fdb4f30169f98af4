//! Packages that carry the built page to others: for npm (`cargo xtask npm`) and for VS Code (`cargo xtask vscode`).
//!
//! Their files are in `packages/`; the page, the licences and the version are added here.

pub(crate) mod npm;
pub(crate) mod vscode;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::dist::copy_licences;
use crate::installed;
use crate::page::{copy_folder, replace_folder};
use crate::process::root;

/// The workspace's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Puts all files of the package `name` into the folder `out`.
fn stage(name: &str, page: &Path, out: &Path) -> Result<()> {
    replace_folder(out)?;
    copy_folder(&root().join("packages").join(name), out)?;
    copy_folder(page, &out.join("site"))?;
    copy_licences(out)?;
    let path = out.join("package.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path)?)
        .with_context(|| format!("cannot read {}", path.display()))?;
    manifest["version"] = VERSION.into();
    Ok(fs::write(&path, format!("{manifest:#}\n"))?)
}

/// Copies a folder of `tests` to `out`, with the npm packages that it lists, which `tools` names.
pub(crate) fn with_tools(source: &Path, out: &Path, tools: &str) -> Result<()> {
    installed::npm(out, &source.join("package.json"), tools)?;
    copy_folder(source, out)
}
