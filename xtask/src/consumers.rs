//! Installs the Python and npm packages that read converted files in the tests of the command line, with the
//! versions in `tests/consumers`, into the target directory. Nothing is installed globally. Without Python, npm
//! or the network, the tests that need them are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{find_program, root, run, target_dir};

/// Variable with the folder of tools. It contains `python` (a virtual environment), `node_modules` and
/// `_memory_viz.py`.
pub(crate) const VARIABLE: &str = "VRAMSCOPE_CONSUMERS";

/// The folder of tools. Any of them may be missing.
pub(crate) fn folder() -> PathBuf {
    target_dir().join("consumers")
}

/// Installs what is missing into the folder of tools, and returns it.
pub(crate) fn prepare() -> PathBuf {
    let folder = folder();
    let list = root().join("tests/consumers");
    if let Err(error) = fs::create_dir_all(&folder) {
        println!("consumers: cannot make {}: {error}", folder.display());
        return folder;
    }
    python(&folder, &list.join("requirements.txt"));
    prepare_for_browser();
    memory_viz(&folder, &list.join("memory_viz.py"));
    folder
}

/// Installs what takes seconds: the checks of the page's accessibility, and two readers.
pub(crate) fn prepare_for_browser() {
    npm(
        &folder(),
        &root().join("tests/consumers/package.json"),
        "speedscope, pprof-format and axe-core",
        "speedscope, pprof-format and axe",
    );
}

fn python(folder: &Path, requirements: &Path) {
    let environment = folder.join("python");
    let Some(python) = find_program(&["python3", "python"]) else {
        println!(
            "consumers: no Python here; tests of Parquet, CSV, pprof and Perfetto are skipped"
        );
        return;
    };
    if is_done(folder, requirements) {
        return;
    }
    println!(
        "consumers: installing DuckDB, pandas, protobuf and pyarrow into {}",
        environment.display()
    );
    let mut make = Command::new(python);
    let made = run(make.args(["-m", "venv"]).arg(&environment));
    let programs = if cfg!(windows) { "Scripts" } else { "bin" };
    let mut pip = Command::new(environment.join(programs).join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"])
        .arg(requirements);
    match made.and_then(|()| run(&mut pip)) {
        Ok(()) => done(folder, requirements),
        Err(error) => {
            // With an incomplete environment, tests would fail instead of being skipped.
            drop(fs::remove_dir_all(&environment));
            println!("consumers: {error:#}; tests of Parquet, CSV, pprof and Perfetto are skipped");
        }
    }
}

/// Installs the packages of `list`, a `package.json`, into a folder; `tools` names them. Returns whether they are there;
/// if not, it says why, and that the tests of `skipped` are skipped.
pub(crate) fn npm(folder: &Path, list: &Path, tools: &str, skipped: &str) -> bool {
    let (Some(npm), Some(_)) = (find_program(&["npm"]), find_program(&["node"])) else {
        println!("no npm here; tests of {skipped} are skipped");
        return false;
    };
    if is_done(folder, list) {
        return true;
    }
    println!("installing {tools} into {}", folder.display());
    let copied = fs::create_dir_all(folder);
    let copied = copied.and_then(|()| fs::copy(list, folder.join("package.json")));
    let mut install = Command::new(npm);
    install
        .args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--silent",
        ])
        .current_dir(folder)
        .stdin(Stdio::null());
    match copied.map_err(Into::into).and_then(|_| run(&mut install)) {
        Ok(()) => {
            done(folder, list);
            true
        }
        Err(error) => {
            drop(fs::remove_dir_all(folder.join("node_modules")));
            println!("{error:#}; tests of {skipped} are skipped");
            false
        }
    }
}

/// Torch's own reader of snapshots.
fn memory_viz(folder: &Path, script: &Path) {
    let Some(python) = find_program(&["python3", "python"]) else {
        println!("consumers: no Python here; tests with torch's _memory_viz.py are skipped");
        return;
    };
    if is_done(folder, script) {
        return;
    }
    println!(
        "consumers: taking _memory_viz.py out of a torch wheel (80 MB) into {}",
        folder.display()
    );
    match run(Command::new(python).arg(script).arg(folder)) {
        Ok(()) => done(folder, script),
        Err(error) => {
            println!("consumers: {error:#}; tests with torch's _memory_viz.py are skipped");
        }
    }
}

/// Whether exactly the packages in a list are installed already.
fn is_done(folder: &Path, list: &Path) -> bool {
    let (Some(mark), Ok(wanted)) = (mark(folder, list), fs::read(list)) else {
        return false;
    };
    fs::read(mark).is_ok_and(|known| known == wanted)
}

fn done(folder: &Path, list: &Path) {
    if let Some(mark) = mark(folder, list) {
        drop(fs::copy(list, mark));
    }
}

fn mark(folder: &Path, list: &Path) -> Option<PathBuf> {
    let name = list.file_name()?.to_string_lossy();
    Some(folder.join(format!("installed-{name}")))
}
