//! `stats`: the table by pool and stream, and torch's text where torch fails.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use vramscope_core::model::Segment;

use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

fn stats(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["stats"], arguments].concat()))
}

/// A figure of a segment, as reported by PyTorch.
type Figure = fn(&Segment) -> Option<u64>;

#[test]
fn by_pool() {
    assert_snapshot!(stats(&["torch-2.15.0/private_pools.pickle"]));
}

#[test]
fn pending_frees_and_segments() {
    assert_snapshot!(stats(&[
        "torch-2.15.0/streams_pending.pickle",
        "--segments"
    ]));
}

#[test]
fn as_json() {
    assert_snapshot!(stats(&[
        "torch-2.15.0/streams_pending.pickle",
        "--segments",
        "--json",
        "--limit",
        "1"
    ]));
}

#[test]
fn as_csv() {
    assert_snapshot!(stats(&["torch-2.15.0/private_pools.pickle", "--csv"]));
}

#[test]
fn several_devices() {
    assert_snapshot!(stats(&["torch-2.15.0/two_devices.pickle"]));
}

#[test]
fn host_memory() {
    assert_snapshot!(stats(&["torch-2.15.0/pinned.pickle"]));
}

#[test]
fn nothing_at_all() {
    assert_snapshot!(stats(&["torch-2.15.0/empty_list.pickle"]));
}

#[test]
fn as_torch_says_it() {
    assert_snapshot!(stats(&[
        "torch-2.15.0/oom_observer.pickle",
        "--format",
        "torch"
    ]));
}

#[test]
fn where_torch_fails() {
    let file = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 52428800, "blocks": [
        {"address": 4096, "size": 1024, "requested_size": 984, "state": "active_allocated"}]}],
        "device_traces": []}"#;
    let output = vramscope_reading(&["stats", "-", "--format", "torch"], file.as_bytes());
    assert_snapshot!(transcript(&output));
    let output = vramscope_reading(&["stats", "-"], file.as_bytes());
    assert_snapshot!(transcript(&output));
}

#[test]
fn help() {
    assert_snapshot!(stats(&["--help"]));
}

/// Allocated, active and requested bytes are torch's own counts, to the byte.
#[test]
fn the_words_mean_what_they_mean_to_torch() {
    let mut compared = 0;
    for name in [
        "private_pools",
        "training",
        "two_devices",
        "oom_observer",
        "expandable_grown",
    ] {
        let name = format!("torch-2.15.0/{name}.pickle");
        let snapshot = vramscope_core::decode(&fs::read(fixtures().join(&name)).unwrap()[..]);
        let snapshot = snapshot.unwrap();
        let output = vramscope(&["stats", "--json", &name]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        for part in answer["parts"].as_array().unwrap() {
            let device = i32::try_from(part["device"].as_i64().unwrap()).unwrap();
            let counted: [(&str, Figure); 3] = [
                ("allocated_bytes", |segment| segment.allocated_size),
                ("active_bytes", |segment| segment.active_size),
                ("requested_bytes", |segment| segment.requested_size),
            ];
            for (key, of) in counted {
                let segments = snapshot.segments.of_device(device);
                let bytes: Option<u64> = segments.map(|(_, segment)| of(segment)).sum();
                assert_eq!(part[key].as_u64(), bytes, "{name}, device {device}: {key}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 15, "{compared}");
}
