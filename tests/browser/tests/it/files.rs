//! Files of every kind are drawn.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vramscope_browser_tests::root;

use crate::PATIENCE;
use crate::open::{Open, fixture, open};

#[test]
fn a_dropped_file_becomes_a_picture() {
    let mut open = open("");
    open.page
        .drop_files(640.0, 360.0, &[fixture("torch-2.8.0/training.pickle")])
        .unwrap();
    let mark = open.painted();
    assert_eq!(mark.detail["view"], "timeline");
    assert!(
        mark.detail["events"].as_u64().unwrap() > 100,
        "{}",
        mark.detail
    );
    assert!(
        mark.detail["allocations"].as_u64().unwrap() > 50,
        "{}",
        mark.detail
    );
    assert!(colours(&mut open) > 20, "the picture is empty");
    open.check_quiet();
}

/// A file's name and its texts may contain characters that reorder the text beside them.
#[test]
fn what_reorders_text_is_shown_as_its_escape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a\u{202e}nosj.json");
    let snapshot = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 4096, "stream": 0, "blocks": [
        {"address": 4096, "size": 4096, "requested_size": 4000, "state": "active_allocated",
         "frames": [{"name": "lia\u202ef", "filename": "/x/tr\u2066ain.py", "line": 3}]}]}],
        "device_traces": []}"#;
    fs::write(&file, snapshot).unwrap();
    let mut open = open("");
    open.choose(&[file]);
    open.painted();
    assert_eq!(open.page.text("[role=tab]").unwrap(), "a\\u202enosj.json");
    open.page.click_on(".rail [data-view=table]").unwrap();
    let is_shown = "document.querySelector('main').innerText.includes('lia\\\\u202ef')";
    open.page.wait_for(is_shown, PATIENCE).unwrap();
    let hidden = open
        .page
        .eval("/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.documentElement.outerHTML + document.title)")
        .unwrap();
    assert_eq!(hidden, false);
    open.check_quiet();
}

#[test]
fn several_files_are_tabs() {
    let mut open = open("");
    open.choose(&[
        fixture("torch-2.8.0/training.pickle"),
        fixture("torch-2.8.0/oom_after.pickle"),
    ]);
    open.page
        .wait_for(
            "document.querySelectorAll('[role=tab]').length === 2",
            PATIENCE,
        )
        .unwrap();
    open.painted();
    let selected = "document.querySelector('[role=tab][aria-selected=true]').title";
    let first = open.page.eval(selected).unwrap();
    open.page
        .click_on("[role=tab][aria-selected=false]")
        .unwrap();
    open.page
        .wait_for(&format!("{selected} !== {first}"), PATIENCE)
        .unwrap();
    open.painted();
    open.page.click_on(".tab.current .close").unwrap();
    open.page
        .wait_for(
            "document.querySelectorAll('[role=tab]').length === 1",
            PATIENCE,
        )
        .unwrap();
    assert_eq!(open.page.eval(selected).unwrap(), first);
    open.check_quiet();
}

/// With several files dropped at once, all names are visible, and it is clear which is shown and which ran out of
/// memory.
#[test]
fn tabs_say_which_file_is_which() {
    let mut open = open("");
    let files = [
        "training",
        "leak_of_activations_with_a_long_name",
        "oom_after",
    ];
    let folder = tempfile::tempdir().unwrap();
    let files = files.map(|name| folder.path().join(format!("{name}.pickle")));
    let recorded = fixture("torch-2.8.0/training.pickle");
    for (file, from) in files.iter().zip([
        recorded.clone(),
        recorded,
        fixture("torch-2.8.0/oom_after.pickle"),
    ]) {
        fs::copy(from, file).unwrap();
    }
    open.page.drop_files(640.0, 360.0, &files).unwrap();
    open.page
        .wait_for(
            "document.querySelectorAll('.tab:not(:has(.spot))').length === 3 && document.querySelectorAll('.card').length > 2",
            PATIENCE,
        )
        .unwrap();
    open.painted();
    for width_px in [1024, 1280, 1920] {
        open.page.set_viewport(width_px, 720, 1.0).unwrap();
        open.page.pause(Duration::from_millis(200)).unwrap();
        let cut = open.page.eval(CUT_NAMES).unwrap();
        assert_eq!(cut.as_array().unwrap().len(), 0, "{width_px}: {cut}");
    }
    let told = "['.tab', '.card'].map(of => [...document.querySelectorAll(`${of}:has(.oom) .name`)].map(name => name.innerText).join()).join(';')";
    let told = open.page.eval(told).unwrap();
    let told = told.as_str().unwrap();
    let (tabs, cards) = told.split_once(';').unwrap();
    for names in [tabs, cards] {
        assert!(
            names.contains("oom_after") && names.matches("OOM").count() == 1,
            "{told}"
        );
    }
    let heard = "document.querySelector('.tab:has(.oom) [role=tab]').ariaLabel";
    let heard = open.page.eval(heard).unwrap();
    let heard = heard.as_str().unwrap();
    assert!(heard.ends_with("oom_after OOM"), "{heard}");
    let current = "document.querySelector('.tab.current [role=tab]').title + document.querySelector('.card.current button').title";
    let current = open.page.eval(current).unwrap();
    assert_eq!(
        current.as_str().unwrap().matches("oom_after").count(),
        2,
        "{current}"
    );
    open.check_quiet();
}

/// The names of tabs outside the row of tabs, or with their ends cut off.
const CUT_NAMES: &str = "(() => {
  const row = document.querySelector('.tabs').getBoundingClientRect();
  return [...document.querySelectorAll('.tab .name')].filter(name => {
    const [box, end] = [name, name.lastElementChild].map(of => of.getBoundingClientRect());
    return box.left < row.left || box.right > row.right + 1 || end.right > box.right + 1;
  }).map(name => name.title);
})()";

#[test]
fn every_sample_opens() {
    let mut open = open("");
    let count = open
        .page
        .eval("document.querySelectorAll('.sample').length")
        .unwrap();
    let count = count.as_u64().unwrap();
    assert_eq!(count, 15);
    for nth in 1..=count {
        open.page
            .click_on(&format!("li:nth-child({nth}) > .sample"))
            .unwrap();
        let painted = open.painted().detail;
        let allocations = painted["allocations"].as_u64().unwrap_or(0);
        assert!(
            allocations > 0 || painted["view"] != "timeline",
            "{painted}"
        );
        open.page.clear_marks().unwrap();
        open.page.click_on(".brand").unwrap();
        open.page
            .wait_for("!!document.querySelector('.sample')", PATIENCE)
            .unwrap();
    }
    open.check_quiet();
}

/// Every snapshot among the fixtures (those for planning are graphs, traces and lists of buffers)
/// and every real file, if there are any: the page refuses none of them.
#[test]
fn every_snapshot_opens() {
    let mut files = Vec::new();
    for folder in fs::read_dir(root().join("tests/fixtures")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name();
        // Some folders have other files: raw logs, graphs, refused files, texts. And causes has a hundred of one kind.
        if !["captured", "planning", "refused", "causes", "text"]
            .iter()
            .any(|other| name == *other)
        {
            files.extend(snapshots_in(&folder.path()));
        }
    }
    let shared = std::env::var_os("VRAMSCOPE_SHARED")
        .map_or_else(|| root().join("../shared"), PathBuf::from)
        .join("real");
    if shared.is_dir() {
        files.extend(snapshots_in(&shared));
    } else {
        println!(
            "skipped: the real files, which are not in {}",
            shared.display()
        );
    }
    files.sort();
    let mut open = open("");
    let refused: Vec<_> = files
        .iter()
        .filter_map(|file| Some((file, refusal(&mut open, file)?)))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    open.check_quiet();
}

fn snapshots_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    files
        .filter(|file| {
            file.is_file()
                && file
                    .extension()
                    .is_some_and(|extension| extension != "txt" && extension != "md")
        })
        .collect()
}

/// Opens one file and closes it again. Returns the page's message if it does not show the file.
fn refusal(open: &mut Open, file: &Path) -> Option<String> {
    open.choose(&[file.to_path_buf()]);
    let shown = "document.querySelector('.workspace') ? 'shown' : \
                 document.querySelector('.card.failed')?.innerText";
    let answer = open.page.wait_for(shown, PATIENCE).unwrap();
    open.page.click_on(".tab.current .close").unwrap();
    open.page
        .wait_for("!document.querySelector('.tab')", PATIENCE)
        .unwrap();
    (answer != "shown").then(|| answer.to_string())
}

/// Number of different colours in the picture.
fn colours(open: &mut Open) -> u64 {
    let count = open.page.eval(
        "(() => { const from = document.querySelector('.stage canvas'); \
         const to = new OffscreenCanvas(from.width, from.height).getContext('2d'); \
         to.drawImage(from, 0, 0); \
         return new Set(new Uint32Array(to.getImageData(0, 0, from.width, from.height).data.buffer)).size })()",
    );
    count.unwrap().as_u64().unwrap()
}
