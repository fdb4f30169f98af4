//! `vramscope dry-run`: what it refuses, what it says about programs that it cannot run, and that answers about its
//! snapshots mention the dry run. `vramscope-dryrun`'s tests run programs over torch.

use std::fs;

use insta::assert_snapshot;
use tempfile::tempdir;
use vramscope_core::analysis::report::facts::DRY_RUN;

use crate::program::{transcript, vramscope};

#[test]
fn help_of_dry_run() {
    assert_snapshot!(transcript(&vramscope(&["dry-run", "--help"])));
}

#[test]
fn what_it_refuses() {
    let refused: [&[&str]; 7] = [
        &["--gpu", "mi300x", "--", "python"],
        &["--gpu", "NVIDIA L40", "--", "python"],
        &["--gpu", "80GB", "--", "python"],
        &["--fit", "64..1", "--", "python", "{}"],
        &["--fit", "1..64", "--", "python", "train.py"],
        &["--rank", "8", "--world", "8", "--", "python"],
        &["--gpu", "h100"],
    ];
    let said = refused.map(|arguments| transcript(&vramscope(&[&["dry-run"], arguments].concat())));
    assert_snapshot!(said.join("\n"));
}

#[test]
fn a_python_that_is_not_there() {
    let said = vramscope(&["dry-run", "--", "/no/such/python3", "train.py"]);
    assert_eq!(said.status.code(), Some(1));
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(text.contains("cannot start /no/such/python3"), "{text}");
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_the_program_runs() {
    let folder = tempdir().unwrap();
    let ran = folder.path().join("ran");
    let touch = ran.to_str().unwrap();
    for place in [
        folder.path().join("missing/dry.pickle"),
        folder.path().to_owned(),
    ] {
        let place = place.to_str().unwrap();
        let said = vramscope(&["dry-run", "-o", place, "--", "touch", touch]);
        assert_eq!(said.status.code(), Some(1));
        let text = String::from_utf8(said.stderr).unwrap();
        assert!(
            text.starts_with(&format!("error: cannot write {place}: ")),
            "{text}"
        );
        assert!(!ran.exists());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn answers_about_a_dry_run_say_so() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("dry.json");
    let event = r#"{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": []}"#;
    let text = format!(
        r#"{{"segments": [], "device_traces": [[{event}, {event}]], "dry_run": {{"note": "dry run: nothing was computed"}}}}"#
    );
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        &["info"][..],
        &["brief"],
        &["explain"],
        &["peak"],
        &["oom"],
        &["check", "--max-peak", "1GiB"],
    ] {
        let said = vramscope(&[arguments, &[file]].concat());
        let text = String::from_utf8(said.stdout).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let times = words.matches(DRY_RUN).count();
        assert_eq!(times, 1, "{arguments:?}: {text}");
    }
}
