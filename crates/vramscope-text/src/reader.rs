//! Reads a text piece by piece, in bounded memory, and stores what it finds.
//!
//! The text passes through a window of fixed size. The text before a position is kept for its traceback, and the text after
//! it for a message or table that begins there, so the result does not depend on how the text is divided into pieces.

use std::cell::Cell;
use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};
use vramscope_core::Limits;
use vramscope_core::container::unpacked;

use crate::compact::Compact;
use crate::context::{command, teller, traceback};
use crate::course::Course;
use crate::figure::Figure;
use crate::forms::{Found, driver, host, logs, tables, torch, vllm, xla};
use crate::lines::{HEAD, after, is_of_time_limit, is_source, line_around};
use crate::needles::{self, Kind, LONGEST};
use crate::origin;
use crate::record::{Failure, Form, HostFailure, HostKind, Reading, Record, Report, Usage};

const WINDOW: usize = 1 << 20;
/// Bytes kept before and after the current position.
const AHEAD: usize = 64 << 10;
const BEHIND: usize = 32 << 10;

/// Greatest length of a message, and greatest distance from its beginning to one of its words.
const MESSAGE: usize = 4 << 10;
const SHORT: usize = 1 << 10;
const BEFORE: usize = 1 << 10;
/// The same for the buffers of XLA.
const BUFFERS: usize = 48 << 10;
/// How much of a line is examined before and after a word, if the line has quantities or an error.
const LINE: usize = 4 << 10;
const NEAR: usize = 500;
/// A shorter line was not wrapped.
const LEAST_WIDTH: usize = 30;

/// Most records stored, and most quantities of log lines.
const MOST_RECORDS: usize = 1000;
const MOST_USAGE: usize = 256;
/// How many records back a repeated one is recognised.
const SAME_WITHIN: usize = 64;

/// Reads a text.
#[derive(Default)]
pub struct Reader {
    window: Vec<u8>,
    /// The offset of the window's first byte, and the number of lines before it.
    base: u64,
    base_lines: u64,
    /// The position up to which lines were counted for the last log line, as an offset, and its line.
    counted: (u64, u64),
    /// The end of the part of the window that was examined, and the end of what was found.
    looked: usize,
    taken: usize,
    /// The end of the part that was searched for quantities of logs. A failure in it is still found.
    logged: usize,
    /// The offset of the last line from which a table was read, whether it was one or not.
    tabled: Option<u64>,
    /// The end of the part that was searched without finding the beginning of a message, or of one of XLA.
    barren: [usize; 2],
    found: Reading,
    has_failure: bool,
    /// The offset at which the last failure of llama.cpp began, and its request.
    last_ggml: Option<(u64, Option<Figure>)>,
    /// The offset at which TensorFlow last asked the driver in vain, and for how much.
    last_asked: Option<(u64, u64)>,
    /// The last failure of the computer's memory, and the offset of the line after it.
    last_host: Option<(u64, HostFailure)>,
}

/// Reads a complete text.
#[must_use]
pub fn read(text: &[u8]) -> Reading {
    let mut reader = Reader::default();
    reader.feed(text);
    reader.finish()
}

/// Reads a text to its end, in pieces, also one compressed by gzip or zstd. `on_progress` receives the number of bytes of
/// the file that were read. What could be read of a damaged text is kept.
///
/// # Errors
///
/// If nothing of it can be read.
pub fn read_from(file: impl Read, mut on_progress: impl FnMut(u64)) -> io::Result<Reading> {
    let done_bytes = Cell::new(0);
    let file = Counted(file, &done_bytes);
    let mut text = unpacked(file, &Limits::default()).map_err(io::Error::other)?;
    let mut reader = Reader::default();
    let mut piece = vec![0; 256 << 10];
    loop {
        let length = match text.read(&mut piece) {
            Ok(0) => return Ok(reader.finish()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if reader.is_empty() => return Err(error),
            Err(error) => {
                let mut reading = reader.finish();
                reading.broken_off = Some(error.to_string());
                return Ok(reading);
            }
        };
        reader.feed(&piece[..length]);
        on_progress(done_bytes.get());
    }
}

/// Counts the bytes that are read.
struct Counted<'a, R>(R, &'a Cell<u64>);

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1.set(self.1.get() + length as u64);
        Ok(length)
    }
}

impl Reader {
    /// Whether no text has come yet.
    fn is_empty(&self) -> bool {
        self.base == 0 && self.window.is_empty()
    }

    /// Takes the next piece of the text. NULs are skipped, so that PowerShell's output (UTF-16) reads like ASCII.
    pub fn feed(&mut self, text: &[u8]) {
        let mut from = 0;
        for nul in memchr_iter(0, text) {
            self.take(&text[from..nul]);
            from = nul + 1;
        }
        self.take(&text[from..]);
    }

    fn take(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            let (now, later) = text.split_at(text.len().min(WINDOW - self.window.len()));
            self.window.extend_from_slice(now);
            text = later;
            if self.window.len() == WINDOW {
                self.look(WINDOW - AHEAD);
                self.move_on();
            }
        }
    }

    /// Everything that was found, after the last piece.
    #[must_use]
    pub fn finish(mut self) -> Reading {
        self.look(self.window.len());
        self.found.bytes = self.base + self.window.len() as u64;
        let lines = memchr_iter(b'\n', &self.window).count() as u64;
        let is_open = self.window.last().is_some_and(|&byte| byte != b'\n');
        self.found.lines = self.base_lines + lines + u64::from(is_open);
        self.found
    }

    /// Examines the window up to a position.
    fn look(&mut self, to: usize) {
        let window = std::mem::take(&mut self.window);
        let end = window.len().min(to + LONGEST);
        // A word may begin before the position and end after it.
        let from = self.looked;
        for (at, kind) in needles::find(&window[from..end]) {
            let at = from + at;
            if at < to && at >= self.taken {
                self.at(&window, at, kind);
            }
        }
        self.window = window;
        self.looked = to;
    }

    /// Drops text far before the position.
    fn move_on(&mut self) {
        let gone = self.looked.saturating_sub(BEHIND);
        self.base += gone as u64;
        self.base_lines += memchr_iter(b'\n', &self.window[..gone]).count() as u64;
        self.window.drain(..gone);
        self.looked -= gone;
        self.taken = self.taken.saturating_sub(gone);
        self.logged = self.logged.saturating_sub(gone);
        self.barren = self.barren.map(|to| to.saturating_sub(gone));
    }

    fn at(&mut self, window: &[u8], at: usize, kind: Kind) {
        match kind {
            Kind::Failure => {
                if !self.message(window, at, kind) {
                    self.lines(window, at, kind);
                }
            }
            Kind::Xla => drop(self.message(window, at, kind)),
            Kind::Host => self.lines(window, at, kind),
            Kind::Summary | Kind::NvidiaSmi | Kind::NpuSmi => {
                let start = line_around(window, at, LINE).0;
                self.table(window, start, kind);
            }
            // Its line was read.
            Kind::Log if at < self.logged => {}
            Kind::Log => {
                let (start, line) = line_around(window, at, LINE);
                let mut begin = start;
                for part in logs::parts(line) {
                    self.usage(window, begin, part);
                    begin += part.len();
                }
                self.logged = start + line.len();
            }
            Kind::Command => {
                let known = self.has_failure && self.found.command.is_some();
                if let Some(command) = command(window, at).filter(|_| !known) {
                    self.found.command = Some(command);
                    let (start, line) = line_around(window, at, LINE);
                    self.taken = self.taken.max(start + line.len());
                }
            }
        }
    }

    /// Reads the table that starts at a line, once: a line may have many words of tables.
    fn table(&mut self, window: &[u8], start: usize, kind: Kind) {
        let here = self.base + start as u64;
        if self.tabled.replace(here) == Some(here) {
            return;
        }
        let text = &window[start..];
        let devices = |(devices, length)| (Report::Devices(devices), length);
        let table = match kind {
            Kind::Summary => tables::summary(text)
                .map(|(summary, length)| (Report::Summary(Box::new(summary)), length)),
            Kind::NvidiaSmi => tables::nvidia_smi(text).map(devices),
            _ => tables::npu_smi(text).map(devices),
        };
        if let Some((report, length)) = table {
            self.keep(window, start, start + length, report);
        }
    }

    /// Searches for a message of several lines around a word.
    fn message(&mut self, window: &[u8], at: usize, kind: Kind) -> bool {
        let is_xla = kind == Kind::Xla;
        if at + HEAD < self.barren[usize::from(is_xla)] {
            return false;
        }
        let from = at.saturating_sub(BEFORE).max(self.taken);
        let start = memrchr(b'\n', &window[..from]).map_or(0, |end| end + 1);
        let start = start.max(self.taken);
        // Most messages are short.
        let lengths: &[usize] = if is_xla {
            &[BUFFERS]
        } else {
            &[SHORT, MESSAGE]
        };
        let (mut end, mut compact, mut first) = (start, Compact::default(), None);
        for length in lengths {
            end = window.len().min(at + length);
            compact = Compact::of(&window[start..end]);
            first = first_message(&compact.bytes, is_xla);
            let is_whole = |found: &Found| found.end + LONGEST < compact.bytes.len();
            if first.as_ref().is_some_and(is_whole) {
                break;
            }
        }
        // A message that begins later is found at its own words.
        let begins = first
            .as_ref()
            .map_or(end, |found| start + compact.start(found.start));
        self.barren[usize::from(is_xla)] = begins;
        match first {
            Some(found) if begins <= at => self.keep_failure(window, start, &compact, found),
            _ => false,
        }
    }

    /// Searches the line around a word for an error of the driver, of a framework, or of the computer's own memory. If it has
    /// none, a terminal may have wrapped it: then with the next line, and with the one before.
    fn lines(&mut self, window: &[u8], at: usize, kind: Kind) {
        let tells = |reader: &mut Self, start: usize, line: &[u8]| {
            let of_driver = kind == Kind::Failure && reader.driver(window, start, line);
            of_driver || reader.host(window, start, line)
        };
        let (start, line) = line_around(window, at, NEAR);
        if tells(self, start, line) {
            return;
        }
        for (start, lines) in with_wrapped(window, start, line) {
            if start >= self.taken && tells(self, start, lines) {
                return;
            }
        }
    }

    /// Searches a line for an error of the driver or of a framework.
    fn driver(&mut self, window: &[u8], start: usize, line: &[u8]) -> bool {
        let compact = Compact::of(line);
        if is_source(line) {
            return false;
        }
        let end = start + line.len();
        let after = after(window, end);
        let Some((mut found, is_first)) = driver_found(&compact.bytes, &after) else {
            return false;
        };
        if !is_first && self.is_echo(start, &found.failure) {
            return true;
        }
        if self.is_smaller(start, &found.failure) {
            self.taken = self.taken.max(end);
            return true;
        }
        // llama.cpp tries again with less.
        let later = &window[end..window.len().min(end + SHORT)];
        if found.failure.form == Form::Ggml
            && memchr::memmem::find(later, b"retrying without").is_some()
        {
            return true;
        }
        let has_room = self.found.records.len() < MOST_RECORDS;
        if found.failure.is_free_of_start() && has_room {
            let before = Compact::of(&window[start.saturating_sub(BEHIND)..start]);
            match found.failure.form {
                Form::Ggml => driver::add_ggml_free(&before.bytes, &mut found.failure),
                _ => driver::add_tensorflow_free(&before.bytes, &mut found.failure),
            }
        }
        self.keep_failure(window, start, &compact, found)
    }

    /// Whether a line repeats the previous failure: llama.cpp has lines for the driver's error and for the buffer.
    fn is_echo(&self, start: usize, found: &Failure) -> bool {
        if found.words == driver::GOT_AN_OOM {
            return self.has_failure;
        }
        if found.form != Form::Ggml && !found.words.starts_with("Vulkan") {
            return false;
        }
        // If that was a repetition, no record was added.
        let Some((last, requested)) = &self.last_ggml else {
            return false;
        };
        // Another size is another failure.
        let both = requested.as_ref().zip(found.requested.as_ref());
        let is_same = both.is_none_or(|(one, other)| {
            one.bytes.abs_diff(other.bytes) <= one.off_bytes + other.off_bytes
        });
        is_same && self.base + start as u64 <= last + SHORT as u64
    }

    /// Whether TensorFlow repeats a request that the driver refused with a tenth less.
    fn is_smaller(&mut self, start: usize, found: &Failure) -> bool {
        let asked = found.requested.as_ref().map(|figure| figure.bytes);
        let asked = asked.filter(|_| driver::FROM_DEVICE.contains(&found.words.as_str()));
        let Some(asked) = asked else {
            return false;
        };
        let here = self.base + start as u64;
        let last = self.last_asked.replace((here, asked));
        last.is_some_and(|(at, before)| {
            here <= at + SHORT as u64 && asked < before && asked >= before / 10 * 8
        })
    }

    fn keep_failure(
        &mut self,
        window: &[u8],
        base: usize,
        compact: &Compact,
        mut found: Found,
    ) -> bool {
        let start = base + compact.start(found.start);
        let end = base + compact.end(found.end);
        if start < self.taken || end <= start {
            return false;
        }
        self.has_failure = true;
        if found.failure.form == Form::Ggml {
            let requested = found.failure.requested.clone();
            self.last_ggml = Some((self.base + start as u64, requested));
        }
        found.failure.forget_unknown();
        found.failure.find_own();
        self.keep(window, start, end, Report::Failure(Box::new(found.failure)));
        true
    }

    /// Searches a line for a failure of the computer's own memory.
    fn host(&mut self, window: &[u8], start: usize, line: &[u8]) -> bool {
        if is_source(line) {
            return true;
        }
        let end = start + line.len();
        let after = after(window, end);
        let found = host::find(line, &Compact::of(line).bytes, &after);
        if let Some((begin, failure)) = found {
            // C++ names its error on the next line again, and TensorFlow its request.
            let (here, next) = (self.base + start as u64, self.base + end as u64 + 1);
            let last = self.last_host.replace((next, failure.clone()));
            let is_of_two = matches!(failure.kind, HostKind::Allocation | HostKind::Pinned);
            if is_of_two && last.is_some_and(|last| last == (here, failure.clone())) {
                self.taken = self.taken.max(end);
                return true;
            }
            let begin = start + begin;
            // At the beginning of a text, the name of a device's error may have been cut off.
            let is_cut = self.base + begin as u64 == 0
                && failure.kind == HostKind::Allocation
                && failure.requested.is_none();
            let is_for_time = failure.kind == HostKind::Killed && is_of_time_limit(window, begin);
            if !is_cut && !is_for_time {
                self.keep(window, begin, end, Report::Host(failure));
            }
            return true;
        }
        false
    }

    /// Stores a record, or counts it if it repeats a recent one.
    fn keep(&mut self, window: &[u8], start: usize, end: usize, report: Report) {
        self.taken = self.taken.max(end);
        let (_, line) = line_around(window, start, NEAR);
        let from = teller(line);
        let recent = self.found.records.iter_mut().rev().take(SAME_WITHIN);
        let same = recent
            .into_iter()
            .find(|record| record.report == report && record.from == from);
        if let Some(same) = same {
            same.times += 1;
            return;
        }
        if self.found.records.len() == MOST_RECORDS {
            self.found.left_out += 1;
            return;
        }
        let (told, place) = match &report {
            Report::Failure(_) | Report::Host(_) => {
                traceback(&window[start.saturating_sub(BEHIND)..start])
            }
            Report::Summary(_) | Report::Devices(_) => (None, String::new()),
        };
        // Of the computer's memory, only an allocation is made where the traceback ends: signals arrive anywhere, and the rest are
        // reports about whole processes, or warnings.
        let is_request = !matches!(&report, Report::Host(it) if it.kind != HostKind::Allocation);
        let place = Some(place).filter(|_| is_request).unwrap_or_default();
        let near = &window[start.saturating_sub(NEAR)..window.len().min(start + NEAR)];
        let framework = origin::framework(&report, told, line, near);
        self.found.records.push(Record {
            line: self.line(window, start),
            offset: self.base + start as u64,
            times: 1,
            from,
            framework,
            place,
            report,
        });
    }

    /// Stores the quantities of a log line: the first, the last and the highest value of each.
    fn usage(&mut self, window: &[u8], start: usize, line: &[u8]) {
        let compact = Compact::of(line).bytes;
        let told = logs::told(&compact);
        if told.is_empty() {
            return;
        }
        let from = teller(line);
        let line = self.next_line(window, start);
        for (tool, what, figure) in told {
            // Each device has its own buffers.
            let from = match tool == "llama.cpp" && from.is_empty() {
                true => logs::buffer_device(&compact),
                false => from.clone(),
            };
            let known = self.found.usage.iter_mut();
            let same = |it: &&mut Usage| it.tool == tool && it.what == what && it.from == from;
            if let Some(known) = known.into_iter().find(same) {
                known.count += 1;
                known.course.add(line, figure.bytes);
                if figure.bytes > known.highest.bytes {
                    known.highest = figure.clone();
                }
                known.last = figure;
            } else if self.found.usage.len() < MOST_USAGE {
                let mut course = Course::default();
                course.add(line, figure.bytes);
                self.found.usage.push(Usage {
                    tool,
                    from,
                    what,
                    count: 1,
                    line,
                    first: figure.clone(),
                    last: figure.clone(),
                    highest: figure,
                    course,
                });
            }
        }
    }

    /// [`line`](Self::line) for ascending positions, of which there may be many.
    fn next_line(&mut self, window: &[u8], at: usize) -> u64 {
        let (from, line) = self.counted;
        let here = self.base + at as u64;
        let line = match usize::try_from(from.saturating_sub(self.base)) {
            Ok(from) if from > 0 && from <= at => {
                line + memchr_iter(b'\n', &window[from..at]).count() as u64
            }
            _ => self.line(window, at),
        };
        self.counted = (here, line);
        line
    }

    /// The number of the line at a position of the window, counted from 1.
    fn line(&self, window: &[u8], at: usize) -> u64 {
        self.base_lines + memchr_iter(b'\n', &window[..at]).count() as u64 + 1
    }
}

/// An error of the driver or of a framework on a line without white space, and whether it is the first line of llama.cpp's;
/// `after` is the text that follows.
fn driver_found(line: &[u8], after: &[u8]) -> Option<(Found, bool)> {
    if let Some(found) = driver::find_ggml(line, after) {
        return Some((found, true));
    }
    let found = driver::find_framework(line, after).or_else(|| driver::find(line, after));
    found.map(|found| (found, false))
}

/// The first message in a text without white space.
fn first_message(text: &[u8], is_xla: bool) -> Option<Found> {
    let found = match is_xla {
        true => [
            xla::find_tpu(text),
            xla::find_gpu(text),
            xla::find_reserve(text),
            xla::find_early(text),
        ],
        false => [
            torch::find(text),
            torch::find_mps(text),
            torch::find_async(text),
            vllm::find(text),
        ],
    };
    found.into_iter().flatten().min_by_key(|found| found.start)
}

/// A line with the next one, and with the one before, each with its beginning. Lines that are too short for a terminal to wrap
/// are not joined, nor those that tell something by themselves.
fn with_wrapped<'a>(window: &'a [u8], start: usize, line: &[u8]) -> Vec<(usize, &'a [u8])> {
    let tells = |line: &[u8]| {
        let compact = Compact::of(line).bytes;
        memchr::memmem::find(&compact, b"outofmemory").is_some()
            || first_message(&compact, false).is_some()
            || driver_found(&compact, &[]).is_some()
            || host::find(line, &compact, &[]).is_some()
    };
    let end = start + line.len();
    let mut all = Vec::new();
    if line.len() >= LEAST_WIDTH && window.get(end) == Some(&b'\n') {
        let next = line_around(window, end + 1, NEAR).1;
        if !tells(next) {
            all.push((start, &window[start..end + 1 + next.len()]));
        }
    }
    let before = start.checked_sub(1);
    if let Some(before) = before.filter(|&before| window[before] == b'\n') {
        let (first, before) = line_around(window, before, NEAR);
        if before.len() >= LEAST_WIDTH && !tells(before) {
            all.push((first, &window[first..end]));
        }
    }
    all
}
