//! `--help` and wrong usage.

use insta::assert_snapshot;

use crate::program::Place;

#[test]
fn help_of_the_program() {
    assert_snapshot!(Place::new().capture(&["--help"]));
}

#[test]
fn help_of_run() {
    assert_snapshot!(Place::new().capture(&["run", "--help"]));
}

#[test]
fn help_of_dump() {
    assert_snapshot!(Place::new().capture(&["dump", "--help"]));
}

#[test]
fn help_of_convert() {
    assert_snapshot!(Place::new().capture(&["convert", "--help"]));
}

#[test]
fn the_version() {
    let expected = concat!(
        "exit code 0\n--- stdout\nvramscope-capture ",
        env!("CARGO_PKG_VERSION"),
        "\n--- stderr\n"
    );
    assert_eq!(Place::new().capture(&["--version"]), expected);
}

#[test]
fn wrong_usage_exits_with_2() {
    let place = Place::new();
    for arguments in [
        &[][..],
        &["record"],
        &["run"],
        &["run", "--"],
        &["run", "--unknown", "true"],
        &["run", "--cap", "much", "true"],
        &["run", "--depth", "0", "true"],
        &["run", "--skip-actions", "allocs", "true"],
        &["run", "-o", "x.txt", "true"],
        &["run", "-o", "missing/x.pickle", "true"],
        &["dump"],
        &["dump", "me"],
        &["convert"],
    ] {
        let transcript = place.capture(arguments);
        assert!(
            transcript.starts_with("exit code 2\n"),
            "{arguments:?}: {transcript}"
        );
    }
    assert!(place.files().is_empty());
}
