//! `cargo xtask bench page`: how soon the page takes a file, and its memory over all views and after ten closings.
//!
//! `tests/browser/src/start.rs` and `memory.rs` say what each figure is.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use super::{VIEWS, browser_bench, last_line, training};
use crate::browser;
use crate::page;
use crate::process::output;

/// The events of the files that are opened if none is given.
const EVENTS: [u32; 2] = [100_000, 1_000_000];

/// The times of a visit, in their order.
const TIMES: [(&str, &str); 6] = [
    ("it listens for files", "listening_ms"),
    ("the area to drop them on is shown", "shown_ms"),
    ("  so it is ready", "ready_ms"),
    ("the module is compiled", "compiled_ms"),
    ("it runs", "begun_ms"),
    ("it takes files", "started_ms"),
];

/// Builds the page, measures, and prints tables.
///
/// # Errors
///
/// If the build or a measurement fails.
pub(super) fn measure(files: &[PathBuf]) -> Result<()> {
    let page = page::build(page::FULL)?;
    let chromium = browser::find()?;
    let files = match files {
        [] => EVENTS.into_iter().map(training).collect::<Result<_>>()?,
        files => files.to_vec(),
    };
    let start = last_line(output(browser_bench(&page, &chromium).arg("--start")))?;
    println!("ms since the navigation began (load {})", load());
    println!("{:<36}{:>12}{:>12}", "until", "10 Mbit/s", "from cache");
    for (label, time) in TIMES {
        let [cold, warm] = ["cold", "warm"].map(|visit| number(&start[visit][time], 1.0));
        println!("{label:<36}{cold:>12}{warm:>12}");
    }
    for file in files {
        let mut bench = browser_bench(&page, &chromium);
        let memory = last_line(output(bench.arg("--memory").arg(&file)))?;
        println!("\n{}, MB (load {})", file.display(), load());
        print_memory(&memory);
    }
    Ok(())
}

fn print_memory(memory: &Value) {
    let row = |label: &str, bytes: &Value| println!("{label:<36}{:>12}", number(bytes, 1e6));
    row("the file", &memory["file_bytes"]);
    row("the worker, open for 3 s", &memory["open_worker_bytes"]);
    for view in VIEWS {
        row(&format!("  after {view}"), &memory["views"][view]);
    }
    row("the page's process before", &memory["idle_bytes"]);
    for (label, key) in [
        ("  more at the first picture", "painted_bytes"),
        ("  more after 3 s", "open_bytes"),
        ("  more after all views", "viewed_bytes"),
    ] {
        row(label, &memory[key]);
    }
    let closed = memory["closed_bytes"].as_array();
    let closed = closed.into_iter().flatten().map(|bytes| number(bytes, 1e6));
    println!(
        "  more after each closing: {}",
        closed.collect::<Vec<_>>().join(" ")
    );
}

fn number(value: &Value, unit: f64) -> String {
    value
        .as_f64()
        .map_or("-".to_owned(), |value| format!("{:.0}", value / unit))
}

/// What the machine has had to do in the last minute; empty on systems that do not tell.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
