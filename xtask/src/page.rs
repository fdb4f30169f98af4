//! The page as hosts get it: optimised as a whole, and cut into parts. That takes minutes.

mod doors;
mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use xtask_page::fingerprint::files_under;
use xtask_page::page::write_app;
pub(crate) use xtask_page::page::{
    FAST, INDEX, MINI, MINI_APP, Profile, VIEWER, build, compiled, copy_folder, replace_folder,
};

/// For hosts.
pub(crate) const FULL: Profile = Profile {
    name: "wasm",
    time: "as hosts get it, some five minutes on two cores",
    folder: "page",
    // Which function refers to which: without that the module cannot be split.
    arguments: &["--features", "parts", "--", "-Clink-arg=--emit-relocs"],
    write: write_in_parts,
};

/// The first module: all others are parts of it.
pub(crate) const FIRST: &str = "vramscope_app_bg.wasm";

/// The part that is all of the page but the first picture, and the one that only `mini.html` takes.
const WHOLE: &str = "whole";
const FIRST_PICTURE: &str = "mini";

/// The page that a command packs or shows.
#[derive(Args)]
pub(crate) struct Given {
    /// Take this page, which is built already
    #[arg(long, value_name = "FOLDER")]
    pub(crate) page: Option<PathBuf>,
}

impl Given {
    /// Its folder. That of hosts is built if none is named.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        match &self.page {
            Some(page) => Ok(std::path::absolute(page)?),
            None => build(FULL),
        }
    }
}

/// The profile for the flag `--fast`.
pub(crate) fn profile(is_fast: bool) -> Profile {
    if is_fast { FAST } else { FULL }
}

/// Writes the scripts and modules of both pages. Each has one part in its first module: for the index 29 files of 803 KiB
/// of brotli would be what one of 672 is, and it has no use for the other part.
fn write_in_parts(app: &Path, mini: &Path, module: &Path) -> Result<()> {
    let open = fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
    let first = module.with_extension("first.wasm");
    for (folder, part) in [(app, WHOLE), (mini, FIRST_PICTURE)] {
        fs::create_dir_all(folder)?;
        let closed = doors::closed(&open, part)?;
        let parts = parts::split(&closed, &first, folder, FIRST_PICTURE)?;
        write_app(folder, &first)?;
        parts::tell(&parts, &folder.join("page.js"))?;
    }
    Ok(())
}

/// Removes what an embedded viewer's first picture takes from a copy of the page, where nobody embeds viewers.
pub(crate) fn remove_mini(page: &Path) -> Result<()> {
    for file in files_under(page)? {
        if file
            .strip_prefix(page)?
            .to_string_lossy()
            .starts_with(MINI_APP)
        {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::process::{cargo, output};
    use crate::toolchain::WASM;

    #[test]
    fn the_page_is_built_anew_when_any_of_its_crates_changes() {
        let mut tree = cargo();
        tree.args(["tree", "--locked", "--package", "vramscope-app"]);
        tree.args(["--target", WASM, "--edges", "normal"]);
        let told = output(tree.args(["--prefix", "none", "--format", "{p}"])).unwrap();
        let names = told.lines().filter_map(|line| line.split(' ').next());
        let mut crates: Vec<_> = names.filter(|name| name.starts_with("vramscope")).collect();
        crates.sort_unstable();
        crates.dedup();
        assert_eq!(crates, xtask_page::page::CRATES);
    }
}
