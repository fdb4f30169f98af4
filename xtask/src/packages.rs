//! Packages that carry the built page to others: for npm (`cargo xtask npm`) and for VS Code (`cargo xtask vscode`).
//!
//! What they consist of lies in `packages/`; here the page, the licences and the version are added.

pub(crate) mod npm;
pub(crate) mod vscode;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::page::{self, Profile, copy_folder, replace_folder};
use crate::process::root;

/// The workspace's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Options of both commands.
#[derive(Args)]
pub(crate) struct Options {
    /// Put this page inside, which is built already
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
}

impl Options {
    /// The folder with the page, which is built if none is named.
    ///
    /// # Errors
    ///
    /// If the build fails.
    pub(crate) fn page(&self) -> Result<PathBuf> {
        match &self.page {
            Some(page) => Ok(std::path::absolute(page)?),
            None => page::build(Profile::Full),
        }
    }
}

/// Puts together all files of the package `name` in the folder `out`. Returns its manifest.
fn stage(name: &str, page: &Path, out: &Path) -> Result<Value> {
    replace_folder(out)?;
    copy_folder(&root().join("packages").join(name), out)?;
    copy_folder(page, &out.join("site"))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root().join(licence), out.join(licence))?;
    }
    let path = out.join("package.json");
    let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&path)?)
        .with_context(|| format!("cannot read {}", path.display()))?;
    manifest["version"] = VERSION.into();
    fs::write(&path, format!("{manifest:#}\n"))?;
    Ok(manifest)
}
