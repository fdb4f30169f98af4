//! `top`: by own peak, total, count, lifetime.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "torch-2.15.0/training.pickle";

fn top(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["top"], arguments].concat()))
}

#[test]
fn by_peak() {
    assert_snapshot!(top(&[FILE]));
}

#[test]
fn by_what_else_there_is() {
    for by in ["total", "count", "lifetime"] {
        assert_snapshot!(by, top(&[FILE, "--by", by, "--limit", "2"]));
    }
}

#[test]
fn without_times_lives_are_events() {
    assert_snapshot!(top(&["synth/torch-2.0-py-p4.pickle", "--limit", "2"]));
}

#[test]
fn as_json() {
    assert_snapshot!(top(&[FILE, "--json", "--limit", "1"]));
}

#[test]
fn as_csv_of_several_files() {
    assert_snapshot!(top(&[
        FILE,
        "synth/torch-2.0-py-p4.pickle",
        "--group-by",
        "stream",
        "--csv"
    ]));
}

#[test]
fn help() {
    assert_snapshot!(top(&["--help"]));
}
