//! `stats`: the table by pool and stream, and torch's text where it fails.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope, vramscope_reading};

fn stats(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["stats"], arguments].concat()))
}

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
