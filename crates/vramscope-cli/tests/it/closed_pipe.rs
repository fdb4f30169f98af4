//! Readers that close early do not change the exit code.

use std::io;
use std::process::{Output, Stdio};

use crate::damage::damaged;
use crate::program::command;

const FILE: &str = "torch-2.15.0/oom_observer.pickle";
const OTHER: &str = "synth/scenario-annotated.pickle";

/// Runs the program with standard output closed by its reader.
fn unread(arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = command(arguments);
    command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped());
    let Output { status, stderr, .. } = command.spawn().unwrap().wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    for arguments in [
        &["info", FILE][..],
        &["peak", FILE, "--json"],
        &["check", FILE, "--max-peak", "1TiB"],
        &["diff", FILE, FILE, "--fail-if-grown", "5%"],
        &["trace", FILE, OTHER],
        &["segments", FILE, "--folded"],
        &["convert", FILE, "--to", "json"],
    ] {
        assert_eq!(unread(arguments), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn a_broken_budget_is_told_to_nobody_but_by_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let buffers = folder.path().join("buffers.csv");
    std::fs::write(&buffers, "id,lower,upper,size\na,0,9,64\n").unwrap();
    let buffers = buffers.to_str().unwrap();
    for (arguments, why) in [
        (
            &["check", FILE, "--max-peak", "1"][..],
            "1 of 1 budgets broken",
        ),
        (
            &["check", FILE, "--max-peak", "1", "--json"],
            "1 of 1 budgets broken",
        ),
        (
            &["diff", OTHER, FILE, "--fail-if-grown", "1%"],
            "allowed is 1 %",
        ),
        (&["pack", buffers, "--capacity", "1"], "nothing can fit 1 B"),
        (
            &["pack", buffers, "--capacity", "1", "-o", "-"],
            "nothing can fit 1 B",
        ),
    ] {
        let (code, stderr) = unread(arguments);
        assert_eq!(code, Some(3), "{arguments:?}: {stderr}");
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
    }
}

/// A file that is missing, one that is cut off before anything is known, and one that is cut off later.
#[test]
fn a_file_that_is_not_as_it_should_be_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let damaged_file = folder.path().join("damaged.json.gz");
    std::fs::write(&damaged_file, damaged()).unwrap();
    let damaged = damaged_file.to_str().unwrap();
    for (file, code, said) in [
        ("none.pickle", 1, "cannot read none.pickle"),
        ("refused/truncated.pickle.gz", 1, "the file ends early"),
        (damaged, 0, "the check sum does not match"),
    ] {
        for arguments in [
            &["info", file, FILE][..],
            &["info", FILE, file, "--json"],
            &["peak", FILE, file],
            &["check", FILE, file, "--max-peak", "1TiB", "--allow-damage"],
            &["trace", file, FILE],
            &["trace", FILE, file],
            &["stats", FILE, file, "--format", "torch"],
            &["segments", file, FILE, "--folded"],
            &["segments", FILE, file, "--folded"],
            &["memory", file, FILE],
            &["memory", FILE, file],
        ] {
            let (exit, stderr) = unread(arguments);
            assert_eq!(exit, Some(code), "{arguments:?}: {stderr}");
            assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        }
    }
}

#[test]
fn a_budget_that_cannot_be_measured_is_not_kept() {
    let file = "torch-2.15.0/state_mode.pickle";
    let (code, stderr) = unread(&["check", file, "--max-growth", "1"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("could not be measured"), "{stderr}");
}
