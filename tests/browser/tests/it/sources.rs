//! Files that come from an address: `?src=`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
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

/// A download that stalls shows how far it is, and can be given up.
#[test]
fn opening_shows_progress_and_can_be_cancelled() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let start = fs::read(fixture("torch-2.8.0/training.pickle")).unwrap()[..20_000].to_vec();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\
                        Content-Length: 100000000\r\n\r\n";
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&start));
            thread::sleep(Duration::from_secs(600));
        }
    });
    let mut open = open(&format!("?src=http://{address}/large.pickle"));
    open.page
        .wait_for(
            "!!document.querySelector('progress, [role=progressbar]')",
            PATIENCE,
        )
        .unwrap();
    // 20,000 of 100,000,000 bytes.
    let progress = "document.querySelector('section.card').innerText";
    for part in ["19.5 KiB", "95.4 MiB"] {
        open.page
            .wait_for(&format!("{progress}.includes('{part}')"), PATIENCE)
            .unwrap();
    }
    let cancel = "[...document.querySelectorAll('.card button')].find(button => button.innerText === 'Cancel')";
    open.page
        .wait_for(&format!("!!{cancel}"), PATIENCE)
        .unwrap();
    open.page.eval(&format!("{cancel}.click()")).unwrap();
    open.page
        .wait_for("!document.querySelector('.tab')", PATIENCE)
        .unwrap();
}
