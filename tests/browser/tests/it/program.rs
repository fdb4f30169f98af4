//! `vramscope view` serves the page that is built into it.

use std::fs;
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
fn the_program_serves_its_page_and_opens_all_its_files_unasked() {
    let Some(program) = std::env::var_os("VRAMSCOPE_BIN").map(PathBuf::from) else {
        println!("skipped: VRAMSCOPE_BIN is not set; `cargo xtask test` sets it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // More than a link may open without asking.
    for number in 0..9 {
        let file = folder.path().join(format!("rank {number}.pickle"));
        fs::copy(fixture("torch-2.8.0/training.pickle"), file).unwrap();
    }
    let mut program = Program(
        Command::new(program)
            .args(["view", "--no-open"])
            .arg(folder.path())
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
    let names = "[...document.querySelectorAll('[role=tab]')].map(tab => tab.innerText).join()";
    let expected: Vec<_> = (0..9).map(|number| format!("rank {number}")).collect();
    assert_eq!(page.eval(names).unwrap(), expected.join(","));
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

    // What somebody's link adds needs consent, although the same server has it.
    let link = "&src=files/0/rank%200.pickle".repeat(9);
    page.goto(&format!("{address}?{link}")).unwrap();
    page.wait_for("!!document.querySelector('[role=alertdialog]')", PATIENCE)
        .unwrap();
    assert_eq!(page.eval(names).unwrap(), expected.join(","));
}
