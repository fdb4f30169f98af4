//! `compare`: segments that only one of two files has.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILES: [&str; 2] = [
    "torch-2.15.0/two_devices.pickle",
    "torch-2.15.0/training.pickle",
];

fn compare(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["compare"], arguments].concat()))
}

#[test]
fn the_same_twice() {
    assert_snapshot!(compare(&["torch-2.15.0/oom_after.pickle"; 2]));
}

#[test]
fn as_text() {
    assert_snapshot!(compare(&FILES));
}

#[test]
fn as_json() {
    assert_snapshot!(compare(
        &[&FILES[..], &["--json", "--device", "1"]].concat()
    ));
}

#[test]
fn as_lines() {
    assert_snapshot!(compare(&[&FILES[..], &["--folded"]].concat()));
    assert_snapshot!(compare(
        &[&FILES[..], &["--folded", "--format", "torch"]].concat()
    ));
}

#[test]
fn no_such_device() {
    assert_snapshot!(compare(&[&FILES[..], &["--device", "7"]].concat()));
}

#[test]
fn help() {
    assert_snapshot!(compare(&["--help"]));
}
