//! `fragmentation`: at a moment and over time, of plain and of expandable segments.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "synth/scenario-pools.pickle";

fn fragmentation(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["fragmentation"], arguments].concat()))
}

#[test]
fn as_text() {
    assert_snapshot!(fragmentation(&[FILE, "--rows", "5", "--limit", "6"]));
}

#[test]
fn pages_of_expandable_segments_at_a_moment() {
    let file = "torch-2.15.0/expandable_holes.pickle";
    assert_snapshot!(fragmentation(&[
        file, "--device", "0", "--at", "end", "--rows", "3"
    ]));
}

#[test]
fn as_json() {
    assert_snapshot!(fragmentation(&[FILE, "--json", "--limit", "1"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(fragmentation(&[FILE, "--csv"]));
}

#[test]
fn without_segments() {
    assert_snapshot!(fragmentation(&["synth/torch-2.15-profile-p4.pickle"]));
}

#[test]
fn a_moment_that_is_not_there() {
    assert_snapshot!(fragmentation(&[FILE, "--at", "oom"]));
}

#[test]
fn help() {
    assert_snapshot!(fragmentation(&["--help"]));
}
