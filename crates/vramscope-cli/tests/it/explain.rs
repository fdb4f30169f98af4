//! `explain`: the conclusions, in words.

use insta::assert_snapshot;
use serde_json::Value;

use crate::program::{transcript, vramscope};

fn explain(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["explain"], arguments].concat()))
}

#[test]
fn a_failure_and_what_would_help() {
    assert_snapshot!(explain(&["torch-2.15.0/oom_observer.pickle"]));
}

#[test]
fn nothing_stands_out() {
    assert_snapshot!(explain(&["synth/scenario-state-only.pickle"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(explain(&["allocator/pressure.pickle.zst", "--csv"]));
}

/// JSON says the same as the text.
#[test]
fn as_json() {
    let file = "allocator/pressure.pickle.zst";
    let answer = vramscope(&["explain", file, "--json"]).stdout;
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let findings = answer["parts"][0]["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    let text = explain(&[file]);
    let mut from = 0;
    for finding in findings {
        let first = finding["title"]
            .as_str()
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let place = text[from..].find(first).unwrap();
        from += place;
    }
}

#[test]
fn help() {
    assert_snapshot!(explain(&["--help"]));
}
