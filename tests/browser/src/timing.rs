//! Times reported by the page and the browser, and the page's accessibility tree.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::page::Page;

/// Name of the mark that the page sets after every finished frame.
pub const PAINTED: &str = "vramscope:painted";

/// Name of the mark that the page sets when it gets a file.
pub const LOAD: &str = "vramscope:load";

/// The page has settled after this time without a frame.
const QUIET: Duration = Duration::from_millis(150);

/// A mark of the browser's User Timing API.
#[derive(Clone, Debug)]
pub struct Mark {
    pub name: String,
    /// Milliseconds since the page began to load.
    pub time_ms: f64,
    /// Data that the page attached.
    pub detail: Value,
}

/// A period in which the main thread was blocked.
#[derive(Clone, Copy, Debug)]
pub struct LongTask {
    /// Milliseconds from the start of the page's loading to the start of the task.
    pub start_ms: f64,
    /// Milliseconds. The browser reports only tasks longer than 50.
    pub duration_ms: f64,
}

impl Page {
    /// All marks so far, by time.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn marks(&mut self) -> Result<Vec<Mark>> {
        let marks = self.eval(
            "performance.getEntriesByType('mark').map(m => [m.name, m.startTime, m.detail])",
        )?;
        let mut marks: Vec<_> = marks
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .map(|mark| Mark {
                name: mark[0].as_str().unwrap_or_default().to_owned(),
                time_ms: mark[1].as_f64().unwrap_or_default(),
                detail: mark[2].clone(),
            })
            .collect();
        marks.sort_by(|a, b| a.time_ms.total_cmp(&b.time_ms));
        Ok(marks)
    }

    /// Deletes all marks, so that the next wait is for new ones.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn clear_marks(&mut self) -> Result<()> {
        self.eval("performance.clearMarks()").map(drop)
    }

    /// Waits for a `vramscope:painted` mark and returns the latest.
    ///
    /// # Errors
    ///
    /// When no mark appears within `timeout`.
    pub fn wait_for_paint(&mut self, timeout: Duration) -> Result<Mark> {
        let count = format!("performance.getEntriesByName('{PAINTED}').length");
        self.wait_for(&count, timeout)?;
        let marks = self.marks()?;
        marks
            .into_iter()
            .rfind(|mark| mark.name == PAINTED)
            .context("the mark is gone")
    }

    /// Waits until no frame has been finished for 150 ms.
    ///
    /// # Errors
    ///
    /// When the page is still drawing after `timeout`.
    pub fn wait_until_settled(&mut self, timeout: Duration) -> Result<()> {
        let count = format!("performance.getEntriesByName('{PAINTED}').length");
        let deadline = Instant::now() + timeout;
        let mut seen = self.eval(&count)?;
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < QUIET {
            if Instant::now() > deadline {
                bail!("the page still draws after {timeout:?}");
            }
            self.pause(Duration::from_millis(20))?;
            let now = self.eval(&count)?;
            if now != seen {
                seen = now;
                quiet_since = Instant::now();
            }
        }
        Ok(())
    }

    /// Starts recording long tasks of the main thread. Call it before the actions to measure.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn watch_long_tasks(&mut self) -> Result<()> {
        self.eval(
            "globalThis.longTasks = []; new PerformanceObserver(list => { for (const entry of \
             list.getEntries()) longTasks.push([entry.startTime, entry.duration]); \
             }).observe({type: 'longtask', buffered: true}); null",
        )
        .map(drop)
    }

    /// The long tasks since [`Page::watch_long_tasks`], and those that the browser had buffered before.
    ///
    /// # Errors
    ///
    /// When recording was not started.
    pub fn long_tasks(&mut self) -> Result<Vec<LongTask>> {
        let tasks = self.eval("longTasks")?;
        let tasks = tasks
            .as_array()
            .context("long tasks were not watched for")?;
        Ok(tasks
            .iter()
            .filter_map(|task| {
                Some(LongTask {
                    start_ms: task[0].as_f64()?,
                    duration_ms: task[1].as_f64()?,
                })
            })
            .collect())
    }

    /// The page's accessibility tree: one line per node, `role "name"`, indented.
    ///
    /// # Errors
    ///
    /// When the browser went away.
    pub fn accessibility_tree(&mut self) -> Result<String> {
        let answer = self.call("Accessibility.getFullAXTree", json!({}))?;
        let nodes = answer["nodes"].as_array().context("no tree")?;
        let mut text = String::new();
        let mut open: Vec<(usize, &Value)> =
            nodes.first().map(|root| (0, root)).into_iter().collect();
        while let Some((depth, node)) = open.pop() {
            let role = node["role"]["value"].as_str().unwrap_or_default();
            let hidden = node["ignored"] == true || role == "InlineTextBox";
            if !hidden {
                let name = node["name"]["value"].as_str().unwrap_or_default();
                text.push_str(&format!(
                    "{:indent$}{role} {name:?}\n",
                    "",
                    indent = depth * 2
                ));
            }
            let children = node["childIds"].as_array().map_or(&[][..], Vec::as_slice);
            for id in children.iter().rev() {
                if let Some(child) = nodes.iter().find(|node| &node["nodeId"] == id) {
                    open.push((depth + usize::from(!hidden), child));
                }
            }
        }
        Ok(text)
    }
}
