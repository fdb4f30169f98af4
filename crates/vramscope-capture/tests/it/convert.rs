//! `convert` and `dump`: conversion of logs, and refused inputs.

use std::fs;

use insta::assert_snapshot;

use crate::program::Place;

#[test]
fn a_log_becomes_a_snapshot() {
    let place = Place::new();
    place.log("4711-9.raw", 3);
    assert_snapshot!(place.capture(&["convert", "4711-9.raw"]));
    let snapshot = place.snapshot("4711-9.pickle");
    assert_eq!(snapshot.segments.rows.len(), 3);
    assert!(snapshot.warnings.is_empty());
    for name in ["a.json", "a.vram"] {
        place.capture(&["convert", "4711-9.raw", "-o", name]);
        assert_eq!(place.snapshot(name).segments.rows.len(), 3);
    }
}

#[test]
fn a_folder_of_logs() {
    let place = Place::new();
    fs::create_dir(place.path("logs")).unwrap();
    place.log("logs/1-1.raw", 3);
    // As `run --raw-dir logs` leaves it.
    fs::create_dir(place.path("logs/4711-abc")).unwrap();
    place.log("logs/4711-abc/2-1.raw", 4);
    fs::write(place.path("logs/other"), "").unwrap();
    let transcript = place.capture(&["convert", "logs", "-q", "-o", "x.pickle"]);
    assert_eq!(transcript, "exit code 0\n--- stdout\n--- stderr\n");
    assert_eq!(place.files(), ["logs", "x-1-1.pickle", "x-2-1.pickle"]);
}

#[test]
fn no_snapshot_takes_the_place_of_another() {
    let place = Place::new();
    for (folder, allocations) in [("a", 3), ("b", 4)] {
        fs::create_dir(place.path(folder)).unwrap();
        place.log(&format!("{folder}/1-1.raw"), allocations);
    }
    for options in [
        &["convert", "a", "b"][..],
        &["convert", "a", "b", "-o", "x.json"],
    ] {
        let transcript = place.capture(options);
        assert!(transcript.starts_with("exit code 2\n"), "{transcript}");
        assert!(
            transcript.contains("would both be written to"),
            "{transcript}"
        );
    }
    assert_eq!(place.files(), ["a", "b"]);
    // Names with dots, as in dated copies.
    for name in ["a.1.raw", "a.2.raw"] {
        place.log(name, 3);
    }
    place.capture(&["convert", "a.1.raw", "a.2.raw"]);
    let expected = ["a", "a.1.pickle", "a.1.raw", "a.2.pickle", "a.2.raw", "b"];
    assert_eq!(place.files(), expected);
}

#[test]
fn one_bad_log_does_not_keep_the_others_from_being_converted() {
    let place = Place::new();
    place.log("a.raw", 3);
    fs::write(place.path("b.raw"), "no log").unwrap();
    place.log("c.raw", 3);
    let transcript = place.capture(&["convert", "b.raw", "a.raw", "c.raw"]);
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
    assert_eq!(
        transcript.matches("error: b.raw").count(),
        1,
        "{transcript}"
    );
    let files = place.files();
    assert_eq!(files, ["a.pickle", "a.raw", "b.raw", "c.pickle", "c.raw"]);
}

#[test]
fn what_is_no_log_is_said_so() {
    let place = Place::new();
    fs::write(place.path("text"), "some text that is no log").unwrap();
    fs::write(place.path("empty.raw"), "").unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    for name in ["text", "empty.raw", "folder", "missing.raw"] {
        assert_snapshot!(
            format!("no_log_{name}"),
            place.capture(&["convert", name, "-o", "x.pickle"])
        );
    }
    assert_eq!(place.files(), ["empty.raw", "folder", "text"]);
}

#[test]
fn the_log_itself_is_not_written() {
    let place = Place::new();
    place.log("a.pickle", 3);
    let before = fs::read(place.path("a.pickle")).unwrap();
    assert_snapshot!(place.capture(&["convert", "a.pickle", "-o", "./a.pickle"]));
    assert_eq!(fs::read(place.path("a.pickle")).unwrap(), before);
}

#[test]
fn a_disk_that_is_full() {
    let place = Place::new();
    place.log("a.raw", 3);
    std::os::unix::fs::symlink("/dev/full", place.path("x.pickle")).unwrap();
    assert_snapshot!(place.capture(&["convert", "a.raw", "-o", "x.pickle"]));
}

#[test]
fn processes_that_are_not_recorded() {
    let place = Place::new();
    assert_snapshot!(place.capture(&["dump", "4294967295"]));
    let transcript = place.capture(&["dump", &std::process::id().to_string()]);
    assert!(transcript.contains("is not being recorded"), "{transcript}");
    assert!(transcript.starts_with("exit code 1\n"), "{transcript}");
}
