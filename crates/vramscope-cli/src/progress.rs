//! Progress bars on the terminal; none if standard error is not a terminal.
//!
//! No bar appears in the first second, and each is erased before other output. Bars have no colours.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::harmless::printable;

/// How long work runs before a bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shared by all threads, as there is only one terminal.
static SCREEN: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Hides the bars while `write` writes to standard error.
pub(crate) fn suspend<T>(write: impl FnOnce() -> T) -> T {
    SCREEN.suspend(write)
}

/// Shows no bars from now on: they would overwrite a command's output.
pub(crate) fn end() {
    SCREEN.set_draw_target(ProgressDrawTarget::hidden());
}

/// The bar of a file that is being read; erased when dropped.
pub(crate) struct Reading {
    name: String,
    file_bytes: Option<u64>,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Reading {
    /// `file_bytes`: the file's size, if it is known.
    pub(crate) fn new(name: &str, file_bytes: Option<u64>) -> Self {
        Self {
            name: printable(name),
            file_bytes,
            since: Instant::now(),
            bar: None,
        }
    }

    /// Moves the bar to the bytes read so far.
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

/// The bar that counts finished files.
pub(crate) struct Several {
    since: Instant,
    files: usize,
    state: Mutex<(usize, Option<ProgressBar>)>,
}

impl Several {
    pub(crate) fn new(files: usize) -> Self {
        Self {
            since: Instant::now(),
            files,
            state: Mutex::default(),
        }
    }

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
