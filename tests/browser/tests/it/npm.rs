//! The npm package in other people's sites: without a bundler, built by Vite, and on Vite's own server.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use vramscope_browser_tests::{Chromium, Page, Request, Server};

use crate::PATIENCE;
use crate::open::open_in;

/// The sites that `cargo xtask test` has built from `tests/npm`; `None` without npm or a network.
#[expect(clippy::print_stdout, reason = "says what it skips")]
fn sites() -> Option<PathBuf> {
    let sites = std::env::var_os("VRAMSCOPE_SITES").map(PathBuf::from);
    if sites.is_none() {
        println!("skipped: VRAMSCOPE_SITES is not set; `cargo xtask test` sets it where npm is");
    }
    sites
}

/// Waits until the site's element shows the map of its snapshot.
fn check(page: &mut Page) {
    let inner = "document.querySelector('vramscope-viewer')?.shadowRoot.querySelector('iframe')?.contentDocument";
    let shown = format!(
        "{inner}?.querySelector('.stage canvas') && {inner}.location.hash.includes('view=map') && {inner}.location.href"
    );
    let shown = page.wait_for(&shown, PATIENCE).unwrap();
    assert!(
        shown.as_str().unwrap().contains("file=training.pickle.gz"),
        "{shown}"
    );
    assert_eq!(page.complaints().unwrap(), [""; 0]);
}

#[test]
fn a_site_without_a_bundler_shows_it() {
    let Some(sites) = sites() else { return };
    let mut site = open_in(&sites, "plain.html");
    check(&mut site.page);
    site.check_quiet();
}

#[test]
fn vite_puts_the_page_beside_the_site_under_any_base() {
    let Some(sites) = sites() else { return };
    let mut site = open_in(&sites.join("built/root"), "");
    check(&mut site.page);
    for (folder, path) in [("built/under", "sub/"), ("built/anywhere", "a/b/")] {
        let server = Server::start(&sites.join(folder), 0).unwrap();
        site.page.goto(&server.url(path)).unwrap();
        check(&mut site.page);
        let page = server.url(&format!("{path}vramscope/index.html"));
        let is_beside = |request: &Request| request.url.starts_with(&page);
        assert!(
            site.page.requests().unwrap().iter().any(is_beside),
            "{page}"
        );
    }
}

/// Vite's development server, which ends with the test.
struct Vite(Child);

impl Drop for Vite {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn vite_serves_the_page_while_a_site_is_developed() {
    let Some(sites) = sites() else { return };
    let mut vite = Command::new("node");
    vite.args([
        "node_modules/vite/bin/vite.js",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]);
    vite.args(["--base", "/sub/", "--clearScreen", "false"]);
    let vite = vite
        .current_dir(&sites)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped());
    let mut vite = Vite(vite.spawn().unwrap());
    let output = BufReader::new(vite.0.stdout.take().unwrap());
    let mut lines = output.lines().map(Result::unwrap);
    let address = lines.find_map(|line| Some(line.split_once("Local:")?.1.trim().to_owned()));
    let chromium = Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.goto(&address.unwrap()).unwrap();
    check(&mut page);
}
