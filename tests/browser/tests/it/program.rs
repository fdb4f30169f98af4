//! `vramscope view` serves the page that is built into it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use vramscope_browser_tests::Chromium;

use crate::PATIENCE;
use crate::open::fixture;

/// A running program, which ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_program_serves_its_page_with_the_file_loaded() {
    let Some(program) = std::env::var_os("VRAMSCOPE_BIN").map(PathBuf::from) else {
        println!("skipped: VRAMSCOPE_BIN is not set; `cargo xtask test` sets it");
        return;
    };
    let mut program = Program(
        Command::new(program)
            .args(["view", "--no-open"])
            .arg(fixture("torch-2.8.0/training.pickle"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut address = String::new();
    let output = program.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut address).unwrap();
    let address = address.trim();

    let chromium = Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.goto(address).unwrap();
    let mark = page.wait_for_paint(PATIENCE).unwrap();
    assert!(
        mark.detail["allocations"].as_u64().unwrap() > 50,
        "{}",
        mark.detail
    );
    assert_eq!(page.text("[role=tab]").unwrap(), "training.pickle");
    let complaints = page.complaints().unwrap();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let origin = address.split('/').take(3).collect::<Vec<_>>().join("/");
    for request in page.requests().unwrap() {
        assert!(
            request.url.starts_with(&origin),
            "asked for {}",
            request.url
        );
    }
}
