//! Effects of the options of a capture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_capture_tests::ledger::Do;
use vramscope_capture_tests::programs::capture;
use vramscope_capture_tests::session::{Captured, Session, read};
use vramscope_capture_tests::story::{Step, Story, assert_same};
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;

#[track_caller]
fn captured(options: &[&str], scene: &str) -> Captured {
    let captured = Session::new()
        .with(options)
        .capture("scenes", &["dlsym", scene]);
    assert!(captured.status.success(), "{}", captured.stderr);
    captured
}

fn actions(snapshot: &Snapshot) -> Vec<Action> {
    let rows = snapshot.trace(0);
    rows.map(|row| snapshot.events.get(EventId(row)).action)
        .collect()
}

/// Only the newest entries, but the complete final state.
#[test]
fn max_entries() {
    let captured = captured(&["--max-entries", "1000"], "long");
    let snapshot = captured.snapshot();
    let (reported, truth) = Story::both(&snapshot, captured.ledger(), 0);
    assert_eq!(snapshot.trace(0).len(), 1000);
    let last = reported.steps.len();
    assert_eq!(reported.steps, truth.steps[truth.steps.len() - last..]);
    assert_eq!((reported.live, reported.mapped), (truth.live, truth.mapped));
}

/// A log that is far smaller than the recording loses nothing unintended while its records are consumed.
#[test]
fn max_entries_in_a_small_log() {
    let captured = captured(&["--max-entries", "1000", "--cap", "64MiB"], "long");
    let snapshot = captured.snapshot();
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    assert_eq!(capture.dropped_records, 0, "{}", captured.stderr);
}

/// A full log counts lost records, and both the messages and the snapshot report them.
#[test]
fn a_full_log() {
    let captured = captured(&["--cap", "1MiB"], "long");
    let snapshot = captured.snapshot();
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    let events = captured.ledger().lines.iter();
    let events = events
        .filter(|line| matches!(line.what, Do::Alloc | Do::Free))
        .count() as u64;
    let reported = actions(&snapshot)
        .iter()
        .filter(|&&action| matches!(action, Action::Alloc | Action::FreeCompleted))
        .count() as u64;
    assert!(
        capture.dropped_records > 50_000,
        "{}",
        capture.dropped_records
    );
    assert!(
        reported + capture.dropped_records >= events,
        "{reported} reported"
    );
    assert!(
        captured.stderr.contains("did not fit into the log"),
        "{}",
        captured.stderr
    );
}

#[test]
fn only_the_state() {
    let captured = captured(&["--enabled", "state"], "plain");
    let snapshot = captured.snapshot();
    let (reported, truth) = Story::both(&snapshot, captured.ledger(), 0);
    assert_eq!(reported.steps, Vec::<Step>::new());
    assert_eq!((reported.live, reported.mapped), (truth.live, truth.mapped));
}

#[test]
fn skipped_actions() {
    let captured = captured(&["--skip-actions", "free_requested,oom"], "out-of-memory");
    let actions = actions(&captured.snapshot());
    assert!(actions.contains(&Action::FreeCompleted));
    assert!(!actions.contains(&Action::FreeRequested) && !actions.contains(&Action::Oom));
}

#[test]
fn one_device() {
    let session = Session::new()
        .env("FAKECUDA_DEVICES", "2")
        .with(&["--device", "1"]);
    let captured = session.capture("scenes", &["dlsym", "devices"]);
    let snapshot = captured.snapshot();
    assert!(snapshot.trace(0).is_empty());
    let (reported, truth) = Story::both(&snapshot, captured.ledger(), 1);
    assert_eq!(reported, truth);
}

/// Stacks begin with the driver's function and continue in the program.
#[test]
fn stacks() {
    let names = |snapshot: &Snapshot| -> Vec<Vec<String>> {
        let allocs = snapshot
            .trace(0)
            .map(|row| snapshot.events.get(EventId(row)));
        let allocs = allocs.filter(|event| event.action == Action::Alloc);
        let frames = |event: vramscope_core::model::Event| {
            let frames = snapshot.stacks.frames(event.stack);
            frames.map(|frame| {
                snapshot
                    .strings
                    .get(snapshot.frames.get(frame).name)
                    .to_owned()
            })
        };
        allocs.map(|event| frames(event).collect()).collect()
    };
    let native = captured(&[], "plain");
    for stack in names(&native.snapshot()) {
        assert!(stack[0].starts_with("cuMemAlloc"), "{stack:?}");
        let own = stack
            .iter()
            .position(|name| name.contains("scenes::memory::plain"));
        let start = stack.iter().position(|name| name.contains("scenes::main"));
        assert!(own.is_some() && own < start, "{stack:#?}");
    }
    let off = captured(&["--stacks", "off"], "plain");
    for stack in names(&off.snapshot()) {
        assert!(stack.len() <= 1, "{stack:?}");
    }
}

/// Pinned memory, which has its own trace.
#[test]
fn host_memory() {
    let captured = captured(&["--host"], "host");
    let snapshot = captured.snapshot();
    let reported: Vec<_> = snapshot
        .host_trace
        .clone()
        .map(|row| snapshot.events.get(EventId(row)))
        .filter_map(|event| match event.action {
            Action::Alloc => Some((Do::HostAlloc, event.addr, event.size)),
            Action::FreeCompleted => Some((Do::HostFree, event.addr, event.size)),
            _ => None,
        })
        .collect();
    let lines = captured.ledger().lines.iter();
    let truth: Vec<_> = lines
        .filter(|line| matches!(line.what, Do::HostAlloc | Do::HostFree))
        .map(|line| (line.what, line.address, line.requested))
        .collect();
    assert_eq!(reported, truth);
    assert_same(&snapshot, captured.ledger());
}

/// Device memory in use beyond the tracked bytes belongs to other processes.
#[test]
fn other_memory() {
    let session = Session::new().env("FAKECUDA_OTHER_MB", "777");
    let captured = session.capture("scenes", &["dlsym", "out-of-memory"]);
    let capture = Capture::of(&captured.snapshot()).expect("a captured snapshot");
    let device = capture.device(0).expect("its device");
    assert_eq!(device.name, "FakeCUDA 9000");
    assert_eq!(device.total_bytes, Some(8 << 30));
    let other = device.other.expect("samples");
    assert_eq!(
        (other.last_bytes, other.highest_bytes),
        (777 << 20, 777 << 20)
    );
}

/// A snapshot when memory runs out, while the program continues.
#[test]
fn dumped_when_memory_runs_out() {
    let captured = captured(&["--dump-on-oom"], "out-of-memory");
    let files = files(&captured, "snapshot-oom");
    assert!(!files.is_empty(), "{}", captured.stderr);
    let first = read(&files[0], &captured.stderr);
    let oom = actions(&first)
        .iter()
        .filter(|&&action| action == Action::Oom)
        .count();
    assert!(oom >= 1);
    assert_same(&captured.snapshot(), captured.ledger());
}

/// Logs can be kept, moved, and converted.
#[test]
fn converted_elsewhere() {
    let session = Session::new();
    let raw = session.folder().join("raw").display().to_string();
    let captured = session
        .with(&["--raw-dir", &raw])
        .capture("scenes", &["dlsym", "plain"]);
    let inside = |folder: PathBuf| {
        let mut entries = fs::read_dir(folder).expect("a folder");
        entries.next().expect("something").expect("an entry").path()
    };
    let log = inside(inside(raw.into()));
    let elsewhere = captured.folder.path().join("elsewhere.raw");
    fs::copy(log, &elsewhere).expect("room");
    let again = captured.folder.path().join("again.pickle");
    let mut convert = Command::new(capture());
    convert
        .arg("convert")
        .arg(&elsewhere)
        .arg("-o")
        .arg(&again)
        .env_clear();
    let convert = convert.output().expect("it starts");
    let messages = String::from_utf8_lossy(&convert.stderr).into_owned();
    assert!(convert.status.success(), "{messages}");
    assert_same(&read(&again, &messages), captured.ledger());
    // A log that was truncated, as by a full disk, is still readable.
    let bytes = fs::read(&elsewhere).expect("the log");
    fs::write(&elsewhere, &bytes[..bytes.len().min(9000)]).expect("room");
    let mut convert = Command::new(capture());
    convert.arg("convert").arg(&elsewhere).arg("-o").arg(&again);
    assert!(convert.output().expect("it starts").status.success());
    drop(read(&again, "cut short"));
}

/// Logs in memory would count towards the memory of the program's container.
#[test]
fn logs_are_not_in_memory_if_there_is_a_disk() {
    let folder_of = |options: &[&str]| {
        let session = Session::new().env("TMPDIR", "/dev/shm").with(options);
        let script = "echo \"$VRAMSCOPE_CAPTURE\"";
        let captured = session.capture_program(Path::new("/bin/sh"), &["-c", script]);
        let is_in_memory = captured.stdout.contains("/dev/shm/");
        let is_told = captured.stderr.contains("raw logs are in memory");
        (is_in_memory, is_told)
    };
    if is_in_memory("/dev/shm") && !is_in_memory("/var/tmp") {
        assert_eq!(folder_of(&[]), (false, false));
        // No disk is so large.
        assert_eq!(folder_of(&["--cap", "1000000TiB"]), (true, true));
    } else {
        eprintln!("not tested: /dev/shm is no tmpfs, or /var/tmp is one");
    }
}

fn is_in_memory(folder: &str) -> bool {
    let told = Command::new("stat")
        .args(["-f", "-c", "%T", folder])
        .output();
    told.is_ok_and(|told| told.stdout == b"tmpfs\n")
}

fn files(captured: &Captured, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(captured.folder.path()).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        })
        .collect();
    files.sort();
    files
}
