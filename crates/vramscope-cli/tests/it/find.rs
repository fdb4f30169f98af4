//! `find`: the page's filter language.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

const FILE: &str = "torch-2.15.0/training.pickle";

fn find(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["find"], arguments].concat()))
}

#[test]
fn the_largest_first() {
    assert_snapshot!(find(&["size>100KiB live@peak", FILE, "--limit", "4"]));
}

#[test]
fn in_other_orders() {
    for sort in ["born", "died", "lifetime"] {
        assert_snapshot!(sort, find(&["", FILE, "--sort", sort, "--limit", "3"]));
    }
}

#[test]
fn with_stacks() {
    assert_snapshot!(find(&["live", FILE, "--stack", "--limit", "2"]));
    assert_snapshot!(find(&["live", FILE, "--stack", "--limit", "1", "--json"]));
}

#[test]
fn a_stack_that_is_not_there_is_said_so() {
    assert_snapshot!(find(&[
        "",
        "torch-2.15.0/no_stacks.pickle",
        "--stack",
        "--limit",
        "1"
    ]));
}

#[test]
fn by_group() {
    assert_snapshot!(find(&[
        "freed",
        FILE,
        "--group-by",
        "function",
        "--limit",
        "3"
    ]));
}

#[test]
fn cursor_and_range_are_given() {
    let filter = "live@cursor born:range";
    assert_snapshot!(find(&[filter, FILE, "--cursor", "50", "--range", "40..60"]));
    assert_snapshot!(find(&[filter, FILE]));
}

#[test]
fn without_times() {
    assert_snapshot!(find(&["", "synth/torch-2.0-py-p4.pickle", "--device", "1"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(find(&["live", FILE, "--csv", "--limit", "2"]));
}

#[test]
fn a_wrong_filter_is_shown() {
    assert_snapshot!(find(&["frame:a sise>1MiB", FILE]));
    assert_snapshot!(find(&["(a | b", FILE]));
    assert_snapshot!(find(&[FILE, "live"]));
}

#[test]
fn help_lists_the_language() {
    assert_snapshot!(find(&["--help"]));
}
