//! `cargo xtask recipes` and `cargo xtask recordings`: dry runs of programs with the real packages of others. The
//! book's recipes must work; programs that strangers recorded on real cards must give the same result as the
//! recordings.
//!
//! The packages come from PyPI into the target directory, with the versions in `tests/recipes` and `tests/dryrun`.
//! Without Python, the network or a system that the stand-in supports, `cargo xtask test --all` prints that and
//! continues.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::installed;
use crate::process::{built, cargo, root, run as run_command, target_dir};

/// Programs in a folder of tests, which its `run.py` runs.
pub(crate) struct Programs {
    /// The name for messages, and the folder of their environments in the target directory.
    name: &'static str,
    /// Their folder of `tests`.
    folder: &'static str,
    /// Whether this system has the stand-in runtime and a torch with CUDA.
    can_run: bool,
    /// The part between `requirements` and `.txt` in the names of lists there. Each has an environment, and the first
    /// one's Python runs `run.py`.
    lists: &'static [&'static str],
    /// What a list installs, for messages.
    tools: &'static str,
}

/// The book's recipes, with the real frameworks.
pub(crate) const RECIPES: Programs = Programs {
    name: "recipes",
    folder: "recipes",
    can_run: cfg!(all(target_os = "linux", target_env = "gnu")),
    lists: &[""],
    tools: "torch without CUDA's libraries, transformers, TRL, DeepSpeed, Ray and others (3 GB)",
};

/// Programs that strangers recorded, with the torch of each recording.
pub(crate) const RECORDINGS: Programs = Programs {
    name: "recordings",
    folder: "dryrun",
    can_run: RECIPES.can_run && cfg!(target_arch = "x86_64"),
    lists: &["-2.6.0", "-2.8.0", "-2.11.0"],
    tools: "torch of a recording, without CUDA's libraries (2 GB)",
};

#[derive(Args)]
pub(crate) struct Options {
    /// Only these programs
    names: Vec<String>,
}

impl Programs {
    /// Builds the command line and runs the programs.
    pub(crate) fn run(&self, options: &Options) -> Result<()> {
        run_command(cargo().args(["build", "--package", "vramscope-cli"]))?;
        self.run_with(self.python()?, &built("vramscope"), &options.names)
    }

    /// Runs all programs with a built command line. Without Python or a network it only prints that.
    pub(crate) fn test(&self, program: &Path) -> Result<()> {
        let name = self.name;
        if !self.can_run {
            println!("{name}: nothing stands in for CUDA here; the tests of {name} are skipped");
            return Ok(());
        }
        match installed::or_skip(self.python(), name) {
            Some(python) => self.run_with(python, program, &[]),
            None => Ok(()),
        }
    }

    fn run_with(&self, mut python: Command, program: &Path, names: &[String]) -> Result<()> {
        python.arg(self.file("run.py")).arg(program);
        run_command(python.args(names))
    }

    /// Installs the packages. Returns the Python of the first environment.
    fn python(&self) -> Result<Command> {
        let mut first = None;
        for version in self.lists {
            let folder = target_dir().join(self.name);
            let folder = folder.join(version.trim_start_matches('-'));
            let list = self.file(&format!("requirements{version}.txt"));
            installed::python(&folder, &list, self.tools, &["--no-deps"])?;
            first.get_or_insert(folder);
        }
        installed::program(&first.context("no list of packages")?, "python")
    }

    /// A file in the programs' folder.
    fn file(&self, name: &str) -> PathBuf {
        root().join("tests").join(self.folder).join(name)
    }
}
