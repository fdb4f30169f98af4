//! `cargo xtask python`: the Python package as a wheel, and its tests in fresh environments.
//!
//! The builder of wheels and the checkers come from PyPI into the target directory, with the versions in
//! `tests/python`. Without Python or the network, `cargo xtask test` prints that and continues; the command itself
//! fails.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::dist::{self, TARGET};
use crate::fingerprint::files_under;
use crate::installed::{self, environment};
use crate::page::{self, Given, copy_folder, replace_folder};
use crate::process::{cargo, root, run as run_command, run_for_output, target_dir};
use crate::program;

/// A C compiler that can link against the C library of old systems, and for other processors.
pub(crate) const ZIG: &str = "ziglang==0.17.1";

/// Makes cargo link with it.
const ZIGBUILD: &str = "cargo-zigbuild==0.24.1";

#[derive(Args)]
pub(crate) struct Options {
    /// Build the wheel for users, optimised, and test nothing
    #[arg(long)]
    release: bool,
    /// With --release: for this target, e.g. aarch64-unknown-linux-gnu, whose standard library must be installed
    #[arg(long, requires = "release", default_value = TARGET)]
    target: String,
    #[command(flatten)]
    page: Given,
    /// Build the page less optimised
    #[arg(long, conflicts_with = "page")]
    fast: bool,
}

/// Builds the package, and tests it or prints where it is.
pub(crate) fn run(options: &Options) -> Result<()> {
    let page = match options.fast {
        true => page::build(page::FAST)?,
        false => options.page.folder()?,
    };
    if options.release {
        println!("{}", dist::wheel(&page, &options.target)?.display());
        return Ok(());
    }
    let wheel = wheel_with(&page)?;
    test_with(&tools()?, &wheel, &program::build(Some(&page), "dev")?)
}

/// Builds the package with this page inside, and returns the path of its wheel.
pub(crate) fn wheel_with(page: &Path) -> Result<PathBuf> {
    let mut module = cargo();
    module.args(["build", "--package", "vramscope-python"]);
    run_command(module.env("VRAMSCOPE_PAGE", page))?;
    wheel(&tools()?)
}

/// The environment with the tools that build for other systems, also from PyPI.
pub(crate) fn builders() -> Result<PathBuf> {
    let tools = tools()?;
    let mut pip = installed::program(&tools, "python")?;
    run_command(pip.args(["-m", "pip", "install", "--quiet", ZIG, ZIGBUILD]))?;
    Ok(tools)
}

/// Tests the package as a part of all tests, whose build includes its module and the command line, `program`. Without
/// Python or a network it only prints that.
pub(crate) fn test(program: &Path) -> Result<()> {
    match installed::or_skip(tools(), "the Python package") {
        Some(tools) => test_with(&tools, &wheel(&tools)?, program),
        None => Ok(()),
    }
}

fn test_with(tools: &Path, wheel: &Path, program: &Path) -> Result<()> {
    in_bare_environment(wheel)?;
    install(tools, wheel)?;
    let mut pytest = installed::program(tools, "python")?;
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    pytest.current_dir(root().join("tests/python"));
    pytest.env("MYPY_CACHE_DIR", target_dir().join("python/mypy"));
    run_command(pytest.env("VRAMSCOPE_BIN", program))
}

/// The package alone, in an empty environment: it needs no other package.
fn in_bare_environment(wheel: &Path) -> Result<()> {
    let bare = target_dir().join("python/bare");
    replace_folder(&bare)?;
    environment(&bare)?;
    install(&bare, wheel)?;
    let script = root().join("tests/python/bare.py");
    run_command(installed::program(&bare, "python")?.arg(script))
}

/// Installs the package into an environment, replacing an older one. It needs no other package.
pub(crate) fn install(environment: &Path, wheel: &Path) -> Result<()> {
    let mut pip = installed::program(environment, "python")?;
    pip.args(["-m", "pip", "install", "--quiet", "--no-index"]);
    run_command(pip.arg("--force-reinstall").arg(wheel))
}

/// Puts the built module into a wheel for the tests, and returns its path. maturin would build the module again, with
/// other features than all packages have together.
fn wheel(tools: &Path) -> Result<PathBuf> {
    let out = target_dir().join("python/wheels-dev");
    replace_folder(&out)?;
    let inside = target_dir().join("python/wheel");
    replace_folder(&inside)?;
    let package = root().join("crates/vramscope-python");
    copy_folder(&package.join("python"), &inside)?;
    let built = format!("{DLL_PREFIX}_vramscope{DLL_SUFFIX}");
    let ending = if cfg!(windows) { "pyd" } else { "abi3.so" };
    let module = inside.join(format!("vramscope/_vramscope.{ending}"));
    fs::copy(target_dir().join("debug").join(built), module)
        .context("the Python module is not built")?;
    let mut maturin = installed::program(tools, "maturin")?;
    maturin.args(["pep517", "write-dist-info", "--metadata-directory"]);
    maturin.arg(&inside).arg("--manifest-path");
    maturin.arg(package.join("Cargo.toml"));
    run_for_output(&mut maturin)?;
    let mut pack = installed::program(tools, "python")?;
    pack.args(["-m", "wheel", "pack"]).arg(&inside);
    run_command(pack.arg("--dest-dir").arg(&out))?;
    wheel_in(&out)
}

/// The only wheel in a folder.
pub(crate) fn wheel_in(folder: &Path) -> Result<PathBuf> {
    files_under(folder)?.pop().context("maturin wrote no wheel")
}

/// The environment with the tools, installed if they are missing.
pub(crate) fn tools() -> Result<PathBuf> {
    let folder = target_dir().join("python/tools");
    let list = root().join("tests/python/requirements.txt");
    let tools = "maturin, pytest, mypy, pyright, pyarrow, pandas, polars, DuckDB, Sphinx, MkDocs and anywidget";
    installed::python(&folder, &list, tools, &[])?;
    Ok(folder)
}
