//! The page on a host: it opens without a network, can be installed, and says when a newer version waits.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use vramscope_browser_tests::page_folder;

use crate::PATIENCE;
use crate::loading::copy;
use crate::open::{Open, fixture, open_in};

/// The address of the page as on a host. At 127.0.0.1, where `vramscope view` serves it, it is not kept.
fn on_host(open: &Open) -> String {
    open.server.url("").replace("127.0.0.1", "host.localhost")
}

/// Opens the page in `folder` as on a host, and waits until it is kept.
fn open_kept(folder: &Path) -> Open {
    copy(&page_folder(), folder);
    let mut open = open_in(folder, "viewer.js");
    let url = on_host(&open);
    open.page.goto(&url).unwrap();
    open.wait_until_up();
    let kept = "navigator.serviceWorker.ready.then(({ active }) => active.state === 'activated')";
    open.page.wait_for(kept, PATIENCE).unwrap();
    open
}

#[test]
fn once_loaded_the_page_opens_without_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = open_kept(folder.path());
    // What the server has no more, no network brings.
    fs::remove_dir_all(folder.path()).unwrap();
    let url = on_host(&open) + "?x=1#view=map";
    open.page.goto(&url).unwrap();
    open.wait_until_up();
    open.choose(&[fixture("torch-2.8.0/training.pickle")]);
    open.painted();
}

#[test]
fn a_newer_version_waits_until_the_user_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = open_kept(folder.path());
    let script = folder.path().join("offline.js");
    let old = fs::read_to_string(&script).unwrap();
    fs::write(&script, old.replace("VERSION = \"", "VERSION = \"newer")).unwrap();
    let url = on_host(&open);
    open.page.goto(&url).unwrap();
    let offer = "document.querySelector('.newer')?.innerText";
    let text = open.page.wait_for(offer, PATIENCE).unwrap();
    assert!(text.as_str().unwrap().contains("newer version"), "{text}");
    open.page.eval("globalThis.isOld = true").unwrap();
    open.page.click_on(".newer .primary").unwrap();
    let caches = "globalThis.isOld ? null : caches.keys().then(names => names.length === 1 && names[0].includes('newer'))";
    open.page.wait_for(caches, PATIENCE).unwrap();
    open.wait_until_up();
}

#[test]
fn the_page_can_be_installed() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = open_kept(folder.path());
    let manifest = open
        .page
        .call("Page.getAppManifest", serde_json::json!({}))
        .unwrap();
    assert_eq!(manifest["errors"], serde_json::json!([]), "{manifest}");
    let text = manifest["data"].as_str().unwrap();
    assert!(text.contains("file_handlers"), "{text}");
    let wrong = open
        .page
        .call("Page.getInstallabilityErrors", serde_json::json!({}));
    assert_eq!(
        wrong.unwrap()["installabilityErrors"],
        serde_json::json!([])
    );
}

#[test]
fn what_vramscope_view_serves_is_not_kept() {
    let mut open = open_in(&page_folder(), "");
    open.wait_until_up();
    let kept = "navigator.serviceWorker.getRegistrations().then(all => all.length)";
    assert_eq!(open.page.eval(kept).unwrap(), 0);
    open.check_quiet();
}

#[test]
fn a_version_that_a_host_is_putting_in_place_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    copy(&page_folder(), folder.path());
    let script = folder.path().join("offline.js");
    let text = fs::read_to_string(&script).unwrap();
    fs::write(&script, text.replace("[\"app-", "[\"app-newer-")).unwrap();
    let mut open = open_in(folder.path(), "viewer.js");
    let url = on_host(&open);
    open.page.goto(&url).unwrap();
    open.wait_until_up();
    let deadline = Instant::now() + PATIENCE;
    while !open
        .server
        .requests()
        .iter()
        .any(|path| path == "/offline.js")
    {
        assert!(Instant::now() < deadline, "no worker was asked for");
        open.page.pause(Duration::from_millis(50)).unwrap();
    }
    let gone = "navigator.serviceWorker.getRegistration().then(kept => !kept)";
    open.page.wait_for(gone, PATIENCE).unwrap();
    let index = "caches.match(location.href).then(kept => !kept)";
    assert_eq!(open.page.eval(index).unwrap(), true);
}
