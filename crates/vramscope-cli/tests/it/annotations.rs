//! `annotations`: by name, one by one, and the steps.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "synth/scenario-annotated.pickle";

fn annotations(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["annotations"], arguments].concat()))
}

#[test]
fn by_name() {
    assert_snapshot!(annotations(&[FILE]));
}

#[test]
fn each_of_a_name() {
    assert_snapshot!(annotations(&[
        FILE,
        "--each",
        "--name",
        "FOR*ard",
        "--kind",
        "annotation"
    ]));
}

#[test]
fn ended_by_optimizer_steps() {
    assert_snapshot!(annotations(&["torch-2.15.0/named_ranges.pickle"]));
}

#[test]
fn as_json() {
    assert_snapshot!(annotations(&[FILE, "--json", "--limit", "1"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(annotations(&[FILE, "--csv", "--limit", "3"]));
}

#[test]
fn none_recorded() {
    assert_snapshot!(annotations(&["torch-2.15.0/no_stacks.pickle"]));
}

#[test]
fn inferred_from_stacks() {
    assert_snapshot!(annotations(&["torch-2.15.0/training.pickle"]));
}

#[test]
fn none_that_match() {
    assert_snapshot!(annotations(&[FILE, "--name", "nowhere"]));
}

#[test]
fn help() {
    assert_snapshot!(annotations(&["--help"]));
}

#[test]
fn by_group() {
    assert_snapshot!(annotations(&[
        FILE,
        "--name",
        "forward",
        "--group-by",
        "function",
        "--limit",
        "3"
    ]));
    let csv = annotations(&[FILE, "--csv", "--group-by", "pool", "--depth", "2"]);
    assert!(csv.contains("retained_bytes,allocated_bytes"), "{csv}");
    assert!(annotations(&[FILE, "--depth", "2"]).starts_with("exit code 2"));
}
