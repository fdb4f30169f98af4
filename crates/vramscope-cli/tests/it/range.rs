//! `range`: allocated, freed, retained.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

fn range(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["range"], arguments].concat()))
}

#[test]
fn between_two_events() {
    assert_snapshot!(range(&["100..300", "torch-2.15.0/training.pickle"]));
}

#[test]
fn an_annotated_range_by_function() {
    assert_snapshot!(range(&[
        "ProfilerStep#3",
        "synth/scenario-annotated.pickle",
        "--group-by",
        "function",
        "--depth",
        "2",
        "--limit",
        "5"
    ]));
}

#[test]
fn nothing_happened() {
    assert_snapshot!(range(&["7..7", "torch-2.15.0/training.pickle"]));
}

#[test]
fn as_json() {
    assert_snapshot!(range(&[
        "..peak",
        "torch-2.15.0/training.pickle",
        "--json",
        "--limit",
        "1"
    ]));
}

#[test]
fn as_csv() {
    assert_snapshot!(range(&["all", "torch-2.15.0/two_devices.pickle", "--csv"]));
}

#[test]
fn no_such_range() {
    assert_snapshot!(range(&["peak..3", "torch-2.15.0/training.pickle"]));
    assert_snapshot!(range(&["peak", "torch-2.15.0/training.pickle"]));
}

#[test]
fn help() {
    assert_snapshot!(range(&["--help"]));
}
