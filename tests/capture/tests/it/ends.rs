//! However a program ends, its recording is complete and its exit code is passed on.
#![expect(unsafe_code, reason = "sends a signal")]

use std::io::Write;
use std::process::{Child, Command};

use vramscope_capture_tests::programs::{capture, client};
use vramscope_capture_tests::session::{Session, read, wait_for};
use vramscope_capture_tests::story::{Story, assert_same};
use vramscope_core::analysis::memory::capture::{Capture, Ended};

/// Captures a scene that ends in its own way, and checks its exit code and the end recorded in the snapshot.
#[track_caller]
fn ends(scene: &str, code: i32, ended: Ended) {
    let captured = Session::new().capture("scenes", &["dlsym", scene]);
    assert_eq!(captured.status.code(), Some(code), "{}", captured.stderr);
    let snapshot = captured.snapshot();
    assert_same(&snapshot, captured.ledger());
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    assert_eq!(capture.ended, ended);
    assert_eq!(capture.dropped_records, 0);
    assert_eq!(capture.notes, Vec::<String>::new());
}

#[test]
fn by_exit() {
    ends("exit", 7, Ended::InOrder);
}

#[test]
fn by_a_panic() {
    ends("panic", 101, Ended::InOrder);
}

#[test]
fn by_abort() {
    ends("abort", 128 + libc::SIGABRT, Ended::WithoutNotice);
}

/// Each of eight killed threads may have been between the driver and the log; everything else must be in the log.
#[test]
fn by_sigkill() {
    let captured = Session::new().capture("scenes", &["dlsym", "killed"]);
    assert_eq!(captured.status.code(), Some(128 + libc::SIGKILL));
    let snapshot = captured.snapshot();
    let (reported, truth) = Story::both(&snapshot, captured.ledger(), 0);
    let (reported, truth) = (reported.by_address(), truth.by_address());
    let mut differences = 0;
    for (place, truth) in truth.iter().filter(|((is_mapping, _), _)| !is_mapping) {
        let reported = reported.get(place).map_or(&[][..], Vec::as_slice);
        let common = reported.len().min(truth.len());
        assert_eq!(reported[..common], truth[..common], "{place:x?}");
        differences += reported.len().abs_diff(truth.len());
    }
    assert!(
        differences <= 8,
        "{differences} events are missing or were not done"
    );
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    assert_eq!(capture.ended, Ended::WithoutNotice);
}

/// A signal to vramscope-capture reaches the program.
#[test]
fn by_a_signal_from_outside() {
    let session = Session::new();
    let mut child = paused(&session);
    // SAFETY: a child of this process that was not waited for.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("an end");
    drop(stdin);
    let captured = session.finish(output);
    assert_eq!(
        captured.status.code(),
        Some(128 + libc::SIGTERM),
        "{}",
        captured.stderr
    );
    assert_same(&captured.snapshot(), captured.ledger());
}

/// A forked child has no CUDA and leaves no log.
#[test]
fn forks_are_not_recorded() {
    let session = Session::new();
    let raw = session.folder().join("raw").display().to_string();
    let captured = session
        .with(&["--raw-dir", &raw])
        .capture("scenes", &["dlsym", "fork"]);
    assert!(
        captured.stdout.contains("fork: child ended with 0"),
        "{}",
        captured.stdout
    );
    assert_same(&captured.snapshot(), captured.ledger());
    let run = std::fs::read_dir(raw).expect("a folder").next();
    let run = run.expect("a folder of the run").expect("an entry").path();
    assert_eq!(std::fs::read_dir(run).expect("a folder").count(), 1);
}

#[test]
fn children_get_snapshots_of_their_own() {
    let captured = Session::new().capture("scenes", &["dlsym", "spawn"]);
    assert!(
        captured.stdout.contains("spawn: child ended with Some(0)"),
        "{}",
        captured.stdout
    );
    assert_eq!(captured.ledgers.len(), 2);
    for ledger in &captured.ledgers {
        let name = captured
            .folder
            .path()
            .join(format!("snapshot-{}.pickle", ledger.process));
        let path = if name.is_file() {
            &name
        } else {
            &captured.snapshot
        };
        let snapshot = read(path, &captured.stderr);
        assert_same(&snapshot, ledger);
        let capture = Capture::of(&snapshot).expect("a captured snapshot");
        assert_eq!(capture.process, u64::from(ledger.process));
    }
}

/// The ranks are those with which the processes started.
#[test]
fn ranks_get_snapshots_of_their_own() {
    let session = Session::new();
    let program = client("scenes").display().to_string();
    let script = format!("RANK=1 '{program}' dlsym plain & RANK=0 '{program}' dlsym plain; wait");
    let mut command = session.command(std::path::Path::new("sh"), &["-c", &script]);
    let captured = session.finish(command.output().expect("it starts"));
    for rank in [0, 1] {
        let name = format!("snapshot-rank{rank}.pickle");
        let snapshot = read(&captured.folder.path().join(name), &captured.stderr);
        let process = Capture::of(&snapshot).expect("a captured snapshot").process;
        let mut ledgers = captured.ledgers.iter();
        let own = ledgers.find(|ledger| u64::from(ledger.process) == process);
        assert_same(&snapshot, own.expect("a ledger"));
    }
}

/// A dump of a running program, which continues.
#[test]
fn dumped_while_it_runs() {
    let session = Session::new();
    let mut child = paused(&session);
    let now = session.folder().join("now.pickle");
    let mut dump = Command::new(capture());
    dump.arg("dump")
        .arg(child.id().to_string())
        .arg("-o")
        .arg(&now);
    let dump = dump.output().expect("it starts");
    let messages = String::from_utf8_lossy(&dump.stderr).into_owned();
    assert!(dump.status.success(), "{messages}");
    let ledgers = vramscope_capture_tests::ledger::Ledger::all(&session.folder().join("ledgers"));
    let snapshot = read(&now, &messages);
    assert_same(&snapshot, &ledgers[0]);
    let capture = Capture::of(&snapshot).expect("a captured snapshot");
    assert_eq!(capture.ended, Ended::Running);

    let mut stdin = child.stdin.take().expect("its input is piped");
    stdin.write_all(b"on\n").expect("it listens");
    drop(stdin);
    let captured = session.finish(child.wait_with_output().expect("an end"));
    assert!(captured.status.success(), "{}", captured.stderr);
    assert_same(&captured.snapshot(), captured.ledger());
    assert!(captured.ledger().lines.len() > ledgers[0].lines.len());
}

/// Two simultaneous dumps of a recording that only `run` holds.
#[test]
fn a_ring_dumped_by_two() {
    let session = Session::new().with(&["--max-entries", "100000"]);
    let mut child = paused(&session);
    let snapshots = ["one", "two"].map(|name| session.folder().join(name).with_extension("pickle"));
    let dumps = snapshots.clone().map(|snapshot| {
        let mut dump = Command::new(capture());
        let process = child.id().to_string();
        dump.args(["dump", &process, "-o"]).arg(snapshot);
        dump.stderr(std::process::Stdio::piped());
        dump.spawn().expect("it starts")
    });
    let ledgers = vramscope_capture_tests::ledger::Ledger::all(&session.folder().join("ledgers"));
    for (dump, snapshot) in dumps.into_iter().zip(snapshots) {
        let output = dump.wait_with_output().expect("an end");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{messages}");
        assert_same(&read(&snapshot, &messages), &ledgers[0]);
    }
    drop(child.stdin.take());
    let captured = session.finish(child.wait_with_output().expect("an end"));
    assert_same(&captured.snapshot(), captured.ledger());
}

/// What only `run` held is lost with it. `dump` reports that at once, with advice.
#[test]
fn a_ring_whose_run_was_killed() {
    let session = Session::new();
    let raw = session.folder().join("raw").display().to_string();
    let session = session.with(&["--max-entries", "100", "--raw-dir", &raw]);
    let mut child = paused(&session);
    // The program continues, as its input stays open.
    let _stdin = child.stdin.take();
    child.kill().expect("it runs");
    child.wait().expect("an end");
    let ledgers = vramscope_capture_tests::ledger::Ledger::all(&session.folder().join("ledgers"));
    let mut dump = Command::new(capture());
    dump.args(["dump", &ledgers[0].process.to_string(), "-o"]);
    let dump = dump.arg(session.snapshot()).output().expect("it starts");
    let messages = String::from_utf8_lossy(&dump.stderr).into_owned();
    assert_eq!(dump.status.code(), Some(1), "{messages}");
    assert!(
        messages.contains("run` has ended. If it was killed"),
        "{messages}"
    );
    let advice = messages.split("vramscope-capture convert ").nth(1);
    let words: Vec<_> = advice.expect("a command").split_whitespace().collect();
    let mut convert = Command::new(capture());
    let convert = convert
        .arg("convert")
        .args(words)
        .output()
        .expect("it starts");
    assert!(
        convert.status.success(),
        "{}",
        String::from_utf8_lossy(&convert.stderr)
    );
    assert!(session.snapshot().is_file());
}

/// Starts the scene `paused` and waits until it pauses.
fn paused(session: &Session) -> Child {
    let mut command = session.command(&client("scenes"), &["dlsym", "paused"]);
    command.stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the capture starts");
    wait_for(&mut child, "paused");
    child
}
