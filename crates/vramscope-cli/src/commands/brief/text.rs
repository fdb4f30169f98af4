//! The answer of `vramscope brief` as text.

use std::fmt::Write as _;

use vramscope_core::analysis::report::brief::{Cause, Failed};
use vramscope_core::units::{Bytes, Count};

use super::answer::{Answer, List};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::output::wrap;

/// The longest line, in characters.
const WIDTH: usize = 110;

impl Answer {
    /// The answer as text of at most `budget` bytes.
    pub(super) fn text(mut self, budget: u64) -> Result<String, Failure> {
        self.fitted(budget, |answer| Ok(printable_lines(&answer.lines())))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = wrap::paragraph("", &self.answer, WIDTH);
        lines.push(format!("{}, device {}", self.file, self.device));
        lines.push(String::new());
        if let Some(failed) = &self.failed {
            lines.extend(wrap::paragraph("failed  ", &failed_words(failed), WIDTH));
        }
        let made_of = self.made_of.as_deref().unwrap_or("");
        let peak = format!(
            "{} after event {}. {made_of}",
            Bytes(self.peak_bytes),
            Count(self.peak_moment.into())
        );
        lines.extend(wrap::paragraph("peak    ", &peak, WIDTH));
        if let Some(among) = &self.ranks {
            let text = format!(
                "{} files, {} with a failed request; the median peaks at {}: {}",
                among.files,
                among.failed,
                Bytes(among.median_peak_bytes),
                among.median_file
            );
            lines.extend(wrap::paragraph("ranks   ", &text, WIDTH));
        }
        section(&mut lines, "causes", &self.causes, |lines, cause| {
            cause_lines(lines, cause)
        });
        let when = if self.failed.is_some() {
            "live when it failed"
        } else {
            "live at the peak"
        };
        section(&mut lines, when, &self.sites, |lines, site| {
            let allocations = Count(site.count);
            lines.push(format!(
                "  {:>9}  {allocations:>6} ×  {}",
                Bytes(site.bytes).to_string(),
                site.label
            ));
        });
        section(
            &mut lines,
            "other settings, replayed",
            &self.what_ifs,
            |lines, row| {
                let sign = if row.change_bytes < 0 { "-" } else { "+" };
                lines.push(format!(
                    "  {}: {} reserved ({sign}{}, may be wrong by {}) with {}",
                    row.verdict,
                    Bytes(row.peak_reserved_bytes),
                    Bytes(row.change_bytes.unsigned_abs()),
                    Bytes(row.error_bytes),
                    row.settings
                ));
            },
        );
        section(
            &mut lines,
            "changes of the program, about",
            &self.changes,
            |lines, change| {
                let text = format!("{} less: {}", Bytes(change.saved_bytes), change.title);
                lines.extend(wrap::paragraph("  ", &text, WIDTH));
            },
        );
        section(
            &mut lines,
            "the file cannot tell",
            &self.cannot_tell,
            |lines, text| {
                lines.extend(wrap::paragraph("  ", text, WIDTH));
            },
        );
        section(&mut lines, "next", &self.next, |lines, command| {
            lines.push(format!("  {command}"))
        });
        lines
    }
}

/// A heading with how much of a list is shown, and its entries.
fn section<T>(
    lines: &mut Vec<String>,
    title: &str,
    list: &List<T>,
    mut add: impl FnMut(&mut Vec<String>, &T),
) {
    if list.total == 0 {
        return;
    }
    let shown = list.items.len() as u64;
    lines.push(String::new());
    lines.push(match shown == list.total {
        true => title.to_owned(),
        false => format!("{title} ({} of {})", Count(shown), Count(list.total)),
    });
    list.items.iter().for_each(|item| add(lines, item));
}

fn failed_words(failed: &Failed) -> String {
    let mut text = format!(
        "{} requested after event {} by {}, {}; the device had {} free",
        Bytes(failed.requested_bytes),
        Count(failed.moment.into()),
        failed.call_site,
        failed.place,
        Bytes(failed.device_free_bytes)
    );
    if let (Some(reserved), Some(usable)) = (failed.reserved_bytes, failed.usable_bytes) {
        let _ = write!(
            text,
            ", {} were held, of which {} could serve it",
            Bytes(reserved),
            Bytes(usable)
        );
    }
    let _ = write!(text, ". Why: {}.", failed.why);
    if failed.failures > 1 {
        let _ = write!(
            text,
            " {} requests failed; this is the last.",
            Count(failed.failures)
        );
    }
    text
}

fn cause_lines(lines: &mut Vec<String>, cause: &Cause) {
    let class = serde_json::to_value(cause.class).ok();
    let class = class
        .and_then(|class| class.as_str().map(str::to_owned))
        .unwrap_or_default();
    lines.extend(wrap::paragraph(
        "  ",
        &format!("{} [{class}]", cause.title),
        WIDTH,
    ));
    let is_told = cause.place.is_empty() || cause.seen.contains(&cause.place);
    let place = match is_told {
        true => String::new(),
        false => format!("at {}", cause.place),
    };
    for text in [&cause.seen, &place] {
        if !text.is_empty() {
            lines.extend(wrap::paragraph("    ", text, WIDTH));
        }
    }
    if !cause.advice.is_empty() {
        lines.extend(wrap::paragraph("    > ", &cause.advice, WIDTH));
    }
}

fn printable_lines(lines: &[String]) -> String {
    lines.iter().map(|line| printable(line) + "\n").collect()
}
