//! `oom`: a failure explained, several of them, close calls, and files without any.

use insta::assert_snapshot;

use crate::program::{all_snapshots, transcript, vramscope, vramscope_reading};

const FILE: &str = "torch-2.15.0/oom_observer.pickle";

fn oom(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["oom"], arguments].concat()))
}

#[test]
fn as_text() {
    assert_snapshot!(oom(&[FILE, "--frames", "2"]));
}

#[test]
fn as_json() {
    assert_snapshot!(oom(&[FILE, "--json", "--limit", "1"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(oom(&[FILE, "--csv"]));
}

#[test]
fn nothing_failed() {
    assert_snapshot!(oom(&["torch-2.15.0/training.pickle"]));
}

#[test]
fn without_a_trace() {
    assert_snapshot!(oom(&["torch-2.15.0/state_mode.pickle"]));
}

/// A request that a shared segment had no room for, one that failed because of fragmentation, and one retried before.
const STORY: &str = r#"{"segments": [
    {"device": 0, "address": 268435456, "total_size": 62914560, "allocated_size": 20971520, "stream": 0, "segment_type": "large", "blocks": [
        {"address": 268435456, "size": 20971520, "requested_size": 0, "state": "inactive"},
        {"address": 289406976, "size": 20971520, "requested_size": 20971520, "state": "active_allocated"},
        {"address": 310378496, "size": 20971520, "requested_size": 0, "state": "inactive"}]}],
    "device_traces": [[
    {"action": "segment_free", "addr": 1073741824, "size": 20971520, "stream": 0,
        "frames": [{"name": "step", "filename": "train.py", "line": 4}]},
    {"action": "alloc", "addr": 289406976, "size": 20971520, "stream": 0,
        "frames": [{"name": "step", "filename": "train.py", "line": 4}]},
    {"action": "oom", "device_free": 1048576, "size": 31457280, "stream": 0,
        "frames": [{"name": "step", "filename": "train.py", "line": 7}]},
    {"action": "oom", "device_free": 10485760, "size": 5242880, "stream": 9, "frames": []}]]}"#;

#[test]
fn several_failures_and_a_close_call() {
    let output = vramscope_reading(&["oom", "-"], STORY.as_bytes());
    assert_snapshot!(transcript(&output));
}

/// The words about a reason are one row in core's `verdicts`, which every command uses.
#[test]
fn used_up_addresses_are_told_everywhere() {
    let segments = (0..800_u64).map(|stream| {
        let address = (1 << 40) + stream * (100 << 30);
        let used = match stream {
            0 => r#""requested_size": 1048576, "state": "active_allocated""#,
            _ => r#""requested_size": 0, "state": "inactive""#,
        };
        format!(
            r#"{{"device": 0, "address": {address}, "total_size": 2097152, "stream": {stream}, "segment_type": "large",
              "segment_pool_id": [0, 0], "is_expandable": true, "blocks": [{{"address": {address}, "size": 2097152, {used}, "frames": []}}]}}"#
        )
    });
    let segments = segments.collect::<Vec<_>>().join(",");
    let file = format!(
        r#"{{"segments": [{segments}], "total_memory": 85899345920, "allocator_settings": {{}}, "device_traces": [[
          {{"action": "alloc", "addr": 1099511627776, "size": 1048576, "stream": 0, "frames": []}},
          {{"action": "oom", "device_free": 32212254720, "size": 1073741824, "stream": 0, "frames": []}}]]}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank0.json");
    std::fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let told = |arguments: &[&str]| {
        let said = transcript(&vramscope(arguments));
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let why = "expandable segments reserve 70.3 TiB of the 128 TiB of addresses that a process has";
    for command in ["explain", "oom", "brief", "info"] {
        let said = told(&[command, path, "--json"]);
        assert!(said.contains(why), "{command}: {said}");
    }
    for command in ["explain", "brief", "info"] {
        let said = told(&[command, path]);
        assert!(said.contains(why), "{command}: {said}");
    }
    let words = "virtual addresses used up";
    for arguments in [&["oom", path], &["fleet", "oom", path] as &[_]] {
        let said = told(arguments);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let class = "virtual_addresses";
    assert!(told(&["brief", path]).contains(&format!("[{class}]")));
    assert!(told(&["brief", "--help"]).contains(class));
}

#[test]
fn every_snapshot_is_answered_for() {
    for file in all_snapshots() {
        let name = file.to_str().unwrap();
        for command in ["oom", "fragmentation", "annotations"] {
            let output = vramscope(&[command, name, "--json"]);
            assert_eq!(output.status.code(), Some(0), "{command} {name}");
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(json["parts"].is_array(), "{command} {name}");
        }
    }
}

#[test]
fn help() {
    assert_snapshot!(oom(&["--help"]));
}
