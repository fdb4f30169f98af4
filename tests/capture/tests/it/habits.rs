//! The stand-in driver's habits: their basis, alternatives that a real driver may have, and the checks in `tests/gpu`
//! that test a driver for them.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};
use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_capture_tests::story::{assert_same, assert_same_blocks};

fn known() -> Map<String, Value> {
    let path = programs::root().join("crates/fakecuda/habits.json");
    let habits = fs::read_to_string(path).expect("the habits");
    serde_json::from_str(&habits).expect("an object")
}

#[test]
fn every_habit_says_what_it_rests_on() {
    let mut guessed = Vec::new();
    for (name, habit) in known() {
        let text = |key| habit[key].as_str().unwrap_or_default().to_owned();
        assert!(habit["value"].is_u64(), "{name}");
        assert!(
            !text("source").is_empty() && text("check").starts_with('G'),
            "{name}"
        );
        match text("basis").as_str() {
            "documented" | "observed" => {}
            "guessed" => guessed.push(name),
            other => panic!("{name} is {other}"),
        }
    }
    println!(
        "tests on the stand-in driver rest on guesses: {}",
        guessed.join(", ")
    );
}

/// A scene on a driver with other habits.
#[track_caller]
fn captured_with(habits: &str, scene: &str) -> Captured {
    let session = Session::new();
    let path = session.folder().join("habits.json");
    fs::write(&path, habits).expect("a file");
    let session = session.env("FAKECUDA_HABITS", path.to_str().expect("a name in UTF-8"));
    let captured = session.capture("scenes", &["dlsym", scene]);
    assert!(
        captured.status.success(),
        "{}{}",
        captured.stdout,
        captured.stderr
    );
    captured
}

#[test]
fn pools_may_end_with_the_primary_context() {
    let captured = captured_with(r#"{"pool_memory_outlives_context": 0}"#, "contexts");
    assert_same(&captured.snapshot(), captured.ledger());
    assert!(
        !captured.stderr.contains("did not say"),
        "{}",
        captured.stderr
    );
}

#[test]
fn chunks_may_have_another_size() {
    let captured = captured_with(r#"{"pool_chunk_bytes": 2097152}"#, "pools");
    assert_same(&captured.snapshot(), captured.ledger());
}

/// Then nothing shows the chunks, but blocks are right, and the pool's memory beyond them is known.
#[test]
fn the_mapping_of_pool_memory_may_be_the_block() {
    let captured = captured_with(r#"{"pool_mapping_is_chunk": 0}"#, "pools");
    let snapshot = captured.snapshot();
    assert_same_blocks(&snapshot, captured.ledger());
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let mut pools = memory.iter().filter(|it| it["pool_used_bytes"].is_u64());
    // It holds a chunk of 32 MiB. There are segments for the remaining block of 1 MiB, and for a freed one of 20.
    assert_eq!(
        pools.next_back().expect("a sample")["pool_unplaced_bytes"],
        11 << 20
    );
}

#[test]
fn pools_on_the_host_and_managed_ones_take_no_memory_of_the_device() {
    let captured = Session::new().capture("scenes", &["dlsym", "other-pools"]);
    assert!(captured.status.success(), "{}", captured.stderr);
    let snapshot = captured.snapshot();
    let sizes = |table: &vramscope_core::model::SegmentTable| -> Vec<u64> {
        let blocks = table.rows.iter().flat_map(|segment| segment.block_ids());
        let blocks = blocks.map(|id| snapshot.blocks.get(id));
        let live = blocks.filter(|block| block.state.is_active());
        live.map(|block| block.size).collect()
    };
    assert_eq!(sizes(&snapshot.host_segments), [3 << 20]);
    assert_eq!(sizes(&snapshot.segments), [5 << 20]);
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let tracked = memory.iter().filter_map(|it| it["tracked_bytes"].as_u64());
    assert_eq!(tracked.max(), Some(0));
}

/// All checks of `tests/gpu` that need neither a compiler nor torch.
#[test]
fn the_checks_for_a_gpu_pass_on_the_stand_in_driver() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("python3");
    command
        .arg(programs::root().join("tests/gpu/run.py"))
        .arg("--capture")
        .arg(programs::capture())
        .arg("--programs")
        .arg(programs::client("scenes").parent().unwrap())
        .arg("--fake")
        .arg(programs::fakecuda())
        .arg("--out")
        .arg(folder.path())
        .stdin(Stdio::null());
    let output = command.output().expect("python3");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let verdicts = fs::read_to_string(folder.path().join("verdicts.json")).unwrap();
    let verdicts: Value = serde_json::from_str(&verdicts).unwrap();
    let passed = verdicts["checks"].as_array().unwrap().iter();
    let passed = passed.filter(|check| check["status"] == "PASS").count();
    assert!(passed >= 20, "{passed} checks:\n{text}");
    println!("{text}");
}
