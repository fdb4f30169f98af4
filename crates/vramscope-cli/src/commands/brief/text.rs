//! The answer of `vramscope brief` as text.

use std::fmt::Write as _;

use vramscope_core::analysis::report::causes::Cause;
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::units::{Bytes, Count};

use super::among::Among;
use super::answer::{Answer, List, Replayed, Site};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::output::wrap;
use crate::report::word;

/// Maximum line length, in characters.
const WIDTH: usize = 110;

impl Answer {
    /// The answer as text.
    pub(super) fn text(mut self) -> Result<String, Failure> {
        self.fitted(|answer| Ok(printable_lines(&answer.lines())))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = self.head();
        section(&mut lines, "causes", &self.causes, cause_lines);
        let when = match self.failed {
            Some(_) => "live when it failed",
            None if self.has_trace => "live at the peak",
            None => "live at the dump",
        };
        section(&mut lines, when, &self.sites, |site| vec![site_line(site)]);
        if let (Some(replays), 0) = (&self.replays, self.what_ifs.total) {
            lines.extend([String::new(), replays.clone()]);
        }
        section(
            &mut lines,
            "other settings, replayed",
            &self.what_ifs,
            |row| vec![replay_line(row)],
        );
        section(
            &mut lines,
            "changes of the program, about",
            &self.changes,
            |change| {
                let text = format!("{} less: {}", Bytes(change.saved_bytes), change.title);
                wrap::paragraph("  ", &text, WIDTH)
            },
        );
        section(
            &mut lines,
            "the file cannot tell",
            &self.cannot_tell,
            |text| wrap::paragraph("  ", text, WIDTH),
        );
        section(&mut lines, "next", &self.next, |command| {
            vec![format!("  {command}")]
        });
        lines
    }

    /// What happened, and the figures that are not lists.
    fn head(&self) -> Vec<String> {
        let mut lines = wrap::paragraph("", &self.answer, WIDTH);
        lines.extend([
            format!("{}, device {}", self.file, self.device),
            String::new(),
        ]);
        if let Some(failed) = &self.failed {
            lines.extend(wrap::paragraph("failed  ", &failed.seen, WIDTH));
        }
        let peak = Bytes(self.peak_bytes);
        let (name, when) = if self.has_trace {
            let moment = Count(self.peak_moment.into());
            ("peak    ", format!("after event {moment}"))
        } else {
            ("live    ", "at the dump".to_owned())
        };
        let made_of = self.made_of.as_deref().unwrap_or("");
        lines.extend(wrap::paragraph(
            name,
            &format!("{peak} {when}. {made_of}"),
            WIDTH,
        ));
        if let Some(among) = &self.ranks {
            lines.extend(wrap::paragraph("ranks   ", &among_words(among), WIDTH));
        }
        lines
    }
}

fn among_words(among: &Among) -> String {
    let job = among.job.iter().map(|job| format!(" of job {job}"));
    let step = among.step.iter().map(|step| format!(" of step {step}"));
    let of: String = job.chain(step).collect();
    let mut text = format!(
        "{}{of}, {} with a failed request; the median peaks at {}: {}",
        counted(among.files as u64, "file"),
        among.failed,
        Bytes(among.median_peak_bytes),
        among.median_file
    );
    if among.left_out > 0 {
        let others = counted(among.left_out as u64, "other file");
        let _ = write!(text, ". Left out: {others}");
    }
    text
}

fn site_line(site: &Site) -> String {
    let (bytes, allocations) = (Bytes(site.bytes).to_string(), Count(site.count));
    format!("  {bytes:>9}  {allocations:>6} ×  {}", site.label)
}

fn replay_line(row: &Replayed) -> String {
    let sign = if row.change_bytes < 0 { "-" } else { "+" };
    format!(
        "  {}: {} reserved ({sign}{}, may be wrong by {}) with {}",
        row.verdict,
        Bytes(row.peak_reserved_bytes),
        Bytes(row.change_bytes.unsigned_abs()),
        Bytes(row.error_bytes),
        row.settings
    )
}

/// A heading that says how much of a list is shown, and its entries.
fn section<T>(
    lines: &mut Vec<String>,
    title: &str,
    list: &List<T>,
    of: impl Fn(&T) -> Vec<String>,
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
    lines.extend(list.items.iter().flat_map(of));
}

fn cause_lines(cause: &Cause) -> Vec<String> {
    let class = word(cause.class).unwrap_or_default();
    let title = format!("{} [{class}]", cause.title);
    let mut lines = wrap::paragraph("  ", &title, WIDTH);
    let is_told = cause.place.is_empty() || cause.seen.contains(&cause.place);
    let place = match is_told {
        true => String::new(),
        false => format!("at {}", cause.place),
    };
    for text in [&cause.seen, &place]
        .into_iter()
        .filter(|text| !text.is_empty())
    {
        lines.extend(wrap::paragraph("    ", text, WIDTH));
    }
    let setting = cause.setting.iter().map(|setting| &setting.advice);
    for text in setting
        .chain([&cause.advice])
        .filter(|text| !text.is_empty())
    {
        lines.extend(wrap::paragraph("    > ", text, WIDTH));
    }
    lines
}

fn printable_lines(lines: &[String]) -> String {
    lines.iter().map(|line| printable(line) + "\n").collect()
}
