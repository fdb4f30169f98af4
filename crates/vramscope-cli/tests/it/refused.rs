//! Files that are not snapshots: the message on standard error, with exit code 1.

use std::fs;

use insta::assert_snapshot;

use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

#[test]
fn every_kind_of_wrong_file_gets_its_own_message() {
    let folder = fixtures().join("refused");
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut messages = String::new();
    for name in names {
        let output = vramscope(&["info", &format!("refused/{name}")]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        messages.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    assert_snapshot!(messages);
}

#[test]
fn a_file_that_cannot_be_opened() {
    let mut messages = String::new();
    for name in ["no.pickle", "no/such.pickle"] {
        messages.push_str(&transcript(&vramscope(&["info", name])));
    }
    assert_snapshot!(messages);
}

#[test]
fn a_file_in_place_of_a_command() {
    let words = ["torch-2.15.0/training.pickle", "no.pickle"];
    let said = words.map(|word| transcript(&vramscope(&[word])));
    assert_snapshot!(said.concat());
}

#[test]
fn an_empty_standard_input() {
    assert_snapshot!(transcript(&vramscope_reading(&["info", "-"], b"")));
}
