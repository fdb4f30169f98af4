//! Terminal output. Only standard error is used, as standard output belongs to the captured program.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use vramscope_core::invisible;

use crate::failure::Failure;

/// Distinguishes this program's lines from the captured program's.
const PREFIX: &str = "vramscope-capture: ";

/// Time before progress is shown.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

pub(crate) fn report(failure: &Failure) {
    note(&format!("error: {failure}"));
}

/// Prints a text. If that fails, there is nowhere to report it.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let written = stderr.write_all(line(text).as_bytes());
    drop(written.and_then(|()| stderr.flush()));
}

/// Formats a text for the terminal, with the prefix and a line break.
pub(crate) fn line(text: &str) -> String {
    format!("{PREFIX}{}\n", printable(text))
}

/// Replaces control characters except line breaks, and escapes invisible ones: names in a log may contain anything,
/// such as terminal escape sequences.
fn printable(text: &str) -> String {
    let is_harmful = |character: char| character.is_control() && character != '\n';
    invisible::escaped(text).replace(is_harmful, "\u{fffd}")
}

/// Quotes a path for a shell.
#[cfg(target_os = "linux")]
pub(crate) fn quote(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain =
        |character: char| character.is_alphanumeric() || "/._-+,:=@%".contains(character);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Joins names for a message. After eight, `…` stands for the rest.
#[cfg(target_os = "linux")]
pub(crate) fn join_names(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > 8 { ", …" } else { "" };
    let names: Vec<_> = names.take(8).collect();
    format!("{}{more}", names.join(", "))
}

/// A progress bar for slow work: appears after the first second and is removed at the end. Hidden if standard error is
/// not a terminal.
pub(crate) struct Progress {
    name: String,
    is_shown: bool,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts at zero. Never shows anything unless `is_shown`.
    pub(crate) fn new(name: &str, is_shown: bool) -> Self {
        Self {
            name: printable(name),
            is_shown,
            since: Instant::now(),
            bar: None,
        }
    }

    pub(crate) fn show(&mut self, done_bytes: u64, total_bytes: u64) {
        if !self.is_shown || self.since.elapsed() < PROGRESS_DELAY {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(
                "{msg}  {wide_bar}  {binary_bytes} of {binary_total_bytes}",
            );
            ProgressBar::new(total_bytes)
                .with_message(format!("converting {}", self.name))
                .with_style(style.unwrap_or_else(|_ours_is_right| ProgressStyle::default_bar()))
        });
        bar.set_position(done_bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_defused() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\nc");
    }
}
