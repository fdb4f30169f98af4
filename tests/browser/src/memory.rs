//! Memory of the browser's processes, as reported by Linux, and of a file's worker over its life.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::chromium::Chromium;
use crate::page::Page;
use crate::views::VIEWS;

/// Number of times that a file is opened and closed.
const ROUNDS: usize = 10;

/// The longest that a file may take to open.
const PATIENCE: Duration = Duration::from_secs(300);

/// Time in which the browser tidies up.
const REST: Duration = Duration::from_secs(3);

/// Private and shared memory of a browser, in bytes; zeros except on Linux.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// The page's process, with its workers.
    pub page_bytes: u64,
    /// All processes.
    pub all_bytes: u64,
}

/// Memory of the browser whose first process is `root`.
pub(crate) fn of_browser(root: u32) -> Memory {
    let mut memory = Memory::default();
    for id in tree(root) {
        let bytes = held_bytes(id).unwrap_or(0);
        memory.all_bytes += bytes;
        // The browser keeps another such process ready, which is small.
        if is_page(id) {
            memory.page_bytes = memory.page_bytes.max(bytes);
        }
    }
    memory
}

/// `root` and all processes below it.
fn tree(root: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes: Vec<(u32, u64)> = entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            Some((id, status_field(id, "PPid:")?))
        })
        .collect();
    let mut family = vec![root];
    let mut done = 0;
    while let Some(&id) = family.get(done) {
        done += 1;
        let children = processes
            .iter()
            .filter(|&&(_, parent)| parent == u64::from(id));
        family.extend(children.map(|&(child, _)| child));
    }
    family
}

fn held_bytes(id: u32) -> Option<u64> {
    Some((status_field(id, "RssAnon:")? + status_field(id, "RssShmem:")?) * 1024)
}

fn is_page(id: u32) -> bool {
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains("--type=renderer")
}

/// A number from `/proc/<id>/status`, in which sizes are in KiB.
fn status_field(id: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Opens a file, visits all views, and closes it, ten times.
///
/// Returns the bytes of its worker's module after three seconds (`open_worker_bytes`) and after each view
/// (`worker_bytes`), and how much the page's process has grown: at the first picture (`painted_bytes`), after three
/// seconds (`open_bytes`), after all views (`viewed_bytes`), and after each closing (`closed_bytes`). `idle_bytes` is
/// its size before.
///
/// # Errors
///
/// If the page does not open the file.
pub fn measure(chromium: &Chromium, page: &mut Page, file: &Path) -> Result<Value> {
    let files = [PathBuf::from(file)];
    page.pause(REST)?;
    let idle_bytes = chromium.memory().page_bytes;
    let beyond = || chromium.memory().page_bytes as f64 - idle_bytes as f64;
    let mut figures = json!({"idle_bytes": idle_bytes});
    let mut closed = Vec::new();
    for round in 0..ROUNDS {
        page.clear_marks()?;
        page.choose_files("input[type=file]", &files)?;
        page.wait_for_paint(PATIENCE)?;
        if round == 0 {
            figures["painted_bytes"] = json!(beyond());
            page.pause(REST)?;
            figures["open_bytes"] = json!(beyond());
            figures["open_worker_bytes"] = json!(file_worker_bytes(page)?);
            figures["worker_bytes"] = visit_all(page)?;
            page.pause(REST)?;
            figures["viewed_bytes"] = json!(beyond());
        }
        page.wait_until_settled(PATIENCE)?;
        page.click_on(".tab .close")?;
        page.wait_for("!document.querySelector('.tab')", PATIENCE)?;
        page.pause(REST)?;
        closed.push(beyond());
    }
    figures["closed_bytes"] = json!(closed);
    Ok(figures)
}

/// Shows each view. Returns the bytes of the worker's module after each.
fn visit_all(page: &mut Page) -> Result<Value> {
    let mut bytes = Map::new();
    for view in VIEWS {
        page.click_on(&format!(".rail [data-view={view}]"))?;
        page.pause(Duration::from_secs(1))?;
        page.wait_until_settled(PATIENCE)?;
        bytes.insert(view.to_owned(), json!(file_worker_bytes(page)?));
    }
    Ok(bytes.into())
}

/// Bytes of the module in the worker that has a file. The other worker is spare.
fn file_worker_bytes(page: &mut Page) -> Result<Option<u64>> {
    Ok(page.worker_bytes()?.into_iter().max())
}
