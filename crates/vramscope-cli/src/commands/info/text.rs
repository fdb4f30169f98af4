//! The text of `info`: labels to the left, figures aligned, exact bytes beside the rounded ones.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use vramscope_core::analysis::memory::capture::{Capture, Ended};
use vramscope_core::analysis::report::facts::{Fact, FactLevel, warning_line};
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::analysis::report::pool_lines::PoolLines;
use vramscope_core::analysis::report::summary::{DeviceSummary, StateSummary, Summary, TimeSpan};
use vramscope_core::model::Source;
use vramscope_core::units::{Bytes, Count};

use super::{Info, PeakSites};
use crate::arguments::Show;
use crate::harmless::printable_cell;
use crate::output::wrap;
use crate::report::{self, Part};

/// The width of labels, in characters.
const LABEL: usize = 16;
/// The longest wrapped line, in characters.
const WIDTH: usize = 95;
/// Most memory pools that are listed.
const POOLS: usize = 8;

/// Writes the whole text: all files, and their comparison.
pub(super) fn write(out: &mut dyn Write, infos: &[Info], ranks: Option<&Part>) -> io::Result<()> {
    for (place, info) in infos.iter().enumerate() {
        let gap = if place > 0 { "\n" } else { "" };
        write!(out, "{gap}{}", file_text(info))?;
    }
    if let Some(ranks) = ranks {
        out.write_all(b"\n")?;
        report::write_text(out, ranks, Show::default())?;
    }
    Ok(())
}

fn file_text(info: &Info) -> String {
    let mut page = Page::default();
    page.title(&info.file);
    file_lines(&mut page, &info.summary);
    if let Some(capture) = &info.summary.capture {
        capture_lines(&mut page, capture);
    }
    for (device, title) in info.summary.devices.iter().zip(&info.device_titles) {
        page.title(title);
        let peak = info.peaks.iter().find(|peak| peak.device == device.device);
        if let Some(peak) = peak {
            page.paragraph("  ", &peak.verdict);
        }
        device_lines(&mut page, device);
        if let Some(peak) = peak {
            site_lines(&mut page, peak);
        }
    }
    if let Some(host) = &info.summary.host {
        page.title("pinned host memory");
        page.line("events", &count(host.events));
        state_lines(&mut page, &host.state);
    }
    fact_lines(&mut page, &info.facts, info.summary.devices.len() > 1);
    warning_lines(&mut page, &info.summary);
    page.text
}

/// A text built of labelled lines.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn title(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.push(title);
    }

    fn line(&mut self, label: &str, value: &str) {
        self.push(format!("  {label:LABEL$}{value}").trim_end());
    }

    /// Adds a size, rounded and exact, with a remark.
    fn bytes(&mut self, label: &str, bytes: u64, remark: &str) {
        let exact = format!("{} B", count(bytes));
        self.line(
            label,
            &format!("{:>9}  {exact:>20}  {remark}", Bytes(bytes).to_string()),
        );
    }

    /// Adds words, wrapped into lines that begin at the same column.
    fn paragraph(&mut self, first: &str, words: &str) {
        for line in wrap::paragraph(first, words, WIDTH) {
            self.push(&line);
        }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(&printable_cell(line));
        self.text.push('\n');
    }
}

fn count(number: u64) -> String {
    Count(number).to_string()
}

fn file_lines(page: &mut Page, summary: &Summary) {
    page.line("format", &format_of(&summary.source));
    let producer = &summary.producer;
    let evidence = match producer.evidence.as_str() {
        "" => String::new(),
        key => format!(" (by {key})"),
    };
    page.line("written by", &format!("{}{evidence}", producer.name));
    let tables = &summary.tables;
    let holds = [
        counted(tables.events, "event"),
        format!(
            "{} of {}",
            counted(tables.stacks, "stack"),
            counted(tables.frames, "frame")
        ),
        counted(tables.strings, "text"),
        counted(tables.streams, "stream"),
    ]
    .join(", ");
    page.line("holds", &holds);
    for (key, value) in &summary.settings {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            page.line("settings", &format!("{key}={text}"));
        }
    }
}

/// Adds how the capture was made and how it ended.
fn capture_lines(page: &mut Page, capture: &Capture) {
    if !capture.program.is_empty() {
        page.line("program", &capture.command_line());
    }
    let mut words = vec![
        match capture.ended {
            Ended::InOrder => "it ended in an orderly way",
            Ended::WithoutNotice => "it was killed or crashed",
            Ended::Running => "it was still running",
            Ended::RecorderFailed => "the recorder failed before its end",
            Ended::Unknown => "how it ended is not known",
        }
        .to_owned(),
    ];
    if capture.process > 0 {
        words.insert(0, format!("process {}", capture.process));
    }
    if let Some(date) = capture.started_us.and_then(date) {
        words.insert(0, format!("from {date}"));
    }
    let is_running = capture.ended == Ended::Running;
    if let Some(date) = capture.read_us.filter(|_| is_running).and_then(date) {
        words.push(format!("as read at {date}"));
    }
    page.line("captured", &words.join(", "));
    if capture.dropped_entries > 0 {
        let events = counted(capture.dropped_entries, "older event");
        page.line("let go", &format!("{events}: only the newest are kept"));
    }
    for device in &capture.devices {
        let total = device.total_bytes.map(|bytes| Bytes(bytes).to_string());
        let words = [Some(device.name.clone()), total, Some(device.uuid.clone())];
        let words: Vec<_> = words
            .into_iter()
            .flatten()
            .filter(|word| !word.is_empty())
            .collect();
        page.line(&format!("device {}", device.index), &words.join(", "));
    }
}

fn format_of(source: &Source) -> String {
    let names: Vec<_> = source.containers.iter().map(ToString::to_string).collect();
    let size = Bytes(source.file_bytes);
    let decoded = Bytes(source.decoded_bytes);
    // A file that no pickle was packed into, as a cut, has no such size.
    if names.len() > 1 && ![0, source.file_bytes].contains(&source.decoded_bytes) {
        format!("{}, {size} ({decoded} unpacked)", names.join(" > "))
    } else {
        format!("{}, {size}", names.join(" > "))
    }
}

fn device_lines(page: &mut Page, device: &DeviceSummary) {
    page.line("events", &events_line(device));
    let actions: Vec<_> = device
        .events_by_action
        .iter()
        .map(|entry| format!("{} {}", entry.action, count(entry.count)))
        .collect();
    if !actions.is_empty() {
        page.paragraph(&" ".repeat(LABEL + 2), &actions.join(", "));
    }
    page.line("allocations", &allocations_line(device));
    let peak = &device.peak;
    let at = device
        .time_span
        .zip(peak.time_us)
        .map(|(span, time)| format!(" at {}", offset(span, time)));
    let has_trace = device.events > 1;
    let moment = match peak.moment {
        _ if !has_trace => "at the dump".to_owned(),
        0 => "from the start".to_owned(),
        moment => format!(
            "after event {}{}",
            count(u64::from(moment)),
            at.unwrap_or_default()
        ),
    };
    let remark = format!("{moment}, {}", counted(peak.allocations, "allocation"));
    let reserved = |page: &mut Page, label: &str, bytes: Option<u64>| match bytes {
        Some(bytes) => page.bytes(label, bytes, ""),
        None => page.line(label, "unknown: no segment is recorded"),
    };
    if has_trace {
        page.bytes("peak live", peak.active_bytes, &remark);
        page.bytes("live at end", device.active_at_end_bytes, "");
        reserved(page, "reserved max", device.reserved_max_bytes);
        reserved(page, "reserved at end", device.reserved_at_end_bytes);
    } else {
        page.bytes("live", peak.active_bytes, &remark);
        reserved(page, "reserved", device.reserved_max_bytes);
    }
    state_lines(page, &device.state);
    pool_lines(page, &device.pools);
}

fn events_line(device: &DeviceSummary) -> String {
    let mut line = count(device.events);
    if let Some(span) = device.time_span.filter(|_| device.events > 1) {
        let length = span.end_us.saturating_sub(span.start_us);
        let _ = write!(line, " in {}", seconds(length));
        if let Some(date) = date(span.start_us) {
            let _ = write!(line, " from {date}");
        }
    }
    line
}

fn allocations_line(device: &DeviceSummary) -> String {
    let mut line = count(device.allocations);
    let before = device.allocations_before_recording;
    if before > 0 {
        let number = if before == device.allocations {
            "all".to_owned()
        } else {
            count(before)
        };
        let _ = write!(
            line,
            ", {number} from before recording ({})",
            Bytes(device.bytes_before_recording)
        );
    }
    if device.allocations_still_live > 0 {
        let _ = write!(
            line,
            ", {} still live",
            count(device.allocations_still_live)
        );
    }
    line
}

fn state_lines(page: &mut Page, state: &StateSummary) {
    if state.segments == 0 {
        return;
    }
    let mut figures = format!(
        "{}, {}",
        counted(state.segments, "segment"),
        counted(state.blocks, "block")
    );
    if state.streams.len() > 1 {
        let _ = write!(figures, ", {} streams", state.streams.len());
    }
    page.line("final state", &figures);
    page.bytes("  allocated", state.allocated_bytes, "");
    let pending = state.active_bytes - state.allocated_bytes.min(state.active_bytes);
    if pending > 0 {
        page.bytes("  pending free", pending, "wait for other streams");
    }
    page.bytes(
        "  rounding",
        state.active_bytes.saturating_sub(state.requested_bytes),
        "in those",
    );
    page.bytes("  free", state.free_bytes, "cached by the allocator");
    page.bytes(
        "  largest free",
        state.largest_free_block_bytes,
        "one block",
    );
}

/// Adds the memory pools, if there are several.
fn pool_lines(page: &mut Page, pools: &PoolLines) {
    if pools.lines.is_empty() {
        return;
    }
    page.push("  pools, when most was reserved");
    for line in pools.lines.iter().take(POOLS) {
        let owner = line.owner.iter().map(|owner| format!(" Mostly {owner}."));
        let words = format!(
            "{}.{} {}",
            line.label,
            owner.collect::<String>(),
            line.because
        );
        let first = format!("    {:>9}  ", Bytes(line.reserved_bytes).to_string());
        page.paragraph(&first, &words);
    }
    let left_out = pools.left_out + pools.lines.len().saturating_sub(POOLS) as u64;
    if left_out > 0 {
        page.push(&format!("    and {}", counted(left_out, "smaller pool")));
    }
}

fn site_lines(page: &mut Page, peak: &PeakSites) {
    if peak.sites.bytes == 0 {
        return;
    }
    let sentence = peak.roles.sentence();
    if let Some(sentence) = sentence.filter(|sentence| *sentence != peak.verdict) {
        page.paragraph("  ", &sentence);
    }
    let when = if peak.roles.has_trace { "peak" } else { "dump" };
    page.push(&format!("  at the {when}, by call site"));
    let mut line = |bytes: u64, allocations: u64, label: &str| {
        let percent = bytes as f64 * 100.0 / peak.sites.bytes as f64;
        let times = count(allocations);
        page.push(&format!(
            "    {:>9}  {percent:>3.0} %  {times:>9} x  {label}",
            Bytes(bytes).to_string()
        ));
    };
    for total in &peak.sites.sites {
        line(total.bytes, total.count, &total.label);
    }
    if peak.sites.other_sites > 0 {
        let label = format!("{} further call sites", count(peak.sites.other_sites));
        line(peak.sites.other_bytes, peak.sites.other_count, &label);
    }
}

fn fact_lines(page: &mut Page, facts: &[Fact], name_device: bool) {
    if facts.is_empty() {
        return;
    }
    page.title("good to know");
    for fact in facts {
        let sign = if fact.level == FactLevel::Gap {
            "  ! "
        } else {
            "  - "
        };
        let device = fact
            .device
            .filter(|_| name_device)
            .map(|device| format!("Device {device}: "));
        let words = [
            &device.unwrap_or_default(),
            fact.text.as_str(),
            &fact.meaning,
            &fact.advice,
        ]
        .join(" ");
        page.paragraph(sign, &words);
    }
}

fn warning_lines(page: &mut Page, summary: &Summary) {
    if summary.warnings.is_empty() {
        return;
    }
    page.title("odd about this file");
    for warning in &summary.warnings {
        page.paragraph("  ! ", &warning_line(warning));
    }
}

/// `+1.234567 s`.
fn offset(span: TimeSpan, time_us: i64) -> String {
    format!("+{}", seconds(time_us.saturating_sub(span.start_us)))
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
