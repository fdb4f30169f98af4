//! Reads a text piece by piece, in bounded memory, and keeps what it finds.
//!
//! The text goes through a window of fixed size. What is behind a place is kept for its traceback, and what is ahead of
//! it for a message or table that begins there; so the same is found however the text is cut into pieces.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use crate::compact::{Compact, prefix};
use crate::context::{command, teller, traceback};
use crate::course::Course;
use crate::figure::Figure;
use crate::forms::{Found, driver, host, logs, tables, torch, vllm, xla};
use crate::needles::{self, Kind, LONGEST};
use crate::record::{Failure, Form, HostKind, Reading, Record, Report, Usage};

/// The size of the window, in bytes.
const WINDOW: usize = 1 << 20;
/// What is kept before and ahead of the place that is looked at.
const AHEAD: usize = 64 << 10;
const BEHIND: usize = 32 << 10;

/// How far a message may go on, and how far before one of its words it may begin.
const MESSAGE: usize = 4 << 10;
const SHORT: usize = 1 << 10;
const BEFORE: usize = 1 << 10;
/// The same for the buffers of XLA.
const BUFFERS: usize = 48 << 10;
/// Longer than the first words of any of them, broken as they may be.
const HEAD: usize = 200;
/// How much of a line before and behind a word is looked at, where the line has quantities or where it has an error.
const LINE: usize = 4 << 10;
const NEAR: usize = 500;

/// Most records that are kept, and most quantities of log lines.
const MOST_RECORDS: usize = 1000;
const MOST_USAGE: usize = 256;
/// How many records back the same one is recognised.
const SAME_WITHIN: usize = 64;

/// Reads a text.
#[derive(Default)]
pub struct Reader {
    window: Vec<u8>,
    /// The offset of the window's first byte, and the number of lines before it.
    base: u64,
    base_lines: u64,
    /// The place that lines were counted up to for the last log line, as an offset, and its line.
    counted: (u64, u64),
    /// Up to where the window has been looked at, and up to where what was found reaches.
    looked: usize,
    taken: usize,
    /// Up to where no message begins, and none of XLA: it has been looked for.
    barren: [usize; 2],
    found: Reading,
    has_failure: bool,
    /// Where the last failure of llama.cpp began, as an offset, and what was requested.
    last_ggml: Option<(u64, Option<Figure>)>,
}

/// Reads a text that is at hand as a whole.
#[must_use]
pub fn read(text: &[u8]) -> Reading {
    let mut reader = Reader::default();
    reader.feed(text);
    reader.finish()
}

/// Reads a text to its end, a piece at a time. `on_progress` is told how many bytes are read.
///
/// # Errors
///
/// If it cannot be read.
pub fn read_from(mut text: impl Read, mut on_progress: impl FnMut(u64)) -> io::Result<Reading> {
    let mut reader = Reader::default();
    let mut piece = vec![0; 256 << 10];
    let mut done_bytes = 0;
    loop {
        let length = match text.read(&mut piece) {
            Ok(0) => return Ok(reader.finish()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        reader.feed(&piece[..length]);
        done_bytes += length as u64;
        on_progress(done_bytes);
    }
}

impl Reader {
    /// Takes the next piece of the text. NULs are passed over: without them, what PowerShell writes (UTF-16) is as good
    /// as ASCII.
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

    /// All that was found, after the last piece.
    #[must_use]
    pub fn finish(mut self) -> Reading {
        self.look(self.window.len());
        self.found.bytes = self.base + self.window.len() as u64;
        let lines = memchr_iter(b'\n', &self.window).count() as u64;
        let is_open = self.window.last().is_some_and(|&byte| byte != b'\n');
        self.found.lines = self.base_lines + lines + u64::from(is_open);
        self.found
    }

    /// Looks at the window up to a place.
    fn look(&mut self, to: usize) {
        let window = std::mem::take(&mut self.window);
        let end = window.len().min(to + LONGEST);
        // A word may begin before the place and end behind it.
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

    /// Forgets what is far behind.
    fn move_on(&mut self) {
        let gone = self.looked.saturating_sub(BEHIND);
        self.base += gone as u64;
        self.base_lines += memchr_iter(b'\n', &self.window[..gone]).count() as u64;
        self.window.drain(..gone);
        self.looked -= gone;
        self.taken = self.taken.saturating_sub(gone);
        self.barren = self.barren.map(|to| to.saturating_sub(gone));
    }

    /// Looks at a word.
    fn at(&mut self, window: &[u8], at: usize, kind: Kind) {
        match kind {
            Kind::Failure => {
                if !self.message(window, at, kind) && !self.driver(window, at) {
                    self.host(window, at);
                }
            }
            Kind::Xla => drop(self.message(window, at, kind)),
            Kind::Host => self.host(window, at),
            Kind::Summary => {
                let start = line_around(window, at, LINE).0;
                if let Some((summary, length)) = tables::summary(&window[start..]) {
                    let report = Report::Summary(Box::new(summary));
                    self.keep(window, start, start + length, report);
                }
            }
            Kind::NvidiaSmi | Kind::NpuSmi => {
                let start = line_around(window, at, LINE).0;
                let table = match kind {
                    Kind::NvidiaSmi => tables::nvidia_smi(&window[start..]),
                    _ => tables::npu_smi(&window[start..]),
                };
                if let Some((devices, length)) = table {
                    self.keep(window, start, start + length, Report::Devices(devices));
                }
            }
            Kind::Log => {
                let (start, line) = line_around(window, at, LINE);
                self.usage(window, start, line);
                self.taken = self.taken.max(start + line.len());
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

    /// Looks for a message of several lines around a word.
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
        // What begins later is found at its own words.
        let begins = first
            .as_ref()
            .map_or(end, |found| start + compact.start(found.start));
        self.barren[usize::from(is_xla)] = begins;
        match first {
            Some(found) if begins <= at => self.keep_failure(window, start, &compact, found),
            _ => false,
        }
    }

    /// Looks for an error of the driver, or of a framework, in a line.
    fn driver(&mut self, window: &[u8], at: usize) -> bool {
        let (start, line) = line_around(window, at, NEAR);
        let compact = Compact::of(line);
        if is_source(line) {
            return false;
        }
        let end = start + line.len();
        let after = Compact::of(&window[end..window.len().min(end + HEAD)]).bytes;
        let of_ggml = driver::find_ggml(&compact.bytes, &after);
        let is_first = of_ggml.is_some();
        let found = of_ggml.or_else(|| driver::find_framework(&compact.bytes, &after));
        let Some(mut found) = found.or_else(|| driver::find(&compact.bytes)) else {
            return false;
        };
        if !is_first && self.is_echo(start, &found.failure) {
            return true;
        }
        let has_room = self.found.records.len() < MOST_RECORDS;
        if found.failure.form == Form::Ggml && has_room {
            let before = Compact::of(&window[start.saturating_sub(BEHIND)..start]);
            driver::add_ggml_free(&before.bytes, &mut found.failure);
        }
        self.keep_failure(window, start, &compact, found)
    }

    /// Whether a line says again what has just been said: llama.cpp has lines for the driver's error and for the buffer.
    fn is_echo(&self, start: usize, found: &Failure) -> bool {
        if found.words == driver::GOT_AN_OOM {
            return self.has_failure;
        }
        if found.form != Form::Ggml && !found.words.starts_with("Vulkan") {
            return false;
        }
        // Where the same was told before, no record was added.
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
        self.keep(window, start, end, Report::Failure(Box::new(found.failure)));
        true
    }

    /// Looks for a failure of the computer's own memory in a line.
    fn host(&mut self, window: &[u8], at: usize) {
        let (start, line) = line_around(window, at, NEAR);
        if is_source(line) {
            return;
        }
        let end = start + line.len();
        let after = Compact::of(&window[end..window.len().min(end + HEAD)]).bytes;
        if let Some((begin, failure)) = host::find(line, &Compact::of(line).bytes, &after) {
            let (begin, end) = (start + begin, start + line.len());
            // Where a text begins with it, the name of a device's error may have been cut off.
            let is_cut = self.base + begin as u64 == 0
                && failure.kind == HostKind::Allocation
                && failure.requested.is_none();
            let is_for_time = failure.kind == HostKind::Killed && is_of_time_limit(window, begin);
            if !is_cut && !is_for_time {
                self.keep(window, begin, end, Report::Host(failure));
            }
        }
    }

    /// Keeps a record, or counts it where the same stood just before.
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
        let (framework, place) = match &report {
            Report::Failure(failure) => {
                let told = traceback(&window[start.saturating_sub(BEHIND)..start]);
                match failure.form {
                    Form::Ggml => (Some(crate::Framework::LlamaCpp), String::new()),
                    Form::VllmCache | Form::VllmLength | Form::VllmStart => {
                        (Some(crate::Framework::Vllm), told.1)
                    }
                    Form::SglangCache => (Some(crate::Framework::Sglang), told.1),
                    Form::Other if failure.words.starts_with("TensorFlow") => {
                        (Some(crate::Framework::TensorFlow), told.1)
                    }
                    Form::Xla => (told.0.or(Some(crate::Framework::Jax)), told.1),
                    _ => told,
                }
            }
            Report::Host(_) => traceback(&window[start.saturating_sub(BEHIND)..start]),
            Report::Summary(_) | Report::Devices(_) => (None, String::new()),
        };
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

    /// Keeps what a log line tells: of each quantity the first, the last and the highest.
    fn usage(&mut self, window: &[u8], start: usize, line: &[u8]) {
        let compact = Compact::of(line).bytes;
        let told = logs::told(&compact);
        if told.is_empty() {
            return;
        }
        let from = teller(line);
        let line = self.next_line(window, start);
        for (tool, what, figure) in told {
            // Each device has buffers of its own.
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

    /// Does [`line`](Self::line) for places in the order of the text, of which there may be many.
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

    /// The number of the line at a place of the window, counted from 1.
    fn line(&self, window: &[u8], at: usize) -> u64 {
        self.base_lines + memchr_iter(b'\n', &window[..at]).count() as u64 + 1
    }
}

/// Whether a line is of a program's source, as tracebacks show it: what it would say has not happened.
fn is_source(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 16] = [
        b"print(",
        b"raise ",
        b"except ",
        b"except(",
        b"logger.",
        b"logging.",
        b"warnings.",
        b"throw ",
        b"catch ",
        b"} catch",
        b"if ",
        b"elif ",
        b"assert ",
        b"printf(",
        b"fprintf(",
        b"std::cerr",
    ];
    let line = &line[prefix(line).min(line.len())..];
    BEGINNINGS
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// Whether the text around a place says that a time limit was reached, after which jobs are killed as well.
fn is_of_time_limit(window: &[u8], at: usize) -> bool {
    const WORDS: [&[u8]; 4] = [b"TIME LIMIT", b"time limit", b"TIMEOUT", b"walltime"];
    let near = &window[at.saturating_sub(SHORT)..window.len().min(at + SHORT)];
    WORDS
        .iter()
        .any(|word| memchr::memmem::find(near, word).is_some())
}

/// The first message in a text without white space.
fn first_message(text: &[u8], is_xla: bool) -> Option<Found> {
    let found = match is_xla {
        true => [
            xla::find_tpu(text),
            xla::find_gpu(text),
            xla::find_reserve(text),
            None,
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

/// The line around a place, and where it begins; of a long line only so many bytes on each side.
fn line_around(window: &[u8], at: usize, near: usize) -> (usize, &[u8]) {
    let least = at.saturating_sub(near);
    let start = memrchr(b'\n', &window[least..at]).map_or(least, |end| least + end + 1);
    let rest = &window[at..window.len().min(at + near)];
    let end = at + memchr(b'\n', rest).unwrap_or(rest.len());
    (start, &window[start..end])
}
