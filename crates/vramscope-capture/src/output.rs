//! The only place that writes to the terminal: standard error alone, for standard output is the captured program's.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;

/// What lines of ours begin with, so that they are told from the program's.
const PREFIX: &str = "vramscope-capture: ";

/// How long work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tells why a command failed.
pub(crate) fn report(failure: &Failure) {
    note(&format!("error: {failure}"));
}

/// Writes to standard error. That this can fail as well is nothing anyone could be told.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr().lock();
    let written = stderr.write_all(line(text).as_bytes());
    drop(written.and_then(|()| stderr.flush()));
}

/// What is written of a text.
pub(crate) fn line(text: &str) -> String {
    format!("{PREFIX}{}\n", printable(text))
}

/// A text in which nothing but line breaks can move the cursor: names in a log may hold any character, a terminal's
/// escape sequences too.
fn printable(text: &str) -> String {
    let harmless = |character: char| match character {
        '\n' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    };
    text.chars().map(harmless).collect()
}

/// A path as a shell takes it.
#[cfg(target_os = "linux")]
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain =
        |character: char| character.is_alphanumeric() || "/._-+,:=@%".contains(character);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Work that may take long: a bar after the first second, none where standard error is no terminal, wiped out in the
/// end.
pub(crate) struct Progress {
    name: String,
    is_shown: bool,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing is done. Without `is_shown` nothing is ever seen of it.
    pub(crate) fn new(name: &str, is_shown: bool) -> Self {
        Self {
            name: printable(name),
            is_shown,
            since: Instant::now(),
            bar: None,
        }
    }

    /// So much of so much is done.
    pub(crate) fn show(&mut self, done_bytes: u64, total_bytes: u64) {
        if !self.is_shown || self.since.elapsed() < PATIENCE {
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
