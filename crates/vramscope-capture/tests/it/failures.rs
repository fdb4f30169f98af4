//! Snapshots that cannot be written at their place: the recording is kept, and the message says where.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use vramscope_record::layout::header;

use crate::program::{Place, leave_log, log};

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
        " -o FILE",
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
    for (name, process) in [("a.raw", 1_u64 << 40), ("b.raw", (1 << 40) + 1)] {
        let mut log = log(3);
        log.set_u64(header::PROCESS, process);
        fs::write(place.path(name), log.bytes()).unwrap();
    }
    symlink("/dev/full", place.path("x-1099511627776.pickle")).unwrap();
    let script = [leave_log("a.raw", "1-1.raw"), leave_log("b.raw", "2-1.raw")].join(";");
    let transcript = place.run_script(&["--follow-children", "-o", "x.pickle"], &script);
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
    let other = place.snapshot("x-1099511627777.pickle");
    assert_eq!(other.segments.rows.len(), 3);
}

#[test]
fn who_does_not_wait_for_the_snapshot_is_told_where_the_log_is() {
    let place = Place::new();
    place.log("a.raw", 3);
    // Nobody reads from it, so the snapshot is never written.
    let pipe = Command::new("mkfifo").arg(place.path("x.pickle")).status();
    assert!(pipe.unwrap().success());
    let script = format!("{}; : > ended", leave_log("a.raw", "1-1.raw"));
    let child = place
        .command(&["run", "-o", "x.pickle", "sh", "-c", &script])
        .spawn()
        .unwrap();
    while !place.path("ended").exists() {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_secs(1));
    let mut kill = Command::new("kill");
    kill.arg("-INT").arg(child.id().to_string());
    assert!(kill.status().unwrap().success());
    let transcript = place.transcript(&child.wait_with_output().unwrap());
    assert!(transcript.starts_with("exit code 130\n"), "{transcript}");
    let kept = between(&transcript, "the recording is in /HERE/", "\n");
    place.capture(&["convert", kept, "-o", "y.pickle"]);
    assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
}
