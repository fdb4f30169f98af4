//! Files that come from an address: `?src=`.

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
    let address = start_slow_server();
    let mut open = open(&format!("?src=http://{address}/large.pickle"));
    let card = "document.querySelector('section.card').innerText";
    // Some of 100,000,000 bytes.
    let progress = format!("/[1-9][0-9.]* (K|M)iB of 95\\.3 MiB/.test({card})");
    open.page.wait_for(&progress, PATIENCE).unwrap();
    let bar = open
        .page
        .eval("document.querySelector('progress').position")
        .unwrap();
    assert!((0.0..0.9).contains(&bar.as_f64().unwrap()), "{bar}");
    let cancel = "[...document.querySelectorAll('.card button')].find(button => button.innerText === 'Cancel')";
    open.page
        .wait_for(&format!("!!{cancel}"), PATIENCE)
        .unwrap();
    open.page.eval(&format!("{cancel}.click()")).unwrap();
    open.page
        .wait_for("!document.querySelector('.tab')", PATIENCE)
        .unwrap();
}

/// A server of one endless file, at a tenth of a megabyte every tenth of a second.
fn start_slow_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\
                        Content-Length: 100000000\r\n\r\n";
            let mut sent = stream.write_all(head.as_bytes());
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(100));
                sent = stream.write_all(&[b' '; 100_000]);
            }
        }
    });
    address
}
