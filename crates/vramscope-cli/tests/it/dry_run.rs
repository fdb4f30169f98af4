//! `vramscope dry-run`: what it refuses, and what it says of programs that it cannot run. Programs over torch are run by
//! `vramscope-dryrun`'s tests.

use insta::assert_snapshot;

use crate::program::{transcript, vramscope};

#[test]
fn help_of_dry_run() {
    assert_snapshot!(transcript(&vramscope(&["dry-run", "--help"])));
}

#[test]
fn what_it_refuses() {
    let refused: [&[&str]; 6] = [
        &["--gpu", "mi300x", "--", "python"],
        &["--gpu", "80GB", "--", "python"],
        &["--fit", "64..1", "--", "python", "{}"],
        &["--fit", "1..64", "--", "python", "train.py"],
        &["--rank", "8", "--world", "8", "--", "python"],
        &["--gpu", "h100"],
    ];
    let said = refused.map(|arguments| transcript(&vramscope(&[&["dry-run"], arguments].concat())));
    assert_snapshot!(said.join("\n"));
}

#[test]
fn a_python_that_is_not_there() {
    let said = vramscope(&["dry-run", "--", "/no/such/python3", "train.py"]);
    assert_eq!(said.status.code(), Some(1));
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(text.contains("cannot start /no/such/python3"), "{text}");
}
