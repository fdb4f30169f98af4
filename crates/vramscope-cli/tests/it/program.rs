//! Runs the built program.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The repository's `tests/fixtures`.
pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// Every snapshot among the fixtures, and the real ones if there are any.
pub(crate) fn all_snapshots() -> Vec<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("VRAMSCOPE_SHARED").map_or(beside, PathBuf::from);
    let entries = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path())
    };
    let folders = entries(fixtures()).filter(|folder| !folder.ends_with("refused"));
    let files = folders.chain([shared.join("real")]).flat_map(entries);
    let is_pickle = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "pickle");
    files.filter(is_pickle).collect()
}

/// Runs `vramscope` in the fixtures' folder, so that their names print the same everywhere.
pub(crate) fn vramscope(arguments: &[&str]) -> Output {
    command(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The same with text on standard input.
pub(crate) fn vramscope_reading(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its input may stop reading before the end.
    drop(child.stdin.take().unwrap().write_all(input));
    child.wait_with_output().unwrap()
}

pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vramscope"));
    command.args(arguments).current_dir(fixtures());
    // The machine's settings must not change the output.
    for variable in [
        "SSH_CONNECTION",
        "COLUMNS",
        "CLICOLOR_FORCE",
        "RANK",
        "WORLD_SIZE",
        "SLURM_PROCID",
        "SLURM_STEP_NUM_TASKS",
    ] {
        command.env_remove(variable);
    }
    command
}

/// All output of a run, readable in a snapshot.
pub(crate) fn transcript(output: &Output) -> String {
    let code = output.status.code().unwrap();
    let version = concat!("\"vramscope\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stdout = stdout.replace(version, "\"vramscope\": \"VERSION\"");
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    let here = fixtures().canonicalize().unwrap();
    let stderr = stderr.replace(here.to_str().unwrap(), "/HERE");
    format!("exit code {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}
