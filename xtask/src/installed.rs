//! Packages from PyPI, npm and crates.io that tests and builds need, with the versions from lists in the repository.
//! They are installed once into the target directory; nothing is installed globally.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Error, Result, ensure};

use crate::process::{cargo, executable, find_program, in_root, output, run, target_dir};

/// Runs `install`, unless it has succeeded for `folder` since the list last changed. `tools` names what it installs.
pub(crate) fn once(
    folder: &Path,
    list: &Path,
    tools: &str,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let name = list.file_name().unwrap_or_default().to_string_lossy();
    let mark = folder.join(format!("installed-{name}"));
    let wanted = fs::read(list).with_context(|| format!("cannot read {}", list.display()))?;
    if fs::read(&mark).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    println!("installing {tools} into {}", folder.display());
    fs::create_dir_all(folder)?;
    install()?;
    Ok(fs::write(mark, wanted)?)
}

/// Installs the Python packages of a list into a virtual environment in `folder`. `options` are further options of pip.
/// If that fails, nothing is left.
pub(crate) fn python(folder: &Path, list: &Path, tools: &str, options: &[&str]) -> Result<()> {
    once(folder, list, tools, || {
        let installed = environment(folder).and_then(|()| {
            let mut pip = program(folder, "python")?;
            pip.args(["-m", "pip", "install", "--quiet"]).args(options);
            run(pip.arg("--requirement").arg(list))
        });
        // Tests would fail in an incomplete environment, instead of being skipped.
        installed.inspect_err(|_| drop(fs::remove_dir_all(folder)))
    })
}

/// Fails in a Node that is too old for the tools.
const OLDEST_NODE: &str = "const [a, b] = process.versions.node.split('.'); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)";

/// Installs the packages of a `package.json` into a folder. If that fails, nothing is left.
pub(crate) fn npm(folder: &Path, list: &Path, tools: &str) -> Result<()> {
    let npm = find_program(&["npm"]).context("no npm here")?;
    let node = find_program(&["node"]).context("no node here")?;
    let is_new = output(Command::new(node).args(["-e", OLDEST_NODE])).is_some();
    ensure!(is_new, "this Node is older than 20.19");
    once(folder, list, tools, || {
        fs::copy(list, folder.join("package.json"))?;
        let mut install = Command::new(npm);
        install.args(["install", "--no-audit", "--no-fund"]);
        install.args(["--ignore-scripts", "--silent"]);
        run(install.current_dir(folder).stdin(Stdio::null()))
            .inspect_err(|_| drop(fs::remove_dir_all(folder.join("node_modules"))))
    })
}

/// Builds a program from crates.io, once per version, and returns its path.
pub(crate) fn built(name: &str, version: &str) -> Result<PathBuf> {
    let folder = target_dir().join(format!("tools/{name}-{version}"));
    let program = folder.join("bin").join(executable(name));
    if !program.is_file() {
        println!("building {name} {version} into {}", folder.display());
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", name]);
        run(install.args(["--version", version, "--root"]).arg(&folder))?;
    }
    Ok(program)
}

/// The installed tools. If there are none, prints why, and that the tests of `skipped` are skipped.
pub(crate) fn or_skip<T>(result: Result<T>, skipped: &str) -> Option<T> {
    let told = |why: &Error| println!("{why:#}; tests of {skipped} are skipped");
    result.inspect_err(told).ok()
}

/// Makes a virtual environment in a folder.
pub(crate) fn environment(folder: &Path) -> Result<()> {
    let python = find_program(&["python3", "python"]).context("no Python here")?;
    let is_new = output(Command::new(&python).args(["-c", OLDEST])).is_some();
    ensure!(is_new, "this Python is older than 3.9, or does not run");
    run(Command::new(python).args(["-m", "venv"]).arg(folder))
}

/// Fails in a Python that is too old.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 9))";

/// A program of an environment, with the others there on its search path.
pub(crate) fn program(environment: &Path, name: &str) -> Result<Command> {
    let folder = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let mut command = in_root(Command::new(folder.join(executable(name))));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(folder).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(folders)?);
    Ok(command)
}
