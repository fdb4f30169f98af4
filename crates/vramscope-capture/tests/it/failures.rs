//! Snapshots that cannot be written where they are to be: what was recorded is kept, and where is said truly.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

use vramscope_record::layout::header;

use crate::program::{Place, leave_log, log};

/// What stands between `before` and `after` in a text.
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
    let said = place.run_script(&["-o", "x.pickle"], &leave);
    assert!(said.starts_with("exit code 1\n"), "{said}");
    let kept = between(
        &said,
        "its log is kept: vramscope-capture convert /HERE/",
        " -o FILE",
    );
    place.capture(&["convert", kept, "-o", "y.pickle"]);
    assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
    // The program's own exit code comes first.
    let said = place.run_script(&["-o", "x.pickle"], &format!("{leave}; exit 7"));
    assert!(said.starts_with("exit code 7\n"), "{said}");
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
        let said = place.run_script(&options, &leave_log("a.raw", "1-1.raw"));
        assert!(said.starts_with("exit code 1\n"), "{said}");
        assert!(!said.contains("convert"), "{said}");
        let elsewhere = between(&said, "it was written elsewhere: /HERE/", " (SIZE)");
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
    let said = place.run_script(&["--follow-children", "-o", "x.pickle"], &script);
    assert!(said.starts_with("exit code 1\n"), "{said}");
    let other = place.snapshot("x-1099511627777.pickle");
    assert_eq!(other.segments.rows.len(), 3);
}

#[test]
fn who_does_not_wait_for_the_snapshot_is_told_where_the_log_is() {
    let place = Place::new();
    place.log("a.raw", 3);
    // Nobody reads it: the snapshot is never written.
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
    let said = place.transcript(&child.wait_with_output().unwrap());
    assert!(said.starts_with("exit code 130\n"), "{said}");
    let kept = between(&said, "what was recorded is in /HERE/", "\n");
    place.capture(&["convert", kept, "-o", "y.pickle"]);
    assert_eq!(place.snapshot("y.pickle").segments.rows.len(), 3);
}
