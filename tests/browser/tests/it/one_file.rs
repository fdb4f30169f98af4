//! The file that `vramscope html` writes: opened from disk, it shows its snapshots without any request.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_browser_tests::{Chromium, Page};

use crate::PATIENCE;
use crate::graph::graph;
use crate::open::fixture;

/// A page written by `vramscope html`, open in a browser.
struct Made {
    page: Page,
    report: PathBuf,
    _folder: tempfile::TempDir,
    _chromium: Chromium,
}

/// Writes a page with these files and opens it from disk; `None` if `VRAMSCOPE_BIN` is not set.
#[expect(clippy::print_stdout, reason = "says what it skips")]
fn made(command: &str, files: &[PathBuf], options: &[&str]) -> Option<Made> {
    let Some(program) = std::env::var_os("VRAMSCOPE_BIN") else {
        println!("skipped: VRAMSCOPE_BIN is not set; `cargo xtask test` sets it");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("a report & more.html");
    let mut program = Command::new(program);
    program.arg(command).args(files).args(options);
    let output = program.arg("-o").arg(&report).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let chromium = Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.set_viewport(1280, 720, 1.0).unwrap();
    page.goto(&address(&report)).unwrap();
    Some(Made {
        page,
        report,
        _folder: folder,
        _chromium: chromium,
    })
}

fn address(path: &Path) -> String {
    let path = path.to_str().unwrap();
    format!("file://{}", path.replace(' ', "%20").replace('&', "%26"))
}

impl Made {
    /// Checks that the page made no request and wrote no errors.
    fn check_quiet(&mut self) {
        for request in self.page.requests().unwrap() {
            let is_own = ["file:", "blob:", "data:"]
                .iter()
                .any(|scheme| request.url.starts_with(scheme));
            assert!(is_own, "asked for {}", request.url);
        }
        let complaints = self.page.complaints().unwrap();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

#[test]
fn a_file_from_disk_shows_its_snapshot() {
    let file = fixture("torch-2.8.0/training.pickle");
    let Some(mut made) = made("trace-plot", &[file], &[]) else {
        return;
    };
    let mark = made.page.wait_for_paint(PATIENCE).unwrap();
    assert!(
        mark.detail["allocations"].as_u64().unwrap() > 50,
        "{}",
        mark.detail
    );
    assert_eq!(made.page.text("[role=tab]").unwrap(), "training.pickle");
    let view = made.page.eval("location.hash").unwrap();
    assert!(view.as_str().unwrap().contains("view=timeline"), "{view}");
    made.check_quiet();
}

/// As in notebooks (`widget.js` of the Python package): such a frame has no address that could contain `mode=embed`.
#[test]
fn a_frame_whose_document_is_given_to_it_tells_its_place() {
    let file = fixture("torch-2.8.0/training.pickle");
    let Some(mut made) = made("html", &[file], &["--view", "flame"]) else {
        return;
    };
    let framed = "<html data-search=\"?mode=embed&amp;theme=dark\"";
    let page = fs::read_to_string(&made.report).unwrap();
    let page = page.replacen("<html", framed, 1);
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let around = made.report.with_file_name("around.html");
    let html = format!(
        "<!doctype html><iframe sandbox=\"allow-scripts\" srcdoc=\"{page}\"></iframe>
        <script>
            addEventListener('message', ({{ data }}) => globalThis.place ??= data.vramscope?.place);
            setInterval(() => frames[0].postMessage('PING', '*'), 100);
        </script>"
    );
    fs::write(&around, html).unwrap();
    made.page.goto(&address(&around)).unwrap();
    let place = made.page.wait_for("globalThis.place", PATIENCE).unwrap();
    let place = place.as_str().unwrap();
    assert!(
        place.starts_with("file=training.pickle~") && place.contains("view=flame"),
        "{place}"
    );
}

#[test]
fn several_files_are_tabs_and_the_first_is_at_its_place() {
    let files = ["training.pickle", "oom_after.pickle"];
    let files = files.map(|name| fixture(&format!("torch-2.8.0/{name}")));
    let options = ["--view", "state", "--at", "peak"];
    let Some(mut made) = made("html", &files, &options) else {
        return;
    };
    made.page
        .wait_for(
            "document.querySelectorAll('[role=tab]').length === 2 && location.hash.includes('view=allocator')",
            PATIENCE,
        )
        .unwrap();
    let hash = made
        .page
        .wait_for("location.hash.includes('at=') && location.hash", PATIENCE)
        .unwrap();
    assert!(
        hash.as_str().unwrap().contains("file=training.pickle~"),
        "{hash}"
    );
    made.check_quiet();
}

#[test]
fn graphs_are_shown_from_disk_too() {
    let files = [
        graph("random_dag_40__0_model__0_inference_0_fused.orm.json.zst"),
        graph("torch_trace_sample.log"),
        fixture("torch-2.8.0/training.pickle"),
    ];
    let Some(mut made) = made("html", &files, &[]) else {
        return;
    };
    let verdict = "document.querySelectorAll('[role=tab]').length === 3 && [document.querySelector('.verdict')?.innerText].find(text => text?.includes('KiB'))";
    let verdict = made.page.wait_for(verdict, PATIENCE).unwrap();
    let verdict = verdict.as_str().unwrap();
    assert!(verdict.contains("bfs: peak 942 KiB"), "{verdict}");
    made.page
        .click_on("[role=tab][title='torch_trace_sample.log']")
        .unwrap();
    made.page
        .wait_for(
            "document.querySelectorAll('.graph-head select option').length === 2",
            PATIENCE,
        )
        .unwrap();
    made.check_quiet();
}

/// The content security policy works: the page cannot send anything to anybody.
#[test]
fn it_cannot_reach_anything() {
    let file = fixture("torch-2.8.0/training.pickle");
    let Some(mut made) = made("html", &[file], &[]) else {
        return;
    };
    made.page
        .wait_for(
            "document.querySelector('[role=tab]')?.textContent",
            PATIENCE,
        )
        .unwrap();
    for address in ["http://127.0.0.1:9/", "file:///etc/hostname"] {
        let script = format!("fetch('{address}').then(() => 'reached', () => 'refused')");
        assert_eq!(made.page.eval(&script).unwrap(), "refused");
    }
}
