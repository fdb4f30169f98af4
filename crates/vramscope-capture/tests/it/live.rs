//! Live snapshots of logs: one per process, until the end; and logs that cannot be followed.

use insta::assert_snapshot;
use vramscope_core::analysis::memory::capture::{Capture, Ended};

use crate::program::{Place, leave_log};

#[test]
fn each_process_has_a_live_file() {
    let place = Place::new();
    place.log("a.raw", 3);
    place.log("b.raw", 5);
    let script = [leave_log("a.raw", "1-1.raw"), leave_log("b.raw", "2-1.raw")].join(";");
    let said = place.run_script(&["--live", "-o", "x.vram"], &script);
    // Announced as soon as there is something to watch, and again at the end.
    for file in ["x.vram", "x-1099511627776.vram"] {
        assert!(
            said.contains(&format!("vramscope view --live {file}\n")),
            "{said}"
        );
        assert!(said.contains(&format!("(solver): {file} (")), "{said}");
    }
    let files = place.files();
    let live: Vec<_> = files
        .iter()
        .filter(|name| name.ends_with(".vram"))
        .collect();
    let mut segments: Vec<_> = live
        .iter()
        .map(|name| place.snapshot(name).segments.rows.len())
        .collect();
    segments.sort_unstable();
    assert_eq!(segments, [3, 5], "{files:?}");
}

#[test]
fn a_log_whose_program_is_gone_is_written_once() {
    let place = Place::new();
    place.log("a.raw", 3);
    assert_snapshot!(place.capture(&["live", "--log", "a.raw"]));
    let snapshot = place.snapshot("live.vram");
    assert_eq!(snapshot.segments.rows.len(), 3);
    assert_ne!(Capture::of(&snapshot).unwrap().ended, Ended::Running);
}

/// Nothing can be created in /proc.
#[test]
fn a_file_that_cannot_be_written_is_not_offered() {
    let place = Place::new();
    place.log("a.raw", 3);
    let script = leave_log("a.raw", "1-1.raw");
    let said = place.run_script(&["--live", "-o", "/proc/x.vram"], &script);
    assert!(said.contains("error: cannot write /proc/x.vram"), "{said}");
    assert!(!said.contains("can be watched"), "{said}");
    let said = place.capture(&["live", "--log", "a.raw", "-o", "/proc/x.vram"]);
    assert!(said.starts_with("exit code 1\n"), "{said}");
    assert!(said.contains("error: cannot write /proc/x.vram"), "{said}");
    assert!(!said.contains("final"), "{said}");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let place = Place::new();
    place.log("a.raw", 3);
    let mut outcomes = vec![
        place.capture(&["live"]),
        place.capture(&["live", "--log", "a.raw", "-o", "a.raw"]),
    ];
    outcomes.push(place.capture(&["live", "--log", "missing.raw"]));
    outcomes.push(place.capture(&["live", "--log", "a.raw", "--every", "1"]));
    assert_snapshot!(outcomes.join("\n"));
}
