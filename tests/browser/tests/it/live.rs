//! A program runs, `vramscope-capture run --live` keeps rewriting its snapshot, and the page of `vramscope view --live`
//! follows it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use vramscope_browser_tests::{Chromium, Modifiers, Page};

use crate::PATIENCE;

/// A program, killed at the end of the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A captured program that takes commands.
struct Told {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    program: Program,
}

impl Told {
    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.output.read_line(&mut String::new()).unwrap();
    }
}

/// The captured program and the address of the page; `None` if they were not built.
#[expect(clippy::print_stdout, reason = "says what it skips")]
fn start(folder: &Path) -> Option<(Told, Program, String)> {
    let places = [
        "VRAMSCOPE_CAPTURE_BIN",
        "VRAMSCOPE_FAKECUDA",
        "VRAMSCOPE_CAPTURE_CLIENTS",
        "VRAMSCOPE_BIN",
    ];
    let [Some(capture), Some(fakecuda), Some(clients), Some(viewer)] = places.map(std::env::var_os)
    else {
        println!("skipped: {places:?} are not set; `cargo xtask test` sets them on Linux");
        return None;
    };
    let file = folder.join("live.vram");
    // The viewer starts first, and waits for the file.
    let mut viewer = Command::new(viewer);
    viewer.args(["view", "--live", "--no-open"]).arg(&file);
    let mut viewer = Program(viewer.stdout(Stdio::piped()).spawn().unwrap());
    let mut command = Command::new(capture);
    command
        .args([
            "run",
            "--quiet",
            "--live",
            "--every",
            "200ms",
            "--max-entries",
            "400",
            "-o",
        ])
        .arg(&file)
        .arg("--")
        .arg(PathBuf::from(clients).join("scenes"))
        .args(["dlsym", "told"])
        .env("LD_LIBRARY_PATH", fakecuda)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut program = Program(command.spawn().unwrap());
    let mut told = Told {
        input: program.0.stdin.take().unwrap(),
        output: BufReader::new(program.0.stdout.take().unwrap()),
        program,
    };
    told.tell("keep 1048576");
    told.tell("pairs 20");
    let mut address = String::new();
    let output = viewer.0.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut address).unwrap();
    Some((told, viewer, address.trim().to_owned()))
}

/// Waits until the newest painted timeline has this many events.
fn wait_for_events(page: &mut Page, events: &str) {
    let last = "performance.getEntriesByName('vramscope:painted').filter(mark => mark.detail.view == 'timeline').at(-1)?.detail.events";
    page.wait_for(&format!("{last} {events}"), PATIENCE)
        .unwrap();
}

fn badge(page: &mut Page) -> String {
    page.text(".topbar .live").unwrap()
}

/// Left and right end of the visible part, as fractions of the whole, according to the brush in the overview.
fn brush(page: &mut Page) -> (f64, f64) {
    let ends = page.eval("(() => { const brush = document.querySelector('.brush'); if (!brush) return [0, 1]; const [inner, outer] = [brush, brush.parentElement].map(it => it.getBoundingClientRect()); return [(inner.left - outer.left) / outer.width, (inner.right - outer.left) / outer.width]; })()");
    let ends = ends.unwrap();
    (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap())
}

/// Waits until the page follows the newest events, or does not.
fn wait_until_follows(page: &mut Page, follows: bool) {
    let pressed = format!("document.querySelector('.follow').ariaPressed == '{follows}'");
    page.wait_for(&pressed, PATIENCE).unwrap();
}

/// A text that the page gives.
fn text_of(page: &mut Page, script: &str) -> String {
    page.eval(script).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn the_page_follows_a_running_program() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut told, _viewer, address)) = start(folder.path()) else {
        return;
    };
    let chromium = Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.set_viewport(1280, 720, 1.0).unwrap();
    page.goto(&address).unwrap();
    wait_for_events(&mut page, "> 40");
    page.wait_for(
        "document.querySelector('.topbar .live')?.innerText.startsWith('live, ')",
        PATIENCE,
    )
    .unwrap();
    let pressed = "document.querySelector('.follow').ariaPressed";
    assert_eq!(text_of(&mut page, pressed), "true");

    // New events appear, and the canvas is never empty meanwhile.
    page.eval("window.blank = 0; window.watch = setInterval(() => { if (!document.querySelector('.stage canvas[data-drawn]')) blank += 1 }, 5)").unwrap();
    told.tell("pairs 30");
    wait_for_events(&mut page, "> 100");
    assert_eq!(brush(&mut page), (0.0, 1.0));

    stays_in_its_place(&mut page, &mut told);

    // The end.
    drop(told.input);
    told.program.0.wait().unwrap();
    page.wait_for(
        "document.querySelector('.topbar .live').innerText.startsWith('ended, ')",
        PATIENCE,
    )
    .unwrap();
    assert_eq!(
        page.eval("!!document.querySelector('.follow')").unwrap(),
        false
    );
    assert_eq!(
        page.eval("window.blank").unwrap(),
        0,
        "the picture was gone"
    );
    let complaints = page.complaints().unwrap();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// A pinned allocation and the visible part stay in place while the ring moves on below them.
fn stays_in_its_place(page: &mut Page, told: &mut Told) {
    let pinned = "document.querySelector('.details')?.innerText ?? ''";
    page.key("/", Modifiers::NONE).unwrap();
    page.type_text("size:1MiB").unwrap();
    page.key("Enter", Modifiers::NONE).unwrap();
    page.key("Escape", Modifiers::NONE).unwrap();
    page.wait_for(&format!("({pinned}).includes('1.00 MiB')"), PATIENCE)
        .unwrap();

    // Moves to the left, and stays there: the same events, which are nearer to the beginning each time.
    for _ in 0..4 {
        page.key("w", Modifiers::NONE).unwrap();
    }
    wait_until_follows(page, false);
    let before = brush(page);
    told.tell("pairs 100");
    wait_for_events(page, "> 300");
    assert!(brush(page).1 < before.1, "{before:?}");
    page.key("l", Modifiers::NONE).unwrap();
    wait_until_follows(page, true);
    let (left, right) = brush(page);
    assert!(left > 0.1 && right > 0.99, "{left} {right}");
    told.tell("pairs 300");
    wait_for_events(page, "== 400");
    assert!(brush(page).1 > 0.99);
    assert!(text_of(page, pinned).contains("1.00 MiB"));
    assert!(!text_of(page, "location.hash").contains('~'));
}

#[test]
fn a_page_left_alone_asks_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut told, _viewer, address)) = start(folder.path()) else {
        return;
    };
    let chromium = Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.goto(&address).unwrap();
    wait_for_events(&mut page, "> 40");
    page.wait_for("!!document.querySelector('.topbar .live.on')", PATIENCE)
        .unwrap();
    // The bar has room for all of it.
    for width_px in [1000, 1200, 1280] {
        page.set_viewport(width_px, 720, 1.0).unwrap();
        let beyond = "[...document.querySelectorAll('.topbar > *')].filter(it => it.getBoundingClientRect().right > innerWidth).map(it => it.outerHTML)";
        assert_eq!(page.eval(beyond).unwrap(), json!([]), "{width_px}");
    }
    let asked = |page: &mut Page| {
        let requests = page.requests().unwrap();
        requests
            .iter()
            .filter(|it| it.url.contains("/files/") || it.url.ends_with("/events"))
            .count()
    };
    // Nothing happens, so nothing is requested.
    page.pause(Duration::from_millis(1500)).unwrap();
    let before = asked(&mut page);
    page.pause(Duration::from_millis(700)).unwrap();
    assert_eq!(asked(&mut page), before);
    // While hidden the page gets no updates, and catches up afterwards.
    let hide = |page: &mut Page, is_hidden: bool| {
        let script = format!(
            "Object.defineProperty(document, 'hidden', {{ value: {}, configurable: true }}); document.dispatchEvent(new Event('visibilitychange'))",
            json!(is_hidden)
        );
        page.eval(&script).unwrap();
    };
    hide(&mut page, true);
    told.tell("pairs 40");
    page.pause(Duration::from_millis(1000)).unwrap();
    assert_eq!(asked(&mut page), before);
    hide(&mut page, false);
    wait_for_events(&mut page, "> 120");
    assert!(badge(&mut page).starts_with("live, "));
}
