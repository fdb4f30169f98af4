//! Measures how long an allocation of a captured program takes until its pixel appears in the page of `vramscope view
//! --live`, with a full ring: `live [ALLOCATIONS]`. The programs are those of the tests' variables (see
//! CONTRIBUTING.md); `VRAMSCOPE_BIN` has the page inside.
//!
//! Machines are shared and noisy: only figures from the same run are comparable.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use vramscope_browser_tests::Chromium;

const PATIENCE: Duration = Duration::from_secs(120);
/// Pairs of an allocation and its free that fill the ring.
const PAIRS: u32 = 120_000;
/// The pause before each allocation, and its increment, in ms, so that allocations fall anywhere between two versions.
const PAUSE_MS: (u64, u64) = (1_000, 37);

/// When the timeline first showed everything up to a time, in ms since 1970.
const SHOWN: &str = "(() => {
    const marks = name => performance.getEntriesByName('vramscope:' + name);
    const first = marks('adopted').find(mark => mark.detail.readUs >= TIME);
    const shown = first && marks('painted').find(mark => mark.detail.version >= first.detail.version);
    return shown ? performance.timeOrigin + shown.startTime : null;
})()";

/// A program, killed when this is dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn place(name: &str) -> Result<PathBuf> {
    let place = env::var_os(name).with_context(|| format!("{name} is not set"))?;
    Ok(PathBuf::from(place))
}

fn main() -> Result<()> {
    let count: u64 = env::args().nth(1).map_or(Ok(20), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("live.vram");
    let mut viewer = Command::new(place("VRAMSCOPE_BIN")?);
    viewer.args(["view", "--live", "--no-open"]).arg(&file);
    let mut viewer = Program(viewer.stdout(Stdio::piped()).spawn()?);
    let mut captured = Command::new(place("VRAMSCOPE_CAPTURE_BIN")?);
    captured.args(["run", "--quiet", "--live", "-o"]).arg(&file);
    captured
        .arg("--")
        .arg(place("VRAMSCOPE_CAPTURE_CLIENTS")?.join("scenes"))
        .args(["dlsym", "told"])
        .env("LD_LIBRARY_PATH", place("VRAMSCOPE_FAKECUDA")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut captured = Program(captured.spawn()?);
    let mut input = captured.0.stdin.take().context("its input")?;
    let mut output = BufReader::new(captured.0.stdout.take().context("its output")?);
    let mut tell = |line: String| -> Result<f64> {
        writeln!(input, "{line}")?;
        let mut time_us = String::new();
        output.read_line(&mut time_us)?;
        Ok(time_us.trim().parse()?)
    };
    tell(format!("pairs {PAIRS}"))?;
    let mut address = String::new();
    BufReader::new(viewer.0.stdout.take().context("its output")?).read_line(&mut address)?;
    let chromium = Chromium::start()?;
    let mut page = chromium.page()?;
    page.set_viewport(1280, 720, 1.0)?;
    page.goto(address.trim())?;
    // If the page started late, the full ring is the first version.
    page.wait_for("performance.getEntriesByName('vramscope:painted').some(mark => mark.detail.events == 200000)", PATIENCE)?;
    let mut times_ms = Vec::new();
    for number in 0..count {
        thread::sleep(Duration::from_millis(PAUSE_MS.0 + number * PAUSE_MS.1));
        page.clear_marks()?;
        let time_us = tell(format!("keep {}", 1_048_576 + number))?;
        let shown = SHOWN.replace("TIME", &time_us.to_string());
        let shown_ms = page.wait_for(&shown, PATIENCE)?;
        times_ms.push(shown_ms.as_f64().context("a time")? - time_us / 1e3);
    }
    times_ms.sort_by(f64::total_cmp);
    let bytes = std::fs::metadata(&file)?.len();
    let at = |share: f64| times_ms[((times_ms.len() - 1) as f64 * share) as usize];
    println!(
        "{count} allocations, 200,000 events, {:.1} MB a version: to the pixel in {:.0} ms (least {:.0}, most {:.0})",
        bytes as f64 / 1e6,
        at(0.5),
        at(0.0),
        at(1.0)
    );
    Ok(())
}
