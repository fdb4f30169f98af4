//! `trace`: the log of a recording.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

fn trace(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["trace"], arguments].concat()))
}

#[test]
fn an_oom() {
    assert_snapshot!(trace(&["torch-2.15.0/oom_after.pickle"]));
}

#[test]
fn mapped_memory() {
    assert_snapshot!(trace(&["torch-2.15.0/expandable_holes.pickle"]));
}

#[test]
fn notes_and_snapshots() {
    assert_snapshot!(trace(&["torch-2.15.0/annotated.pickle"]));
    assert_snapshot!(trace(&["torch-2.15.0/snapshot_events.pickle", "--bytes"]));
}

#[test]
fn with_numbers_and_frames() {
    assert_snapshot!(trace(&[
        "torch-2.15.0/training.pickle",
        "--numbers",
        "--frames",
        "2",
        "--range",
        "10..16"
    ]));
}

#[test]
fn without_what_came_and_went() {
    assert_snapshot!(trace(&[
        "torch-2.15.0/training.pickle",
        "--filter-freed",
        "--range",
        "..peak"
    ]));
}

#[test]
fn older_than_the_recording() {
    assert_snapshot!(trace(&[
        "torch-2.15.0/recorded_late.pickle",
        "torch-2.15.0/not_recorded.pickle"
    ]));
}

#[test]
fn no_such_range() {
    assert_snapshot!(trace(&[
        "torch-2.15.0/training.pickle",
        "--range",
        "..99999"
    ]));
}

#[test]
fn help() {
    assert_snapshot!(trace(&["--help"]));
}
