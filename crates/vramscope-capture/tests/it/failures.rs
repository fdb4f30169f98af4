//! Snapshots that cannot be written to their destination: the recording is kept, and the message says where.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::time::Duration;

use vramscope_record::layout::header;

use crate::program::{Place, leave_log, leave_logs, log};

/// The text between `before` and `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("{text}")).0
}

#[test]
fn a_log_whose_snapshot_cannot_be_written_is_kept() {
    let place = Place::new();
    place.log("a.raw", 3);
    symlink("/dev/full", place.path("x.pickle")).unwrap();
    let leave = leave_log("a.raw", "1-1.raw");
    let transcript = place.run_script(&["-o", "x.pickle"], &leave);
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
    let kept = between(
        &transcript,
        "its log is kept: vramscope-capture convert /HERE/",
        " -o x.pickle\n",
    );
    place.capture(&["convert", kept, "-o", "y.pickle"]);
    assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
    // The program's own exit code takes precedence.
    let transcript = place.run_script(&["-o", "x.pickle"], &format!("{leave}; exit 7"));
    assert!(transcript.starts_with("exit code 7\n"), "{transcript}");
}

#[test]
fn what_was_taken_over_is_written_elsewhere() {
    let place = Place::new();
    place.log("a.raw", 3);
    symlink("/dev/full", place.path("x.pickle")).unwrap();
    for options in [
        &["--max-entries", "2"][..],
        &["--enabled", "state", "--raw-dir", "lo gs"],
    ] {
        let options = [options, &["-o", "x.pickle"]].concat();
        let transcript = place.run_script(&options, &leave_log("a.raw", "1-1.raw"));
        assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
        assert!(!transcript.contains("convert"), "{transcript}");
        let elsewhere = between(&transcript, "it was written elsewhere: /HERE/", " (SIZE)");
        let elsewhere = elsewhere.strip_suffix(".pickle").unwrap_or(elsewhere);
        let snapshot = place.snapshot(&format!("{elsewhere}.pickle"));
        assert_eq!(snapshot.segments.rows.len(), 3);
    }
}

#[test]
fn one_failure_does_not_stop_the_others() {
    let place = Place::new();
    let script = leave_logs(&place, &[(1 << 40, Some(0)), ((1 << 40) + 1, Some(1))]);
    symlink("/dev/full", place.path("x-rank0.pickle")).unwrap();
    let transcript = place.run_script(&["-o", "x.pickle"], &script);
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
    assert_eq!(place.snapshot("x-rank1.pickle").segments.rows.len(), 3);
    // What was written is not kept again.
    let kept = between(&transcript, "convert /HERE/", " -o x-rank0.pickle\n");
    let folder = place.path(kept).parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    place.capture(&["convert", kept, "-o", "y.pickle"]);
    assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
}

/// A log of a newer version, for instance.
#[test]
fn a_log_that_cannot_be_read_is_kept() {
    let place = Place::new();
    let mut log = log(3);
    log.set_u32(header::VERSION, 99);
    fs::write(place.path("a.raw"), log.bytes()).unwrap();
    let transcript = place.run_script(&["-o", "x.pickle"], &leave_log("a.raw", "1-1.raw"));
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
    let kept = between(&transcript, "convert /HERE/", " -o x.pickle\n");
    assert_eq!(fs::read(place.path(kept)).unwrap(), log.bytes());
}

/// Only `run` has the recording, so it does not end before writing it.
#[test]
fn what_was_taken_over_survives_a_signal() {
    let place = Place::new();
    place.log("a.raw", 3);
    let child = start_blocked(
        &place,
        &["--max-entries", "2", "-o", "x.pickle"],
        "x.pickle",
    );
    signal(&child, "-TERM");
    std::thread::sleep(Duration::from_millis(200));
    let snapshot = fs::read(place.path("x.pickle")).unwrap();
    let transcript = place.transcript(&child.wait_with_output().unwrap());
    assert!(transcript.starts_with("exit code 0\n"), "{transcript}");
    assert!(
        transcript.contains("the snapshot is being written"),
        "{transcript}"
    );
    assert!(vramscope_core::decode(snapshot.as_slice()).is_ok());
    // The second signal is obeyed.
    let child = start_blocked(
        &place,
        &["--max-entries", "2", "-o", "x.pickle"],
        "x.pickle",
    );
    signal(&child, "-TERM");
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-TERM");
    let transcript = place.transcript(&child.wait_with_output().unwrap());
    assert!(transcript.starts_with("exit code 143\n"), "{transcript}");
    assert!(transcript.contains("the recording is lost"), "{transcript}");
}

/// Starts a run with the log `a.raw`, and waits until it cannot write to the pipe `name`.
fn start_blocked(place: &Place, options: &[&str], name: &str) -> Child {
    for file in [name, "ended"] {
        drop(fs::remove_file(place.path(file)));
    }
    // Nobody reads from the pipe, so the snapshot is never written.
    let pipe = Command::new("mkfifo").arg(place.path(name)).status();
    assert!(pipe.unwrap().success());
    let script = format!("{}; : > ended", leave_log("a.raw", "1-1.raw"));
    let child = place
        .command(&[&["run"], options, &["sh", "-c", &script]].concat())
        .spawn()
        .unwrap();
    while !place.path("ended").exists() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_secs(1));
    child
}

fn signal(child: &Child, signal: &str) {
    // The shell's built-in kill: minimal systems have no kill program.
    let script = format!("kill {signal} {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn who_does_not_wait_for_the_snapshot_is_told_where_the_log_is() {
    let place = Place::new();
    place.log("a.raw", 3);
    for name in ["-INT", "-TERM", "-HUP"] {
        let child = start_blocked(&place, &["-o", "x.pickle"], "x.pickle");
        signal(&child, name);
        let transcript = place.transcript(&child.wait_with_output().unwrap());
        assert!(transcript.starts_with("exit code 1"), "{transcript}");
        let kept = between(
            &transcript,
            "vramscope-capture convert /HERE/",
            " -o x.pickle\n",
        );
        place.capture(&["convert", kept, "-o", "y.pickle"]);
        assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
        fs::remove_file(place.path("y.pickle")).unwrap();
    }
}
