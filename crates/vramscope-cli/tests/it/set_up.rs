//! Completions and man pages.

use std::fs;

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

#[test]
fn every_shell_learns_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = transcript(&vramscope(&["completions", shell]));
        assert!(text.starts_with("exit code 0"), "{shell}");
        assert!(
            text.contains("fragmentation") && text.contains("group-by"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = vramscope(&["man", "-o", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", transcript(&output));
    let pages = fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = pages
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    for page in ["vramscope.1", "vramscope-peak.1", "vramscope-trace-plot.1"] {
        assert!(names.iter().any(|name| name == page), "{page} in {names:?}");
    }
}

#[test]
fn a_page_can_be_read_at_once() {
    let text = transcript(&vramscope(&["man", "peak"]));
    assert!(
        text.contains(".SH EXAMPLES") || text.contains("Examples:"),
        "{text}"
    );
    assert!(transcript(&vramscope(&["man"])).contains("vramscope"));
}

#[test]
fn a_page_of_no_command() {
    assert_snapshot!(transcript(&vramscope(&["man", "peek"])));
}
