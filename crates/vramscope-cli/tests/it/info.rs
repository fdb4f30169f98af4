//! `info` on fixtures of every kind.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use crate::program::{command, fixtures, transcript, vramscope, vramscope_reading};

fn info(file: &str) -> String {
    transcript(&vramscope(&["info", file]))
}

#[test]
fn a_training_run() {
    assert_snapshot!(info("torch-2.15.0/training.pickle"));
}

#[test]
fn the_oldest_format() {
    assert_snapshot!(info("legacy/torch_1_4.pickle"));
}

#[test]
fn state_mode() {
    assert_snapshot!(info("torch-2.0.1/state_mode.pickle"));
}

#[test]
fn several_devices() {
    assert_snapshot!(info("torch-2.15.0/two_devices.pickle"));
}

#[test]
fn pending_frees() {
    assert_snapshot!(info("torch-2.15.0/streams_pending.pickle"));
}

#[test]
fn out_of_memory() {
    assert_snapshot!(info("torch-2.15.0/oom_observer.pickle"));
}

#[test]
fn a_full_ring() {
    assert_snapshot!(info("torch-2.15.0/ring_buffer.pickle"));
}

#[test]
fn pinned_host_memory() {
    assert_snapshot!(info("torch-2.15.0/pinned.pickle"));
}

#[test]
fn skipped_actions() {
    assert_snapshot!(info("torch-2.15.0/skipped_actions.pickle"));
}

#[test]
fn nothing_at_all() {
    assert_snapshot!(info("torch-2.15.0/empty_cpp.pickle"));
}

#[test]
fn what_a_file_tolerates() {
    assert_snapshot!(info("legacy/tolerant.pickle"));
}

#[test]
fn json_of_private_pools() {
    assert_snapshot!(transcript(&vramscope(&[
        "info",
        "--json",
        "torch-2.15.0/private_pools.pickle"
    ])));
}

/// Every fixture that is a snapshot gives text and JSON, and the same figures in any wrapping.
#[test]
fn every_fixture_is_told_of() {
    let folders = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir() && !path.ends_with("refused")) {
        for file in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let name = file.display().to_string();
            if !(name.contains(".pickle") || name.contains(".html") || name.ends_with(".zip")) {
                continue;
            }
            let output = vramscope(&["info", "--json", &name]);
            assert!(output.status.success(), "{}", transcript(&output));
            let json: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(json["schema"], 1, "{name}");
            assert!(vramscope(&["info", &name]).status.success(), "{name}");
        }
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let bytes = fs::read(fixtures().join("containers/snapshot.pickle.zst")).unwrap();
    let output = vramscope_reading(&["info", "-"], &bytes);
    let text = transcript(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("standard input\n  format          zstd > pickle protocol 4"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command(&["info", "torch-2.15.0/training.pickle"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}
