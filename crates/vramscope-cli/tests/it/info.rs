//! `info` on fixtures of every kind.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

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

/// A file by `vramscope-capture`: its program, how it ended, its devices, and the memory of other processes.
#[test]
fn a_captured_program() {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    let capture = r#"{"segments": [{"device": 0, "address": 4194304, "total_size": 2097152, "blocks": [
          {"address": 4194304, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []},
          {"address": 4195328, "size": 2096128, "requested_size": 0, "state": "inactive", "frames": []}]}],
        "device_traces": [[{"action": "segment_alloc", "addr": 4194304, "size": 2097152, "stream": 0, "time_us": 1},
          {"action": "alloc", "addr": 4194304, "size": 1000, "stream": 0, "time_us": 2},
          {"action": "oom", "device_free": 1048576, "size": 4294967296, "stream": 0, "time_us": 3}]],
        "capture": {"tool": "vramscope-capture 0.1.0", "program": ["/opt/app/server", "/opt/app/server", "--port", "80"], "pid": 4711,
          "started_us": 1767225600000000, "ended": "without notice", "dropped_records": 12,
          "notes": ["Memory was mapped by a function that is not followed: cuMemMapArrayAsync."],
          "devices": [{"index": 0, "name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "total_bytes": 85899345920}],
          "memory": [{"device": 0, "time_us": 3, "free_bytes": 1048576, "total_bytes": 85899345920, "tracked_bytes": 2097152}]}}"#;
    fs::write(file.path(), capture).unwrap();
    let path = file.path().to_str().unwrap();
    assert_snapshot!(info(path).replace(path, "captured.json"));
    let oom = transcript(&vramscope(&["oom", path])).replace(path, "captured.json");
    assert!(
        oom.contains("80.0 GiB") && !oom.contains("PyTorch"),
        "{oom}"
    );
    let lost =
        r#""lost": [{"reason": "NoStack", "times": 3, "text": "a stack is missing"}], "notes""#;
    fs::write(file.path(), capture.replace("\"notes\"", lost)).unwrap();
    let told = info(path);
    assert!(
        told.contains("  ! Incomplete: a stack is missing (3 times)."),
        "{told}"
    );
}

/// Traces of all ranks in the file of one, as gathered by torch-snapkit.
#[test]
fn gathered_traces_are_named_everywhere() {
    let trace = r#"[{"action": "segment_alloc", "addr": 4194304, "size": 2097152, "stream": 0},
          {"action": "alloc", "addr": 4194304, "size": 1000, "stream": 0}]"#;
    let file = format!(
        r#"{{"segments": [{{"device": 0, "address": 4194304, "total_size": 2097152, "blocks": [
          {{"address": 4194304, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}},
          {{"address": 4195328, "size": 2096128, "requested_size": 0, "state": "inactive", "frames": []}}]}}],
        "device_traces": [{trace}, {trace}, {trace}]}}"#
    );
    for question in ["info", "brief", "explain"] {
        let said = transcript(&vramscope_reading(&[question, "-"], file.as_bytes()));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "Traces of several ranks were probably gathered into this file: 2 traces end with live memory but have no \
                        segments, and only 1 device has them.";
        assert!(said.contains(expected), "{question}: {said}");
        assert!(!said.contains("disagree"), "{question}: {said}");
    }
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

/// Every fixture that is a snapshot gives text and JSON, and the same figures in any container.
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
            assert_eq!(json["schema"], 3, "{name}");
            assert!(vramscope(&["info", &name]).status.success(), "{name}");
        }
    }
}

/// As many devices as the decoder reads, and as the page shows.
#[test]
fn no_device_of_a_large_machine_is_left_out() {
    let story: String = (0..200)
        .map(|device| format!("device {device}\nalloc a 1MiB train.py:1:main\n"))
        .collect();
    let bytes = text::pickle(&story, Producer::Python(2, 8)).unwrap();
    let output = vramscope_reading(&["info", "--json", "-", "--device", "150"], &bytes);
    assert!(output.stderr.is_empty(), "{}", transcript(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["parts"][1]["device"], 150);
}

#[test]
fn standard_input_is_a_file_too() {
    let bytes = fs::read(fixtures().join("containers/snapshot.pickle.zst")).unwrap();
    let output = vramscope_reading(&["info", "-"], &bytes);
    let text = transcript(&output);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("standard input\n  format      zstd > pickle protocol 4"),
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

/// Names in a file are chosen by its author, who may try to pass them off as this program's output, or as a formula.
#[test]
fn names_forge_neither_lines_nor_formulas() {
    let snapshot = r#"{"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames":
            [{"name": "x\nFORGED \u202eyp.\ud800", "filename": "=cmd|'A'!A0.py\nFORGED", "line": 1}]}]],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "a\nFORGED", "k\nFORGED": "b"}}"#;
    let text = |arguments: &[&str]| {
        let output = vramscope_reading(arguments, snapshot.as_bytes());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let info = text(&["info", "-"]);
    assert!(info.contains("FORGED"), "{info}");
    assert!(!info.contains("\nFORGED"), "{info}");
    assert!(
        info.contains(r"\u202eyp.") && !info.contains('\u{202e}'),
        "{info}"
    );
    let csv = text(&["peak", "-", "--csv"]);
    assert!(
        csv.contains("\"'=cmd|'A'!A0.py\nFORGED") || csv.contains(",'=cmd|'A'!A0.py"),
        "{csv}"
    );
    let csv = text(&["convert", "-", "--to", "csv", "--table", "frames"]);
    assert!(csv.contains("'=cmd|'A'!A0.py"), "{csv}");
    assert!(!csv.contains(",=") && !csv.contains("\"="), "{csv}");
}
