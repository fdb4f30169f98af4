//! `leaks`: what steps leave behind.

use std::fmt::Write;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::program::{command, transcript, vramscope, vramscope_reading};

fn leaks(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["leaks"], arguments].concat()))
}

/// Six steps as JSON: one makes state, each frees what the previous one made, and each keeps 1 KiB more.
fn leaking() -> Vec<u8> {
    let mut events = String::new();
    let mut notes = String::new();
    let mut time = 100;
    let mut event = |action: &str, addr: usize, size: usize, line: usize| {
        time += 10;
        let comma = if events.is_empty() { "" } else { "," };
        write!(
            events,
            r#"{comma}{{"action":"{action}","addr":{addr},"size":{size},"stream":0,"time_us":{time},
               "frames":[{{"name":"step","filename":"train.py","line":{line}}}]}}"#
        )
        .unwrap();
        time
    };
    for step in 0..6 {
        let (temporary, kept) = (0x10_0000 + step * 0x1000, 0x20_0000 + step * 0x1000);
        let start = event("alloc", temporary, 2048, 10) - 1;
        if step == 0 {
            event("alloc", 0x30_0000, 4096, 20);
        }
        if step > 0 {
            event("free_requested", temporary - 0x1000, 2048, 11);
            event("free_completed", temporary - 0x1000, 2048, 11);
        }
        let end = event("alloc", kept, 1024, 30) + 1;
        for (stage, time) in [("START", start), ("END", end)] {
            let comma = if notes.is_empty() { "" } else { "," };
            write!(
                notes,
                r#"{comma}{{"device":0,"stage":"{stage}","name":"train_step {step}","time_us":{time}}}"#
            )
            .unwrap();
        }
    }
    format!(r#"{{"segments":[],"device_traces":[[{events}]],"external_annotations":[{notes}]}}"#)
        .into_bytes()
}

#[test]
fn what_every_step_leaves_comes_before_what_one_left() {
    let run = |arguments: &[&str]| {
        transcript(&vramscope_reading(
            &[&["leaks", "-"], arguments].concat(),
            &leaking(),
        ))
    };
    assert_snapshot!(run(&["--skip", "0"]));
    assert_snapshot!(run(&["--json"]));
    assert_snapshot!(run(&["--annotation", "train_step *", "--csv"]));
    assert_snapshot!(run(&["--annotation", "train_step *", "--skip", "5"]));
}

#[test]
fn steps_that_leave_nothing() {
    assert_snapshot!(leaks(&["synth/scenario-annotated.pickle"]));
}

#[test]
fn without_steps_what_stayed() {
    assert_snapshot!(leaks(&["torch-2.15.0/no_stacks.pickle"]));
}

#[test]
fn between_two_moments() {
    assert_snapshot!(leaks(&[
        "torch-2.15.0/training.pickle",
        "--range",
        "10..peak"
    ]));
}

#[test]
fn no_such_annotation() {
    assert_snapshot!(leaks(&[
        "synth/scenario-annotated.pickle",
        "--annotation",
        "epoch"
    ]));
}

#[test]
fn help() {
    assert_snapshot!(leaks(&["--help"]));
}

#[test]
fn options_that_exclude_each_other() {
    let mut run = command(&["leaks", "x", "--range", "all", "--annotation", "a"]);
    let output = run.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
