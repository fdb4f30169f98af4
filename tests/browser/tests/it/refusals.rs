//! Files other than snapshots are refused with a helpful message, and do not affect open files.

use std::collections::BTreeSet;

use crate::PATIENCE;
use crate::open::{fixture, open, open_fixture};

#[test]
fn each_kind_of_wrong_file_has_its_own_message() {
    let mut open = open("");
    let mut messages = BTreeSet::new();
    let files = [
        "checkpoint.pt",
        "chrome_trace.json",
        "empty.pickle",
        "nuls.pickle",
        "truncated.pickle",
        "object.pickle",
        "text.txt",
    ];
    for name in files {
        open.choose(&[fixture(&format!("refused/{name}"))]);
        open.page
            .wait_for("!!document.querySelector('.card.failed')", PATIENCE)
            .unwrap();
        let message = open.page.text(".card.failed .what").unwrap();
        assert!(message.len() > 10, "{name}: {message:?}");
        assert!(
            messages.insert(message.clone()),
            "{name} says the same as another: {message}"
        );
        open.page.click_on(".tab.current .close").unwrap();
        open.page
            .wait_for("!document.querySelector('.tab')", PATIENCE)
            .unwrap();
    }
    open.check_quiet();
}

#[test]
fn a_truncated_file_says_where_it_ends() {
    let mut open = open("");
    open.choose(&[fixture("refused/truncated.pickle")]);
    open.page
        .wait_for("!!document.querySelector('.card.failed')", PATIENCE)
        .unwrap();
    let card = open.page.text(".card.failed").unwrap();
    assert!(card.contains("truncated.pickle"), "{card}");
    assert!(card.to_lowercase().contains("byte"), "{card}");
    let role = open
        .page
        .eval("document.querySelector('.card.failed').getAttribute('role')");
    assert_eq!(role.unwrap(), "alert");
}

#[test]
fn a_wrong_file_leaves_the_open_one_as_it_is() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    open.choose(&[fixture("refused/text.txt")]);
    open.page
        .wait_for("!!document.querySelector('.card.failed')", PATIENCE)
        .unwrap();
    open.page.clear_marks().unwrap();
    open.page
        .click_on("[role=tab][title='training.pickle']")
        .unwrap();
    open.painted();
    assert!(!open.page.text(".statusbar").unwrap().is_empty());
    open.check_quiet();
}
