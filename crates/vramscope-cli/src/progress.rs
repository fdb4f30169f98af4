//! Bars on the terminal while something takes long; nothing where standard error is no terminal.
//!
//! Nothing appears in the first second, and what appeared is wiped out before anything else is written. The
//! bars have no colours.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::output::printable;

/// How long work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// There is one terminal, whoever draws on it.
static SCREEN: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Writes something else to standard error while the bars are out of the way.
pub(crate) fn suspend<T>(write: impl FnOnce() -> T) -> T {
    SCREEN.suspend(write)
}

/// A file being read. Its bar goes when it is dropped.
pub(crate) struct Reading {
    name: String,
    file_bytes: Option<u64>,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Reading {
    /// `file_bytes`: how much there is to read, if that is known.
    pub(crate) fn new(name: &str, file_bytes: Option<u64>) -> Self {
        Self {
            name: printable(name),
            file_bytes,
            since: Instant::now(),
            bar: None,
        }
    }

    /// So much has been read.
    pub(crate) fn show(&mut self, read_bytes: u64) {
        if self.bar.is_none() {
            if self.since.elapsed() < PATIENCE {
                return;
            }
            let template = match self.file_bytes {
                Some(_) => "{msg}  {wide_bar}  {binary_bytes} of {binary_total_bytes}",
                None => "{msg}  {binary_bytes}",
            };
            let bar = ProgressBar::hidden().with_message(format!("reading {}", self.name));
            bar.set_length(self.file_bytes.unwrap_or(0));
            self.bar = Some(SCREEN.add(bar.with_style(style(template))));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(read_bytes);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How many of several files are done.
pub(crate) struct Several {
    since: Instant,
    files: usize,
    state: Mutex<(usize, Option<ProgressBar>)>,
}

impl Several {
    /// None are done.
    pub(crate) fn new(files: usize) -> Self {
        Self {
            since: Instant::now(),
            files,
            state: Mutex::default(),
        }
    }

    /// One more is done.
    pub(crate) fn one_done(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        if self.files < 2 || self.since.elapsed() < PATIENCE {
            return;
        }
        let bar = || {
            let bar = ProgressBar::hidden().with_style(style("{pos} of {len} files"));
            bar.set_length(self.files as u64);
            SCREEN.add(bar)
        };
        let done = state.0 as u64;
        state.1.get_or_insert_with(bar).set_position(done);
    }
}

impl Drop for Several {
    fn drop(&mut self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = &state.1 {
            bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_ours_are_right| ProgressStyle::default_bar())
}
