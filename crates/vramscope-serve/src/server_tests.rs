//! Tests of the server over real connections.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::{Asset, Page, Served, Server};

const HTML: &str = "<!doctype html><head><title>test</title></head>";
const SCRIPT: &str = "start()";

/// A server that runs until the test process ends.
struct Running {
    port: u16,
    token: String,
    address: String,
}

struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or("")
    }
}

fn start(files: &[PathBuf]) -> Running {
    start_as(files, false)
}

fn start_as(files: &[PathBuf], is_live: bool) -> Running {
    let files = files.iter().map(|path| served(path, &[]));
    start_with(files.collect(), is_live)
}

fn served(path: &PathBuf, ranks: &[(&str, PathBuf)]) -> Served {
    let ranks = ranks.iter();
    let ranks: HashMap<_, _> = ranks
        .map(|(name, path)| ((*name).to_owned(), path.clone()))
        .collect();
    Served::of_file(path, File::open(path).unwrap(), ranks).unwrap()
}

fn start_with(files: Vec<Served>, is_live: bool) -> Running {
    let asset = |name, text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let gzip = encoder.finish().unwrap().leak();
        Asset::of_program(name, gzip)
    };
    let assets = vec![
        asset("index.html", HTML),
        asset("page.js", SCRIPT),
        asset("samples/leak.pickle", ""),
    ];
    let page = Page::of_program(assets.leak());
    let server = Server::bind(0, page, files, is_live).unwrap();
    let address = server.address();
    let running = Running {
        port: server.port(),
        token: address.split('/').nth(3).unwrap().to_owned(),
        address,
    };
    thread::spawn(move || server.serve());
    running
}

impl Running {
    /// Requests the events, and leaves the answer to be read.
    fn listen(&self) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let (path, port) = (self.path("events"), self.port);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
        )
        .unwrap();
        BufReader::new(stream)
    }

    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        Answer {
            head,
            body: bytes[end..].to_vec(),
        }
    }

    /// Sends a request with the right host, as a browser would.
    fn get(&self, path: &str) -> Answer {
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
            self.port
        ))
    }

    fn path(&self, below: &str) -> String {
        format!("/{}/{below}", self.token)
    }
}

#[test]
fn the_page_comes_whole_with_headers_that_lock_it_in() {
    let server = start(&[]);
    assert_eq!(
        server.address,
        format!("http://127.0.0.1:{}/{}/", server.port, server.token)
    );
    let answer = server.get(&server.path(""));
    assert_eq!(
        (answer.status(), answer.body.as_slice()),
        ("200", HTML.as_bytes())
    );
    for field in [
        "Content-Type: text/html; charset=utf-8\r\n",
        &format!("Content-Length: {}\r\n", HTML.len()),
        "Content-Security-Policy: connect-src 'self' blob:; frame-ancestors 'none'\r\n",
        "Cache-Control: no-store\r\n",
        "Referrer-Policy: no-referrer\r\n",
    ] {
        assert!(answer.head.contains(field), "{field} in {}", answer.head);
    }
}

#[test]
fn compressed_for_those_who_understand_it() {
    let server = start(&[]);
    let answer = server.send(&format!(
        "GET {} HTTP/1.1\r\nHost: localhost:{}\r\nAccept-Encoding: gzip, br\r\n\r\n",
        server.path("page.js"),
        server.port
    ));
    assert!(answer.head.contains("Content-Encoding: gzip\r\n"));
    let mut script = String::new();
    flate2::read::GzDecoder::new(answer.body.as_slice())
        .read_to_string(&mut script)
        .unwrap();
    assert_eq!(script, SCRIPT);
    assert_eq!(server.get(&server.path("page.js")).body, SCRIPT.as_bytes());
}

#[test]
fn foreign_hosts_are_refused() {
    let server = start(&[]);
    for host in ["evil.example", "evil.example:80", "127.0.0.1", ""] {
        let request = format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", server.path(""));
        assert_eq!(server.send(&request).status(), "403", "{host}");
    }
    let without = format!("GET {} HTTP/1.1\r\n\r\n", server.path(""));
    assert_eq!(server.send(&without).status(), "403");
}

#[test]
fn nothing_without_the_token() {
    let server = start(&[]);
    let wrong = "0".repeat(server.token.len());
    for path in [
        "/",
        "/index.html",
        &format!("/{wrong}/"),
        &format!("/{}", server.token),
    ] {
        assert_eq!(server.get(path).status(), "404", "{path}");
    }
}

#[test]
fn only_get_and_only_requests() {
    let server = start(&[]);
    let post = format!(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        server.path(""),
        server.port
    );
    assert_eq!(server.send(&post).status(), "405");
    assert_eq!(server.send("hello\r\n\r\n").status(), "400");
    let head = format!(
        "HEAD {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        server.path(""),
        server.port
    );
    let answer = server.send(&head);
    assert_eq!((answer.status(), answer.body.len()), ("200", 0));
}

#[test]
fn named_files_come_byte_for_byte_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..300_000_u32)
        .map(|number| (number * 31 % 251) as u8)
        .collect();
    let named = folder.path().join("my run %.pickle");
    std::fs::write(&named, &bytes).unwrap();
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    let server = start(&[named]);
    let own = "files/0/my%20run%20%25.pickle";
    let link = format!("<link rel=\"snapshot\" href=\"{own}\">\n</head>");
    for path in ["", "index.html", "?src=x"] {
        let page = server.get(&server.path(path)).body;
        assert_eq!(
            String::from_utf8(page).unwrap(),
            HTML.replace("</head>", &link)
        );
    }

    let answer = server.get(&server.path(own));
    assert_eq!(answer.status(), "200");
    assert!(answer.head.contains("Content-Length: 300000\r\n"));
    assert!(answer.body == bytes, "the file arrived changed");

    for path in [
        "files/1/my%20run%20%25.pickle",
        "files/0/secret",
        "files/0/../secret",
        "files/0/%2e%2e/secret",
        "files/0/..%2fsecret",
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "files/-1/x",
        "files/99999999999999999999/x",
        "files/0/",
        "files/",
    ] {
        assert_eq!(server.get(&server.path(path)).status(), "404", "{path}");
    }
}

#[test]
fn a_file_that_is_gone_is_not_found_nor_what_took_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("a.pickle");
    std::fs::write(&named, "x").unwrap();
    let server = start(std::slice::from_ref(&named));
    let status = || {
        let answer = server.get(&server.path("files/0/a.pickle"));
        assert!(!answer.body.is_empty());
        answer.status().to_owned()
    };
    assert_eq!(status(), "200");
    std::fs::remove_file(&named).unwrap();
    assert_eq!(status(), "404");
    std::fs::create_dir(&named).unwrap();
    assert_eq!(status(), "404");
    #[cfg(unix)]
    {
        std::fs::remove_dir(&named).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&named).status();
        assert!(made.unwrap().success());
        assert_eq!(status(), "404");
        std::fs::remove_file(&named).unwrap();
    }
    std::fs::write(&named, "y").unwrap();
    assert_eq!(status(), "200");
}

/// Twice as many connections as are served at once, each sending a byte now and then, for ever.
#[test]
fn slow_connections_do_not_keep_others_out() {
    let server = start(&[]);
    let mut slow: Vec<_> = (0..128)
        .map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap())
        .collect();
    thread::spawn(move || {
        while !slow.is_empty() {
            slow.retain_mut(|stream| stream.write_all(b"G").is_ok());
            thread::sleep(Duration::from_millis(100));
        }
    });
    thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(&server.path("")).status(), "200");
}

/// A connection opened in advance gets no answer that the browser could take for the reply to its next request.
#[test]
fn an_unused_connection_is_closed_without_a_word() {
    let server = start(&[]);
    let mut unused = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    assert_eq!(unused.read_to_end(&mut Vec::new()).unwrap(), 0);
}

/// Reads the next event of a stream, skipping comments.
fn next_event(stream: &mut impl BufRead) -> Value {
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[test]
fn changes_are_told_to_whoever_listens() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("live.vram");
    let write = |content: &str| {
        let next = folder.path().join("next");
        let mut file = std::fs::File::create(&next).unwrap();
        #[cfg(unix)]
        file.try_lock().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        std::fs::rename(&next, &named).unwrap();
        file
    };
    let first = write("one");
    assert_eq!(start(std::slice::from_ref(&named)).get("/").status(), "404");
    let server = start_as(std::slice::from_ref(&named), true);
    let page = String::from_utf8(server.get(&server.path("")).body).unwrap();
    assert!(
        page.contains("<link rel=\"events\" href=\"events\">"),
        "{page}"
    );

    let mut streams = [server.listen(), server.listen()];
    let mut heads = Vec::new();
    for stream in &mut streams {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).unwrap();
            heads.push(line.clone());
        }
    }
    assert!(
        heads.contains(&"Content-Type: text/event-stream\r\n".to_owned()),
        "{heads:?}"
    );
    assert!(
        !heads.iter().any(|line| line.starts_with("Content-Length")),
        "{heads:?}"
    );
    let [before, _] = streams.each_mut().map(next_event);
    assert!(before["now_us"].as_u64() >= before["files"][0]["written_us"].as_u64());
    assert_eq!(
        before["files"][0]["is_written"],
        if cfg!(unix) { json!(true) } else { Value::Null }
    );

    let second = write("two, longer");
    drop(first);
    for stream in &mut streams {
        let after = next_event(stream);
        assert_ne!(after["files"][0]["version"], before["files"][0]["version"]);
        let is_written = |told: &serde_json::Value| told["files"][0]["is_written"].clone();
        assert_eq!(is_written(&after), is_written(&before));
    }
    // The program that writes it is gone.
    drop(second);
    if cfg!(unix) {
        assert_eq!(next_event(&mut streams[0])["files"][0]["is_written"], false);
    }
    std::fs::remove_file(&named).unwrap();
    let gone = next_event(&mut streams[0]);
    assert_eq!(gone["files"][0]["is_gone"], true);
    assert!(gone["files"][0]["version"].is_string());
}

#[test]
fn listeners_leave_places_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("live.vram");
    std::fs::write(&named, "x").unwrap();
    let server = start_as(&[named], true);
    let listeners: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = server.listen();
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            (line, stream)
        })
        .collect();
    let count = |status: &str| {
        listeners
            .iter()
            .filter(|(line, _)| line.contains(status))
            .count()
    };
    assert_eq!((count("200"), count("503")), (32, 8));
    assert_eq!(server.get(&server.path("")).status(), "200");
}

#[test]
fn an_overview_serves_the_snapshots_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(at("runs.vset")).unwrap();
    std::fs::create_dir_all(at("dumps")).unwrap();
    std::fs::write(at("dumps/rank 0.pickle"), b"snapshot").unwrap();
    std::fs::write(at("dumps/other.pickle"), b"snapshot").unwrap();
    let overview = at("runs.vset/overview.vset");
    std::fs::write(&overview, b"overview").unwrap();
    let ranks = [("rank 0.pickle", at("dumps/rank 0.pickle"))];
    let server = start_with(vec![served(&overview, &ranks)], false);
    let of_rank = server.get(&server.path("files/0/rank%200.pickle"));
    assert_eq!(
        (of_rank.status(), of_rank.body.as_slice()),
        ("200", &b"snapshot"[..])
    );
    for other in [
        "files/0/other.pickle",
        "files/0/runs.vset/rank%200.pickle",
        "files/0/../runs.vset/other.pickle",
    ] {
        assert_eq!(server.get(&server.path(other)).status(), "404", "{other}");
    }
}
