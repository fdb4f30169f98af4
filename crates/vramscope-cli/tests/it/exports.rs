//! Conversions for other tools, read back by those tools if `cargo xtask consumers` has installed them, and compared
//! with `vramscope peak --json`. The test of a missing tool is skipped, with a message.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::program::{fixtures, transcript, vramscope};

/// Files with some of everything: annotations, categories, pools, streams, two devices, no times, holes.
const FILES: [&str; 9] = [
    "torch-2.15.0/training.pickle",
    "torch-2.15.0/named_ranges.pickle",
    "torch-2.15.0/oom_observer.pickle",
    "torch-2.15.0/private_pools.pickle",
    "torch-2.10.0/expandable_holes.pickle",
    "torch-2.1.2/streams_pending.pickle",
    "torch-2.0.1/oom_observer.pickle",
    "synth/scenario-expandable.pickle",
    "synth/scenario-multi-device.pickle",
];

/// A program that the tools were installed for, if it exists.
enum Tool {
    Python,
    Node,
}

impl Tool {
    /// Runs a script of `tests/consumers`; its standard output, or `None` without the tool.
    #[expect(
        clippy::print_stderr,
        reason = "whoever reads the tests should know what was left out"
    )]
    fn run(&self, script: &str, arguments: &[&str]) -> Option<String> {
        let Some(folder) = std::env::var_os("VRAMSCOPE_CONSUMERS").map(PathBuf::from) else {
            eprintln!(
                "skipped {script}: VRAMSCOPE_CONSUMERS is not set; see cargo xtask consumers"
            );
            return None;
        };
        let modules = folder.join("node_modules");
        let programs = if cfg!(windows) { "Scripts" } else { "bin" };
        let (program, needed) = match self {
            Self::Python => {
                let python = folder.join("python").join(programs).join("python");
                (python.clone(), python)
            }
            Self::Node => ("node".into(), modules.clone()),
        };
        let known = needed.exists();
        if !known {
            eprintln!("skipped {script}: {} is not there", needed.display());
            return None;
        }
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/consumers");
        let mut command = Command::new(program);
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(scripts.join(script));
        match self {
            Self::Python => command.arg(env!("CARGO_BIN_EXE_vramscope")),
            Self::Node => command.arg(modules),
        };
        let output = command.args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{script} {arguments:?}\n{}",
            transcript(&output)
        );
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// Converts a fixture into a new folder.
fn converted(file: &str, name: &str, options: &[&str]) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name).display().to_string();
    let output = vramscope(&[&["convert", file, "-o", &path], options].concat());
    assert!(output.status.success(), "{}", transcript(&output));
    (folder, path)
}

/// The existing fixtures of [`FILES`], by their whole path.
fn files() -> impl Iterator<Item = (&'static str, String)> {
    FILES.into_iter().map(|file| {
        let path = fixtures().join(file);
        assert!(path.exists(), "{file} is missing");
        (file, path.display().to_string())
    })
}

#[test]
fn parquet_and_csv_are_read_by_duckdb_pyarrow_pandas_and_python() {
    for (file, path) in files() {
        let (_parquet_folder, parquet) = converted(file, "tables", &["--to", "parquet"]);
        let (_csv_folder, csv) = converted(file, "tables", &["--to", "csv"]);
        Tool::Python.run("tables.py", &[&path, &parquet, &csv]);
    }
}

#[test]
fn pprof_is_read_by_protobuf_and_pprof_format() {
    for (file, path) in files() {
        let (_folder, profile) = converted(file, "x.pb.gz", &[]);
        Tool::Python.run("pprof.py", &[&path, &profile]);
        if let Some(sums) = Tool::Node.run("pprof.mjs", &[&profile]) {
            let sums: serde_json::Value = serde_json::from_str(&sums).unwrap();
            assert_eq!(sums["inuse_space"], peak_bytes(file));
        }
    }
}

#[test]
fn speedscope_imports_its_format_and_folded_stacks() {
    for (file, _) in files() {
        for name in ["x.speedscope.json", "x.folded"] {
            let (_folder, path) = converted(file, name, &[]);
            let Some(answer) = Tool::Node.run("speedscope.mjs", &[&path]) else {
                continue;
            };
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            let profiles = answer["profiles"].as_array().unwrap();
            let at_peak = profiles.iter().filter(|profile| {
                let name = profile["name"].as_str().unwrap();
                name.contains("live at the peak") || name.contains("folded")
            });
            let sum: u64 = at_peak
                .map(|profile| profile["total"].as_u64().unwrap())
                .sum();
            assert_eq!(sum, peak_bytes(file), "{file} as {name}");
        }
    }
}

#[test]
fn traces_keep_the_rules_of_their_format() {
    for (file, path) in files() {
        for options in [&[][..], &["--min-size", "64KiB"]] {
            let (_folder, trace) = converted(file, "x.perfetto.json", options);
            Tool::Python.run("perfetto.py", &[&path, &trace]);
        }
    }
}

/// The peaks of all devices, according to `vramscope peak`.
fn peak_bytes(file: &str) -> u64 {
    let output = vramscope(&["peak", file, "--json"]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = answer["parts"].as_array().unwrap();
    parts
        .iter()
        .map(|part| part["peak_bytes"].as_u64().unwrap())
        .sum()
}

#[test]
fn one_table_is_a_file() {
    for (name, options) in [
        ("annotations.csv", &[][..]),
        ("x.csv", &["--table", "annotations"]),
        ("x", &["--table", "annotations", "--to", "csv"]),
    ] {
        let (_folder, path) = converted("torch-2.15.0/named_ranges.pickle", name, options);
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.starts_with("device,source,thread,depth,name,start_time_us,"),
            "{text}"
        );
    }
}

#[test]
fn folded_by_count_at_a_moment() {
    let file = "torch-2.15.0/training.pickle";
    let arguments = ["--to", "folded", "--at", "20", "--weight", "count"];
    let output = vramscope(&[&["convert", file], &arguments[..]].concat());
    assert_snapshot!(transcript(&output));
}

#[test]
fn what_cannot_be_made_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.csv").display().to_string();
    let refused = |arguments: &[&str]| {
        let output = vramscope(arguments);
        transcript(&output).replace(&path, "all.csv")
    };
    let file = "torch-2.15.0/training.pickle";
    let nothing = "torch-2.15.0/empty_python.pickle";
    let said = [
        refused(&["convert", file, "-o", &path]),
        refused(&["convert", file, "--to", "csv"]),
        refused(&["convert", file, "--to", "folded", "--at", "nowhere"]),
        refused(&["convert", nothing, "--to", "speedscope"]),
    ];
    assert_snapshot!(said.join("\n"));
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn every_real_file_becomes_everything() {
    let Some(shared) = std::env::var_os("VRAMSCOPE_SHARED") else {
        eprintln!("skipped: VRAMSCOPE_SHARED is not set");
        return;
    };
    let entries = fs::read_dir(Path::new(&shared).join("real"))
        .into_iter()
        .flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let small = |path: &PathBuf| fs::metadata(path).is_ok_and(|of| of.len() < 4_000_000);
    let is_pickle = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "pickle");
    for path in paths.filter(is_pickle).filter(small) {
        let file = path.to_str().unwrap();
        if peak_bytes(file) == 0 {
            continue;
        }
        let (_parquet_folder, parquet) = converted(file, "tables", &["--to", "parquet"]);
        let (_csv_folder, csv) = converted(file, "tables", &["--to", "csv"]);
        Tool::Python.run("tables.py", &[file, &parquet, &csv]);
        let (_folder, profile) = converted(file, "x.pb.gz", &[]);
        Tool::Python.run("pprof.py", &[file, &profile]);
        let (_folder, trace) = converted(file, "x.perfetto.json", &[]);
        Tool::Python.run("perfetto.py", &[file, &trace]);
        let (_folder, speedscope) = converted(file, "x.speedscope.json", &[]);
        Tool::Node.run("speedscope.mjs", &[&speedscope]);
    }
}
