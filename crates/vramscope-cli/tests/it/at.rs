//! `at`: a moment by its event, its time, its annotation; what happened and the state it led to.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

fn at(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["at"], arguments].concat()))
}

#[test]
fn an_event_by_its_number() {
    assert_snapshot!(at(&["200", "torch-2.15.0/training.pickle", "--limit", "3"]));
}

#[test]
fn a_failed_request() {
    assert_snapshot!(at(&["oom", "torch-2.15.0/oom_observer.pickle"]));
}

#[test]
fn pools_and_pending_frees_have_their_segments() {
    assert_snapshot!(at(&["end", "torch-2.15.0/private_pools.pickle"]));
    assert_snapshot!(at(&["end", "torch-2.15.0/streams_pending.pickle"]));
    assert_snapshot!(at(&["end", "torch-2.15.0/expandable_holes.pickle"]));
}

#[test]
fn inside_of_annotations_and_before_everything() {
    assert_snapshot!(at(&[
        "ProfilerStep#3:peak",
        "synth/scenario-annotated.pickle",
        "--limit",
        "2"
    ]));
    assert_snapshot!(at(&["start", "synth/scenario-annotated.pickle"]));
}

#[test]
fn as_json() {
    assert_snapshot!(at(&[
        "1ms",
        "torch-2.15.0/training.pickle",
        "--json",
        "--limit",
        "1"
    ]));
}

#[test]
fn a_device_that_lacks_the_moment_does_not_silence_the_other() {
    assert_snapshot!(at(&["7", "torch-2.15.0/two_devices.pickle"]));
}

#[test]
fn no_such_moment() {
    assert_snapshot!(at(&["9999", "torch-2.15.0/training.pickle"]));
    assert_snapshot!(at(&["torch-2.15.0/training.pickle", "peak"]));
    assert_snapshot!(at(&["forwards", "synth/scenario-annotated.pickle"]));
}

#[test]
fn segments_that_are_made_up_are_not_told() {
    assert_snapshot!(at(&[
        "peak",
        "torch-2.15.0/profile_to_snapshot.pickle",
        "--limit",
        "3"
    ]));
}

#[test]
fn help() {
    assert_snapshot!(at(&["--help"]));
}
