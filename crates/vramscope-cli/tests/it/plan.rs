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
fn help() {
    assert_snapshot!(plan(&["--help"]));
}
