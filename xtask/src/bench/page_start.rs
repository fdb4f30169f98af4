//! `cargo xtask bench page`: how soon the page takes a file, and its memory over all views and after ten closings.
//!
//! `tests/browser/src/start.rs` and `memory.rs` say what each figure is.

use std::path::PathBuf;

use anyhow::Result;

use super::{browser_bench, last_line, print_table, training};
use crate::browser;
use crate::page;
use crate::process::output;

/// Events of the files that are opened if none is given.
const EVENTS: [u32; 2] = [100_000, 1_000_000];

/// Builds the page, measures, and prints tables.
pub(super) fn measure(files: &[PathBuf]) -> Result<()> {
    let page = page::build(page::FULL)?;
    let chromium = browser::find()?;
    let files = match files {
        [] => EVENTS.into_iter().map(training).collect::<Result<_>>()?,
        files => files.to_vec(),
    };
    let mut start = last_line(output(browser_bench(&page, &chromium).arg("--start")))?;
    println!("since the navigation began");
    let visits = [("10 Mbit/s", "cold"), ("from cache", "warm")];
    print_table(&visits.map(|(name, visit)| (name.to_owned(), start[visit].take())));
    let mut columns = Vec::new();
    for file in files {
        let mut bench = browser_bench(&page, &chromium);
        let memory = last_line(output(bench.arg("--memory").arg(&file)))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        columns.push((name.into_owned(), memory));
    }
    println!("\nmemory");
    print_table(&columns);
    Ok(())
}
