//! Lines of `info` that combine several figures.

use std::time::{Duration, UNIX_EPOCH};

use vramscope_core::analysis::memory::capture::{Capture, Ended};
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::analysis::report::summary::{DeviceSummary, StateSummary, TableSizes};
use vramscope_core::model::Source;
use vramscope_core::units::{Bytes, Count};

pub(super) fn format(source: &Source) -> String {
    let names: Vec<_> = source.containers.iter().map(ToString::to_string).collect();
    let (names, size) = (names.join(" > "), Bytes(source.file_bytes));
    // A file with no pickle packed into it, such as a cut, has no such size.
    let is_packed = source.containers.len() > 1;
    match source.decoded_bytes {
        decoded if is_packed && ![0, source.file_bytes].contains(&decoded) => {
            format!("{names}, {size} ({} unpacked)", Bytes(decoded))
        }
        _ => format!("{names}, {size}"),
    }
}

pub(super) fn holds(tables: &TableSizes) -> String {
    let (stacks, frames) = (
        counted(tables.stacks, "stack"),
        counted(tables.frames, "frame"),
    );
    format!(
        "{}, {stacks} of {frames}, {}, {}",
        counted(tables.events, "event"),
        counted(tables.strings, "text"),
        counted(tables.streams, "stream")
    )
}

/// When a program was captured, and how it ended.
pub(super) fn captured(capture: &Capture) -> String {
    let is_running = capture.ended == Ended::Running;
    let started = capture.started_us.and_then(date);
    let read = capture.read_us.filter(|_| is_running).and_then(date);
    let process = Some(capture.process).filter(|&process| process > 0);
    let ended = match capture.ended {
        Ended::InOrder => "it ended normally",
        Ended::WithoutNotice => "it was killed or crashed",
        Ended::Running => "it was still running",
        Ended::RecorderFailed => "the recorder failed before its end",
        Ended::Unknown => "how it ended is not known",
    };
    let words = [
        started.map(|date| format!("from {date}")),
        process.map(|process| format!("process {process}")),
        Some(ended.to_owned()),
        read.map(|date| format!("as read at {date}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How long a trace is, and when it begins.
pub(super) fn span(of: &DeviceSummary) -> String {
    let Some(span) = of.time_span.filter(|_| of.events > 1) else {
        return String::new();
    };
    let length = seconds(span.end_us.saturating_sub(span.start_us));
    let from = date(span.start_us).map(|date| format!(" from {date}"));
    format!("in {length}{}", from.unwrap_or_default())
}

pub(super) fn actions(of: &DeviceSummary) -> String {
    let actions = of.events_by_action.iter();
    let actions = actions.map(|entry| format!("{} {}", entry.action, Count(entry.count)));
    actions.collect::<Vec<_>>().join(", ")
}

/// How many allocations are older than the trace, and live at its end.
pub(super) fn allocations(of: &DeviceSummary) -> String {
    let before = of.allocations_before_recording;
    let number = match before == of.allocations {
        true => "all".to_owned(),
        false => Count(before).to_string(),
    };
    let bytes = Bytes(of.bytes_before_recording);
    let before = (before > 0).then(|| format!("{number} from before recording ({bytes})"));
    let live = of.allocations_still_live;
    let live = (live > 0).then(|| format!("{} still live", Count(live)));
    before
        .into_iter()
        .chain(live)
        .collect::<Vec<_>>()
        .join(", ")
}

/// When the peak was, and in how many allocations.
pub(super) fn peak(of: &DeviceSummary) -> String {
    let (peak, allocations) = (&of.peak, counted(of.peak.allocations, "allocation"));
    let at = of
        .time_span
        .zip(peak.time_us)
        .map(|(span, time)| format!(" at +{}", seconds(time.saturating_sub(span.start_us))));
    match peak.moment {
        _ if of.events <= 1 => format!("at the dump, {allocations}"),
        0 => format!("from the start, {allocations}"),
        moment => format!(
            "after event {}{}, {allocations}",
            Count(moment.into()),
            at.unwrap_or_default()
        ),
    }
}

/// What a final state consists of; empty if it has nothing.
pub(super) fn state(of: &StateSummary) -> String {
    let (segments, blocks) = (counted(of.segments, "segment"), counted(of.blocks, "block"));
    match (of.segments, of.streams.len()) {
        (0, _) => String::new(),
        (_, 0 | 1) => format!("{segments}, {blocks}"),
        (_, streams) => format!("{segments}, {blocks}, {streams} streams"),
    }
}

fn seconds(us: i64) -> String {
    let us = us.max(0);
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

/// `2025-10-02T12:00:00Z`; `None` for times up to 1970 and for years of more than four digits.
fn date(us: i64) -> Option<String> {
    let since_epoch = Duration::from_micros(u64::try_from(us).ok().filter(|&us| us > 0)?);
    // The end of the year 9999.
    const YEAR_9999: Duration = Duration::from_secs(253_402_300_799);
    let time = UNIX_EPOCH
        .checked_add(since_epoch)
        .filter(|_| since_epoch < YEAR_9999)?;
    Some(humantime::format_rfc3339_seconds(time).to_string())
}
