//! The extension of VS Code: packed by vsce, as all extensions are, and tested in a VS Code for browsers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::{VERSION, stage, with_tools};
use crate::installed;
use crate::page::remove_mini;
use crate::process::{find_program, root, run, target_dir};

/// Packs the extension with this page inside, and returns the path of the `.vsix`.
pub(crate) fn pack(page: &Path) -> Result<PathBuf> {
    let folder = target_dir().join("vscode");
    let list = root().join("packages/vscode/package.json");
    installed::npm(&folder, &list, "vsce (130 MB)")?;
    let staged = folder.join("extension");
    stage("vscode", page, &staged)?;
    remove_mini(&staged.join("site"))?;
    let path = folder.join(format!("vramscope-{VERSION}.vsix"));
    let mut vsce = node()?;
    vsce.arg(folder.join("node_modules/@vscode/vsce/vsce"));
    vsce.args(["package", "--no-dependencies", "--skip-license"]);
    vsce.args(["--allow-missing-repository", "--out"])
        .arg(&path);
    run(vsce.current_dir(&staged).stdout(Stdio::null()))?;
    Ok(path)
}

fn node() -> Result<Command> {
    let node = find_program(&["node"]).context("no node here")?;
    Ok(Command::new(node))
}

/// Opens a snapshot in a VS Code for browsers that has the extension.
pub(crate) fn test(page: &Path, chromium: &Path) -> Result<()> {
    let folder = target_dir().join("hosts/vscode");
    let source = root().join("tests/hosts/vscode");
    with_tools(&source, &folder, "VS Code for browsers (100 MB)")?;
    pack(page)?;
    let mut node = node()?;
    node.args(["--test", "extension.test.mjs"]);
    node.current_dir(&folder);
    node.env("CHROME", chromium);
    node.env("EXTENSION", target_dir().join("vscode/extension"));
    node.env("FIXTURES", root().join("tests/fixtures"));
    // Like all browser tests, it may meet a busy machine and is tried twice.
    run(&mut node).or_else(|_| run(&mut node))
}
