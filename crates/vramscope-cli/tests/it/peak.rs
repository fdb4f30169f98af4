//! `peak` on a training run, as text, JSON and CSV.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "torch-2.15.0/training.pickle";

fn peak(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["peak", FILE], arguments].concat()))
}

#[test]
fn as_text() {
    assert_snapshot!(peak(&[]));
}

#[test]
fn by_function_with_callers() {
    assert_snapshot!(peak(&[
        "--group-by",
        "function",
        "--depth",
        "3",
        "--limit",
        "4"
    ]));
}

#[test]
fn as_json() {
    assert_snapshot!(peak(&["--json", "--limit", "2"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(peak(&["--csv", "--limit", "3"]));
}

#[test]
fn help() {
    assert_snapshot!(transcript(&vramscope(&["peak", "--help"])));
}
