//! Installs the tools that read converted files in the command line's tests, with the versions in `tests/consumers`.
//! Without Python, npm or the network, the tests that need them are skipped.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::installed;
use crate::process::{find_program, root, run, target_dir};

/// Names the folder of tools. It contains `python` (a virtual environment), `node_modules` and `_memory_viz.py`.
pub(crate) const VARIABLE: &str = "VRAMSCOPE_CONSUMERS";

/// The folder of tools. Any of them may be missing.
pub(crate) fn folder() -> PathBuf {
    target_dir().join("consumers")
}

/// Installs missing tools into the folder, and returns it.
pub(crate) fn prepare() -> PathBuf {
    let folder = folder();
    let list = root().join("tests/consumers/requirements.txt");
    let tools = "DuckDB, pandas, protobuf and pyarrow";
    let python = installed::python(&folder.join("python"), &list, tools, &[]);
    installed::or_skip(python, "Parquet, CSV, pprof and Perfetto");
    prepare_for_browser();
    let script = root().join("tests/consumers/memory_viz.py");
    let tools = "_memory_viz.py out of a torch wheel (80 MB)";
    let memory_viz = installed::once(&folder, &script, tools, || {
        let python = find_program(&["python3", "python"]).context("no Python here")?;
        run(Command::new(python).arg(&script).arg(&folder))
    });
    installed::or_skip(memory_viz, "torch's _memory_viz.py");
    folder
}

/// Installs tools that take only seconds: the checks of the page's accessibility, and two readers.
pub(crate) fn prepare_for_browser() {
    let list = root().join("tests/consumers/package.json");
    let tools = "speedscope, pprof-format and axe-core";
    let npm = installed::npm(&folder(), &list, tools);
    installed::or_skip(npm, "speedscope, pprof-format and axe");
}
