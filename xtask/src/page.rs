//! The page that a command packs or shows.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
pub(crate) use xtask_page::page::{
    FAST, FULL, INDEX, Profile, build, compiled, copy_folder, remove_mini, replace_folder,
    write_offline,
};

#[derive(Args)]
pub(crate) struct Given {
    /// Use this page, which is already built
    #[arg(long, value_name = "FOLDER")]
    pub(crate) page: Option<PathBuf>,
}

impl Given {
    /// The page's folder. If none is given, builds the one for hosts.
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

#[cfg(test)]
mod tests {
    use crate::process::{cargo, output};
    use crate::toolchain::WASM;

    #[test]
    fn the_page_is_built_anew_when_any_of_its_crates_changes() {
        let mut tree = cargo();
        tree.args(["tree", "--locked", "--target", WASM]);
        for name in xtask_page::page::PROGRAM_CRATES {
            tree.args(["--package", name]);
        }
        tree.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
        let told = output(&mut tree).unwrap();
        let names = told.lines().filter_map(|line| line.split(' ').next());
        let mut crates: Vec<_> = names.filter(|name| name.starts_with("vramscope")).collect();
        crates.sort_unstable();
        crates.dedup();
        assert_eq!(crates, xtask_page::page::CRATES);
    }
}
