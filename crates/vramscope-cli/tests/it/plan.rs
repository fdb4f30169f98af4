//! `plan`: from ideal to real, with a trace and without, and files without segments.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "synth/scenario-pools.pickle";

fn plan(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["plan"], arguments].concat()))
}

#[test]
fn as_text() {
    assert_snapshot!(plan(&[FILE]));
}

#[test]
fn as_json() {
    assert_snapshot!(plan(&[FILE, "--json", "--limit", "2"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(plan(&[FILE, "--csv"]));
}

#[test]
fn of_a_state_without_a_trace() {
    assert_snapshot!(plan(&["synth/scenario-state-only.pickle"]));
}

#[test]
fn without_segments() {
    assert_snapshot!(plan(&["synth/torch-2.15-profile-p4.pickle"]));
}

#[test]
fn buffers_for_other_solvers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("places");
    let output = vramscope(&["plan", FILE, "--export-csv", path.to_str().unwrap()]);
    assert!(output.status.success());
    let mut sizes = Vec::new();
    for entry in std::fs::read_dir(&path).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("id,lower,upper,size"));
        sizes.push(lines.count());
    }
    let one = folder.path().join("largest.csv");
    assert!(
        vramscope(&["plan", FILE, "--export-csv", one.to_str().unwrap()])
            .status
            .success()
    );
    let lines = std::fs::read_to_string(&one).unwrap().lines().count();
    assert!(sizes.contains(&(lines - 1)));
    let two = vramscope(&["plan", FILE, FILE, "--export-csv", one.to_str().unwrap()]);
    assert_eq!(two.status.code(), Some(2));
}

#[test]
fn help() {
    assert_snapshot!(plan(&["--help"]));
}
