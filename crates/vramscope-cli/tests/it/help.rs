//! `--help` and wrong usage.

use insta::assert_snapshot;

use vramscope_core::analysis::properties::Property;

use crate::program::{command, transcript, vramscope};

#[test]
fn help_of_the_program() {
    assert_snapshot!(transcript(&vramscope(&["--help"])));
}

#[test]
fn help_of_info() {
    assert_snapshot!(transcript(&vramscope(&["info", "--help"])));
}

#[test]
fn help_of_view() {
    assert_snapshot!(transcript(&vramscope(&["view", "--help"])));
}

#[test]
fn the_version() {
    let output = vramscope(&["--version"]);
    let expected = concat!("vramscope ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in [&["inof"][..], &["info"], &["info", "--unknown", "x"], &[]] {
        assert_eq!(vramscope(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_of_plot() {
    assert_snapshot!(transcript(&vramscope(&["plot", "--help"])));
}

/// An installed program has no other files beside it.
#[test]
fn the_formats_are_described_by_the_program() {
    for (name, heading) in [
        ("json", "# The JSON of `--json`"),
        ("exports", "# What `vramscope convert` writes"),
    ] {
        let text = String::from_utf8(vramscope(&["man", name]).stdout).unwrap();
        assert!(text.starts_with(heading), "{name}: {text}");
    }
    let options = transcript(&vramscope(&["trace", "--help"]));
    assert!(!options.contains("--memory"), "{options}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs /dev/full")]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["--version"], &["peak", "-h"], &["help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let output = command(arguments).stdout(full.unwrap()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
}

/// Python's type of `group_by` lists the command line's values.
#[test]
fn python_knows_what_allocations_are_grouped_by() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../vramscope-python/python/vramscope"
    );
    let source = std::fs::read_to_string(format!("{root}/_snapshot.py")).unwrap();
    let (_, after) = source.split_once("GroupBy = Literal[").unwrap();
    let (words, _) = after.split_once(']').unwrap();
    let words = words.split(',').map(|word| word.trim().trim_matches('"'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let grouped = Property::all().filter(|property| property.is_grouped());
    let grouped: Vec<String> = grouped
        .map(|property| property.row().word.replace('_', "-"))
        .collect();
    assert_eq!(words, grouped);
}
