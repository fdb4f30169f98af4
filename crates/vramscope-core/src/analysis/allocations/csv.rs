//! Allocations as comma-separated values (RFC 4180), with all that a spreadsheet may want of them.

use std::collections::HashMap;
use std::fmt::Write;

use super::super::details::lifetime;
use super::super::filter::Subject;
use super::super::frames::{Location, clip};
use super::super::history::{NEVER, StackSource};
use super::stream_numbers;
use crate::ids::{AllocationId, EventId, StringId};
use crate::model::{NO_TIME, PoolId};

const COLUMNS: [&str; 26] = [
    "allocation",
    "name",
    "address",
    "requested_bytes",
    "block_bytes",
    "rounding_bytes",
    "alloc_event",
    "free_requested_event",
    "free_completed_event",
    "alloc_time_us",
    "free_requested_time_us",
    "free_completed_time_us",
    "lifetime_events",
    "lifetime_us",
    "lifetime_is_lower_bound",
    "stream",
    "stream_number",
    "pool",
    "category",
    "user_metadata",
    "compile_context",
    "call_site",
    "function",
    "file",
    "line",
    "stack_of",
];

/// What is written of one text, in bytes.
const TEXT_LIMIT_BYTES: usize = 4096;

/// The first line. Events are numbered from 1 as on the page; times are microseconds since the Unix epoch; an
/// empty field is something that is not known or never was.
#[must_use]
pub fn csv_header() -> String {
    COLUMNS.join(",") + "\r\n"
}

/// Appends a line for each of these rows; numbers beyond the table are left out.
pub fn append_csv(subject: &Subject<'_>, shown: &[u32], out: &mut String) {
    let count = subject.history.allocations.len();
    let numbers = stream_numbers(subject);
    for &row in shown.iter().filter(|&&row| (row as usize) < count) {
        append_line(subject, &numbers, row, out);
    }
}

fn append_line(subject: &Subject<'_>, numbers: &HashMap<i64, u32>, row: u32, out: &mut String) {
    let (snapshot, history) = (subject.snapshot, subject.history);
    let (id, at) = (AllocationId(row), row as usize);
    let table = &history.allocations;
    let (address, bytes) = (table.address[at], table.bytes[at]);
    let block = history
        .final_block(id)
        .map(|block| snapshot.blocks.get(block).size);
    let life = lifetime(history, id);
    let mut line = Line {
        out,
        is_begun: false,
    };
    line.number(Some(row + 1));
    line.shown(format_args!("b{address:x}_{}", table.version[at]));
    line.shown(format_args!("{address:#x}"));
    line.number(Some(bytes));
    line.number(block);
    line.number(block.map(|block| block.saturating_sub(bytes)));
    let moments = [table.born[at], table.free_requested[at], table.died[at]];
    for moment in moments {
        line.number((moment != 0 && moment != NEVER).then_some(moment));
    }
    let events = [
        history.alloc_event(id),
        history.free_requested_event(id),
        history.free_completed_event(id),
    ];
    for event in events {
        line.number(event.and_then(|event| time_of(subject, event)));
    }
    line.number(Some(life.events));
    line.number(life.us);
    line.text(if life.at_least { "true" } else { "false" });
    let stream = subject.index.streams(snapshot, history)[at];
    line.number(stream);
    line.number(stream.and_then(|stream| numbers.get(&stream)));
    match subject.index.pools(snapshot, history)[at] {
        Some(PoolId(a, b)) => line.shown(format_args!("({a} {b})")),
        None => line.text(""),
    }
    let context = subject.index.context(at);
    let context = context.map(|context| snapshot.contexts.get(context));
    let text =
        |id: Option<StringId>| id.map_or("", |id| clip(snapshot.strings.get(id), TEXT_LIMIT_BYTES));
    line.text(text(context.and_then(|context| context.category)));
    line.text(text(context.and_then(|context| context.user_metadata)));
    let compiled = text(context.and_then(|context| context.compile_context));
    line.text(if compiled == "N/A" { "" } else { compiled });
    append_code(subject, id, &mut line);
    line.out.push_str("\r\n");
}

/// Call site, its frame, and whose stack it is.
fn append_code(subject: &Subject<'_>, id: AllocationId, line: &mut Line<'_>) {
    let site = subject.site_of.get(id.index()).copied();
    let site = site.map(|site| subject.call_sites.get(site));
    line.text(site.map_or("", |site| site.label.as_str()));
    let frame = site.and_then(|site| site.frame);
    let location =
        frame.map(|frame| Location::of(subject.snapshot, subject.snapshot.frames.get(frame)));
    line.text(location.map_or("", |location| location.function));
    line.text(location.map_or("", |location| location.file));
    line.number(
        location
            .map(|location| location.line)
            .filter(|&line| line > 0),
    );
    let (stack, source) = subject.history.stack(subject.snapshot, id);
    line.text(match source {
        _ if !stack.has_frames() => "",
        StackSource::Alloc => "alloc",
        StackSource::Block => "block",
        StackSource::Free => "free",
    });
}

fn time_of(subject: &Subject<'_>, event: EventId) -> Option<i64> {
    let times = &subject.snapshot.events.time_us;
    times
        .get(event.index())
        .copied()
        .filter(|&time| time != NO_TIME)
}

/// One line as it grows.
struct Line<'a> {
    out: &'a mut String,
    is_begun: bool,
}

impl Line<'_> {
    fn begin(&mut self) {
        if self.is_begun {
            self.out.push(',');
        }
        self.is_begun = true;
    }

    fn number<T: std::fmt::Display>(&mut self, number: Option<T>) {
        match number {
            Some(number) => self.shown(format_args!("{number}")),
            None => self.begin(),
        }
    }

    /// What is known to need no quotes.
    fn shown(&mut self, text: std::fmt::Arguments<'_>) {
        self.begin();
        // Writing to a `String` cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn text(&mut self, text: &str) {
        self.begin();
        if !text.contains(['"', ',', '\r', '\n']) {
            self.out.push_str(text);
            return;
        }
        self.out.push('"');
        for part in text.split_inclusive('"') {
            self.out.push_str(part);
            if part.ends_with('"') {
                self.out.push('"');
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_commas_are_kept() {
        let mut out = String::new();
        let mut line = Line {
            out: &mut out,
            is_begun: false,
        };
        line.text("a");
        line.text("f(int, char)");
        line.text("say \"x\"");
        line.number(None::<u32>);
        line.number(Some(5));
        assert_eq!(out, "a,\"f(int, char)\",\"say \"\"x\"\"\",,5");
    }
}
