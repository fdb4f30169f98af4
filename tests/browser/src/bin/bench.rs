//! Measures the page in Chromium on given files: time from drop to picture, frames while zooming and
//! panning, long tasks of the main thread, memory. Prints one line of JSON per file, for `cargo xtask bench`.
//!
//! All figures come from the page's User Timing marks, the browser's long-task entries and animation frames, so that
//! other tools can measure the same.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::{Value, json};
use vramscope_browser_tests::play::{self, Play};
use vramscope_browser_tests::timing::{LOAD, Mark, PAINTED};
use vramscope_browser_tests::{
    Chromium, Modifiers, Page, Server, memory, page_folder, start, views,
};

/// The longest that a file may take to open.
const PATIENCE: Duration = Duration::from_secs(300);

/// The longest that a sharp picture may take after the last input.
const SHARP_PATIENCE: Duration = Duration::from_secs(3);

/// Openings whose median is printed if only the first picture is measured.
const FIRST_ROUNDS: usize = 3;

/// Time of zooming and panning.
const PLAY: Duration = Duration::from_secs(4);

#[derive(Parser)]
struct Arguments {
    /// The snapshots to measure with
    files: Vec<PathBuf>,
    /// The folder with the built page
    #[arg(long)]
    page: Option<PathBuf>,
    /// The window's size in CSS pixels
    #[arg(long, default_value_t = 1500)]
    width_px: u32,
    #[arg(long, default_value_t = 900)]
    height_px: u32,
    /// Measure every view, not only opening and the timeline
    #[arg(long)]
    views: bool,
    /// Measure only the time until the first picture, the median of three openings
    #[arg(long, conflicts_with_all = ["views", "memory"])]
    first: bool,
    /// Measure how soon the page accepts a file, in a separate line before those of the files
    #[arg(long)]
    start: bool,
    /// Measure memory instead: with the file open, after all views, and after it was opened and closed ten times
    #[arg(long)]
    memory: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.page.clone().unwrap_or_else(page_folder);
    if arguments.start {
        println!("{}", start::measure(&folder)?);
    }
    let server = Server::start(&folder, 0)?;
    for file in &arguments.files {
        let rounds = if arguments.first { FIRST_ROUNDS } else { 1 };
        let figures = (0..rounds).map(|_| measure(&arguments, &server, file));
        let figures = figures.collect::<Result<Vec<Value>>>();
        let mut figures = figures.with_context(|| file.display().to_string())?;
        let ms = |of: &Value| of["paint_ms"].as_f64().unwrap_or(f64::MAX);
        figures.sort_by(|one, other| ms(one).total_cmp(&ms(other)));
        println!("{}", figures[rounds / 2]);
    }
    Ok(())
}

fn measure(arguments: &Arguments, server: &Server, file: &Path) -> Result<Value> {
    let file_bytes = std::fs::metadata(file)?.len();
    let chromium = Chromium::start()?;
    let mut page = chromium.page()?;
    page.set_viewport(arguments.width_px, arguments.height_px, 1.0)?;
    page.goto(&server.url(""))?;
    let is_there = "document.querySelector('input[type=file]') !== null";
    page.wait_for(is_there, PATIENCE)?;
    if arguments.memory {
        let mut figures = memory::measure(&chromium, &mut page, file)?;
        figures["file"] = json!(file);
        figures["file_bytes"] = json!(file_bytes);
        return Ok(figures);
    }
    // The page starts the first file's worker before a file is chosen.
    page.pause(Duration::from_secs(1))?;
    let idle = chromium.memory();

    page.watch_long_tasks()?;
    page.choose_files("input[type=file]", &[file.to_owned()])?;
    let painted = page.wait_for_paint(PATIENCE)?;
    let marks = page.marks()?;
    let load = marks
        .iter()
        .find(|mark| mark.name == LOAD)
        .context("the page left no load mark")?;
    let opened = marks.iter().find(|mark| mark.name == "vramscope:opened");
    let first = marks
        .iter()
        .find(|mark| mark.name == PAINTED)
        .unwrap_or(&painted);
    let paint_ms = first.time_ms - load.time_ms;
    let stages = stages(&marks, first.time_ms);
    if arguments.first {
        return Ok(json!({"file": file, "paint_ms": paint_ms, "stages": stages}));
    }
    let loading_block_ms = longest_block_ms(&mut page, load.time_ms)?;
    let held = chromium.memory();
    page.wait_until_settled(PATIENCE)?;
    let frames = play(&mut page, arguments)?;
    Ok(json!({
        "views": measure_views(&mut page, arguments)?,
        "file": file,
        "file_bytes": file_bytes,
        "events": first.detail["events"],
        "allocations": first.detail["allocations"],
        "paint_ms": paint_ms,
        "stages": stages,
        "read_ms": opened.map(|mark| mark.detail["read_ms"].clone()),
        "wasm_bytes": opened.map(|mark| mark.detail["worker_bytes"].clone()),
        "process_bytes": held.page_bytes.saturating_sub(idle.page_bytes),
        "loading_block_ms": loading_block_ms,
        "frame_median_ms": frames.felt.frame.median_ms,
        "frame_p95_ms": frames.felt.frame.p95_ms,
        "input_median_ms": frames.felt.input.median_ms,
        "input_p95_ms": frames.felt.input.p95_ms,
        "playing_busy": frames.felt.busy,
        "sharp_ms": frames.sharp_ms,
        "playing_block_ms": frames.longest_block_ms,
    }))
}

/// The figures of every view, if they are asked for.
fn measure_views(page: &mut Page, arguments: &Arguments) -> Result<Value> {
    if !arguments.views {
        return Ok(Value::Null);
    }
    page.key("0", Modifiers::NONE)?;
    page.wait_until_settled(PATIENCE)?;
    views::measure(page, middle(arguments))
}

/// The marks between the choice of a file and its first picture, each with the stage that it ends.
const STAGES: [(&str, &str); 8] = [
    ("vramscope:reading", "start_ms"),
    ("vramscope:decoded", "decode_ms"),
    ("vramscope:paired", "pair_ms"),
    ("vramscope:told", "facts_ms"),
    ("vramscope:opened", "transfer_ms"),
    ("vramscope:asked", "elements_ms"),
    ("vramscope:drawn", "raster_ms"),
    (PAINTED, "present_ms"),
];

/// Where the time to the first picture goes, in ms: from each mark to the next. If there are several requests, the last
/// one before the picture counts.
fn stages(marks: &[Mark], painted_ms: f64) -> Value {
    let drawn = marks.iter().find(|mark| mark.name == "vramscope:drawn");
    let end_ms = drawn.map_or(painted_ms, |mark| mark.time_ms);
    let mut before = marks
        .iter()
        .find(|mark| mark.name == LOAD)
        .map(|mark| mark.time_ms);
    let mut stages = serde_json::Map::new();
    for (name, stage) in STAGES {
        let mut named = marks.iter().filter(|mark| mark.name == name);
        let mark = match name {
            "vramscope:asked" => named.rfind(|mark| mark.time_ms <= end_ms),
            _ => named.next(),
        };
        if let (Some(mark), Some(from_ms)) = (mark, before) {
            stages.insert(stage.to_owned(), json!(mark.time_ms - from_ms));
            before = Some(mark.time_ms);
        }
    }
    stages.into()
}

/// Figures of zooming and panning, in milliseconds.
struct Frames {
    felt: Play,
    /// From the last input to its sharp picture.
    sharp_ms: f64,
    longest_block_ms: f64,
}

/// A point inside the picture of every view.
fn middle(arguments: &Arguments) -> (f64, f64) {
    (
        f64::from(arguments.width_px) * 0.4,
        f64::from(arguments.height_px) * 0.6,
    )
}

/// Zooms in, pans and zooms out repeatedly, as fast as a wheel turns.
fn play(page: &mut Page, arguments: &Arguments) -> Result<Frames> {
    let (x_px, y_px) = middle(arguments);
    page.mouse_move(x_px, y_px)?;
    page.clear_marks()?;
    let from_ms = now_ms(page)?;
    // Thirty turns in, twenty sideways, thirty out.
    let felt = play::play(page, PLAY, |page, inputs| match inputs % 80 {
        0..30 => page.wheel(x_px, y_px, -60.0, Modifiers::NONE),
        30..50 => page.key("ArrowRight", Modifiers::NONE),
        _ => page.wheel(x_px, y_px, 60.0, Modifiers::NONE),
    })?;
    page.wait_until_settled(PATIENCE)?;
    page.clear_marks()?;
    let last_input_ms = now_ms(page)?;
    page.wheel(x_px, y_px, -60.0, Modifiers::NONE)?;
    // A picture may take longer than the time after which the page counts as settled.
    let _ = page.wait_for_paint(SHARP_PATIENCE);
    page.wait_until_settled(PATIENCE)?;
    let sharp = page.marks()?.into_iter().rfind(|mark| mark.name == PAINTED);
    Ok(Frames {
        felt,
        sharp_ms: sharp.map_or(f64::NAN, |mark| (mark.time_ms - last_input_ms).max(0.0)),
        longest_block_ms: longest_block_ms(page, from_ms)?,
    })
}

fn now_ms(page: &mut Page) -> Result<f64> {
    page.eval("performance.now()")?
        .as_f64()
        .context("performance.now")
}

/// The longest time since `from_ms` for which the main thread was blocked, in ms; 0 if never for more than 50 ms.
fn longest_block_ms(page: &mut Page, from_ms: f64) -> Result<f64> {
    let tasks = page.long_tasks()?;
    let blocks = tasks
        .iter()
        .filter(|task| task.start_ms >= from_ms)
        .map(|task| task.duration_ms);
    Ok(blocks.fold(0.0, f64::max))
}
