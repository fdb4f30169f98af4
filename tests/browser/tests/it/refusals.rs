//! Files other than snapshots are refused with a helpful message, and do not affect open files.

use std::collections::BTreeSet;
use std::fs;

use vramscope_synth::pickle::bombs::{self, zstd};

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

/// Files that ask for all memory, opened at once: each reports it in its own tab.
#[test]
fn bombs_leave_the_open_file_as_it_is() {
    let mut open = open_fixture("torch-2.8.0/training.pickle");
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    let mut add = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        files.push(file);
    };
    // 8 GiB each, in 256 KiB.
    add("nones.zst", &zstd(b"\x80\x04", b'N', 64 << 10));
    add("blanks.zst", &zstd(b"{", b' ', 64 << 10));
    let plain = ["duplicates", "pairs_in_one_dict", "memo", "json_dicts"];
    for bomb in bombs::all() {
        if plain.contains(&&*bomb.name) {
            let mut bytes = Vec::new();
            bomb.write(&mut bytes).unwrap();
            add(&bomb.name, &bytes);
        }
    }
    assert_eq!(files.len(), 6);
    open.choose(&files);
    let settled = "!document.querySelector('.tab .busy')";
    open.page.wait_for(settled, PATIENCE).unwrap();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let tab = format!("[role=tab][title='{name}']");
        open.page.click_on(&tab).unwrap();
        let what = open.page.text(".card.failed .what").unwrap();
        assert!(what.starts_with("Refused: "), "{name}: {what}");
    }
    let mark = open.repainted(|page| {
        let tab = "[role=tab][title='training.pickle']";
        page.click_on(tab).unwrap();
    });
    assert!(mark.detail["allocations"].as_u64().unwrap() > 50);
    open.check_quiet();
}
