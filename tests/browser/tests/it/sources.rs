//! Files from an address: `?src=`.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use vramscope_browser_tests::Server;

use crate::PATIENCE;
use crate::open::{fixture, open};

#[test]
fn an_address_on_the_same_host_opens() {
    let mut open = open("?src=samples/training.pickle.gz");
    assert!(open.painted().detail["allocations"].as_u64().unwrap() > 1000);
    open.check_quiet();
}

#[test]
fn another_host_that_does_not_allow_it_is_explained() {
    let other = tempfile::tempdir().unwrap();
    fs::copy(
        fixture("torch-2.8.0/training.pickle"),
        other.path().join("a.pickle"),
    )
    .unwrap();
    let other = Server::start(other.path(), 0).unwrap();
    let mut open = open(&format!("?src={}", other.url("a.pickle")));
    open.page
        .wait_for("!!document.querySelector('.card.failed')", PATIENCE)
        .unwrap();
    let card = open.page.text(".card.failed").unwrap();
    assert!(
        card.contains("CORS") || card.contains("Access-Control-Allow-Origin"),
        "{card}"
    );
}

#[test]
fn a_missing_file_is_explained() {
    let mut open = open("?src=nothing-here.pickle");
    open.page
        .wait_for("!!document.querySelector('.card.failed')", PATIENCE)
        .unwrap();
    let card = open.page.text(".card.failed").unwrap();
    assert!(card.contains("404"), "{card}");
}

/// A long download shows its progress and can be cancelled.
#[test]
fn opening_shows_progress_and_can_be_cancelled() {
    let address = start_slow_server(100_000_000);
    let mut open = open(&format!("?src=http://{address}/large.pickle"));
    let card = "document.querySelector('section.card').innerText";
    // Some of 100,000,000 bytes.
    let progress = format!("/[1-9][0-9.]* (K|M)iB of 95\\.4 MiB/.test({card})");
    open.page.wait_for(&progress, PATIENCE).unwrap();
    let bar = open
        .page
        .eval("document.querySelector('progress').position")
        .unwrap();
    assert!((0.0..0.9).contains(&bar.as_f64().unwrap()), "{bar}");
    open.page.eval(&press("Cancel")).unwrap();
    open.page
        .wait_for("!document.querySelector('.tab')", PATIENCE)
        .unwrap();
}

#[test]
fn many_files_are_opened_only_when_the_user_agrees() {
    let link = "src=samples/training.pickle.gz&src=nothing.pickle&".repeat(10);
    for (answer, tabs) in [("Cancel", 0), ("Open", 20)] {
        let mut open = open(&format!("?{link}"));
        let asked = open.server.requests().len();
        let text = open.page.text("[role=alertdialog]").unwrap();
        assert!(text.contains("20 files on 127.0.0.1:"), "{text}");
        open.page.pause(Duration::from_millis(300)).unwrap();
        assert_eq!(open.server.requests().len(), asked);
        open.page.eval(&press(answer)).unwrap();
        let settled = format!(
            "!document.querySelector('[role=alertdialog]') && document.querySelectorAll('.tab').length === {tabs}"
        );
        open.page.wait_for(&settled, PATIENCE).unwrap();
        // Reading them needs a part of the page that is loaded on first use.
        let files = move |open: &crate::open::Open| {
            let since = open.server.requests().split_off(asked);
            since.iter().filter(|path| !path.ends_with(".wasm")).count()
        };
        let deadline = std::time::Instant::now() + PATIENCE;
        while files(&open) < tabs {
            assert!(std::time::Instant::now() < deadline, "{}", files(&open));
            open.page.pause(Duration::from_millis(50)).unwrap();
        }
        assert_eq!(files(&open), tabs);
    }
}

#[test]
fn large_files_are_downloaded_only_when_the_user_agrees() {
    let address = start_slow_server(3 << 30);
    let link = format!("?src=http://{address}/large.pickle");
    let ask = "document.querySelector('[role=alertdialog]')?.innerText.includes('3.00 GiB')";
    let mut open = open(&link);
    open.page.wait_for(ask, PATIENCE).unwrap();
    open.page.eval(&press("Open")).unwrap();
    let card = "document.querySelector('section.card').innerText";
    let progress = format!("/[1-9][0-9.]* (K|M)iB of 3\\.00 GiB/.test({card})");
    open.page.wait_for(&progress, PATIENCE).unwrap();

    open.page.goto("about:blank").unwrap();
    let url = open.server.url(&link);
    open.page.goto(&url).unwrap();
    open.page.wait_for(ask, PATIENCE).unwrap();
    open.page.eval(&press("Cancel")).unwrap();
    let start = "!document.querySelector('.tab') && !!document.querySelector('.drop-area')";
    open.page.wait_for(start, PATIENCE).unwrap();
}

/// A click on the button with this text in a card.
fn press(text: &str) -> String {
    format!(
        "[...document.querySelectorAll('.card button')].find(button => button.innerText === '{text}').click()"
    )
}

/// A server with one file of this many bytes, sent at a tenth of a megabyte every tenth of a second.
fn start_slow_server(announced_bytes: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = format!(
                "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\
                 Content-Length: {announced_bytes}\r\n\r\n"
            );
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(100));
                sent = stream.write_all(&[b' '; 100_000]);
            }
        }
    });
    address
}
