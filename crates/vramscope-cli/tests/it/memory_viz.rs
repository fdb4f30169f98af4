//! Torch's own `_memory_viz.py`, if `cargo xtask consumers` has installed it: it prints the same about our files as
//! about torch's, and `stats --format torch` prints the same as it does.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{fixtures, transcript, vramscope};

/// The output of `_memory_viz.py`; `None` if it cannot read the file. If it is missing, prints that and ends the test.
macro_rules! tool_or_skip {
    () => {{
        let folder = std::env::var_os("VRAMSCOPE_CONSUMERS").map(PathBuf::from);
        let tool = folder.map(|folder| folder.join("_memory_viz.py"));
        match tool.filter(|tool| tool.exists()) {
            Some(tool) => tool,
            None => {
                eprintln!("skipped: no _memory_viz.py; see cargo xtask consumers");
                return;
            }
        }
    }};
}

fn says(tool: &Path, command: &str, file: &Path) -> Option<String> {
    let output = Command::new("python3")
        .arg(tool)
        .arg(command)
        .arg(file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// The pickles of a folder of fixtures.
fn pickles(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "pickle"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn stats_in_torchs_format_is_what_torch_prints() {
    let tool = tool_or_skip!();
    let mut compared = 0;
    for file in pickles("torch-2.15.0").iter().chain(&pickles("synth")) {
        let Some(theirs) = says(&tool, "stats", file) else {
            continue;
        };
        let output = vramscope(&["stats", "--format", "torch", file.to_str().unwrap()]);
        assert!(output.status.success(), "{}", transcript(&output));
        // `print` adds a line break to a text that already ends with one.
        let ours = String::from_utf8(output.stdout).unwrap() + "\n";
        assert_eq!(ours, theirs, "{}", file.display());
        compared += 1;
    }
    assert!(compared > 10, "{compared} files compared");
}

#[test]
fn what_we_write_reads_as_what_torch_wrote() {
    let tool = tool_or_skip!();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.pickle");
    let mut compared = 0;
    for file in pickles("torch-2.15.0")
        .iter()
        .chain(&pickles("torch-2.1.2"))
    {
        let arguments = ["convert", file.to_str().unwrap(), "-o"];
        let target = [copy.to_str().unwrap()];
        let output = vramscope(&[arguments.as_slice(), &target].concat());
        if !output.status.success() {
            continue;
        }
        for command in ["stats", "trace"] {
            let theirs = says(&tool, command, file);
            assert_eq!(says(&tool, command, &copy), theirs, "{}", file.display());
            compared += usize::from(theirs.is_some());
        }
    }
    assert!(compared > 20, "{compared} texts compared");
}
