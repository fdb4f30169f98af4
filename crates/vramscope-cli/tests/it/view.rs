//! `view`: the parts that need no browser. (The server itself is tested beside its code.)

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::program::{command, vramscope};

/// Whether the program under test was built with the page; the same variable decides for both.
const HAS_PAGE: bool = option_env!("VRAMSCOPE_PAGE").is_some();

#[test]
fn without_the_page_it_says_how_to_build_it() {
    if HAS_PAGE {
        return;
    }
    let output = vramscope(&["view", "torch-2.15.0/training.pickle"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("cargo xtask view"), "{message}");
    assert!(message.contains("$PWD/dist/site"), "{message}");
}

#[test]
fn with_the_page_it_serves_page_and_file() {
    if !HAS_PAGE {
        return;
    }
    let mut child = command(&["view", "--no-open", "torch-2.15.0/training.pickle"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut address)
        .unwrap();
    let (host, path) = address
        .trim()
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("<title>"), "{answer}");
    let link = "<link rel=\"snapshot\" href=\"files/0/training.pickle\">";
    assert!(answer.contains(link), "{answer}");
}

/// As a message, with the address on standard output.
#[test]
fn without_a_browser_it_names_the_address() {
    if !HAS_PAGE {
        return;
    }
    let mut child = command(&["view"])
        .env("PATH", "/nowhere")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut address).unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said: Vec<_> = lines.map_while(Result::ok).take(2).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        said[0].starts_with("cannot open a browser: no program"),
        "{said:?}"
    );
    assert!(said[1].ends_with(address.trim()), "{said:?}");
}

#[test]
fn a_missing_file_is_bad_input() {
    let output = vramscope(&["view", "--no-open", "no/such.pickle"]);
    assert_eq!(output.status.code(), Some(if HAS_PAGE { 1 } else { 2 }));
}
