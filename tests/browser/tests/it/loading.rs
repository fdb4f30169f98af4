//! The page comes up, wherever it is served from, and keeps to itself.

use std::fs;

use vramscope_browser_tests::page_folder;

use crate::{Open, PATIENCE, open, open_in};

/// Waits until the page has come up with its worker.
fn wait_until_up(open: &mut Open) {
    open.page
        .wait_for(
            "document.querySelector('#worker-answer').innerText",
            PATIENCE,
        )
        .unwrap();
}

#[test]
fn the_page_comes_up_and_talks_to_nobody() {
    let mut open = open("");
    wait_until_up(&mut open);
    let asked = open.server.requests().len();
    open.page.pause(std::time::Duration::from_secs(1)).unwrap();
    assert_eq!(
        open.server.requests().len(),
        asked,
        "asked for more when all was loaded"
    );
    open.check_quiet();
}

#[test]
fn the_page_works_from_any_folder() {
    let site = tempfile::tempdir().unwrap();
    let folder = site.path().join("some/deep folder");
    copy(&page_folder(), &folder);
    let mut open = open_in(site.path(), "some/deep%20folder/index.html");
    wait_until_up(&mut open);
    open.check_quiet();
    let inside = |path: &String| path.starts_with("/some/deep%20folder/");
    assert!(
        open.server.requests().iter().all(inside),
        "{:?}",
        open.server.requests()
    );
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
