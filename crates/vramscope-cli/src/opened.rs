//! A snapshot that stays open and is queried repeatedly by other front ends than the program. They get the program's
//! own answers, as printed with `--json`, and its own error messages.
//!
//! Nothing here prints, and no file is written.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::facts::warning_line;
use vramscope_core::model::DeviceIndex;
use vramscope_core::open::Progress;

use crate::commands::{html, text};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::input;
use crate::inputs::Source;
use crate::subject::Subject;
use crate::{Arguments, ask, help};

/// The commands that can be run on open snapshots.
const QUESTIONS: [&str; 16] = [
    "brief",
    "info",
    "explain",
    "peak",
    "at",
    "range",
    "leaks",
    "oom",
    "fragmentation",
    "plan",
    "what-if",
    "top",
    "annotations",
    "find",
    "diff",
    "stats",
];

/// Bytes that any answer may have, plus an allowance for each byte read, after decompression: with `--stack` a file of
/// a few kilobytes may repeat a stack of thousands of frames thousands of times. A genuine one needs 30.
const FREE_BYTES: usize = 64 << 20;
const PER_BYTE: usize = 100;

/// Called every few hundred kilobytes while a file is read; `Break` gives up.
pub type OnProgress<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// A snapshot that was read. Cheap to clone: clones share it.
#[derive(Clone)]
pub struct Opened(Arc<Subject>);

impl Opened {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or is not a snapshot.
    pub fn file(path: &Path, on_progress: &mut OnProgress<'_>) -> Result<Self, Failure> {
        let file = input::open_file(path)?;
        let file_bytes = input::regular_bytes(&file);
        let name = path.display().to_string();
        Self::read(name, file, file_bytes, on_progress)
    }

    /// Reads a file's content from memory. Answers show `name` instead of its path.
    ///
    /// # Errors
    /// When it is not a snapshot.
    pub fn bytes(
        name: &str,
        bytes: &[u8],
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Self, Failure> {
        let file_bytes = Some(bytes.len() as u64);
        Self::read(name.to_owned(), bytes, file_bytes, on_progress)
    }

    fn read(
        name: String,
        input: impl Read,
        file_bytes: Option<u64>,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Self, Failure> {
        let snapshot = input::decode(&name, input, file_bytes, on_progress)?;
        Ok(Self(Arc::new(Subject::of(name, snapshot, None)?)))
    }

    /// The file's path, or the name given instead.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The snapshot, prepared for questions.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.0.recording
    }

    /// The device with the highest peak, the first among equals; `None` if the file has none.
    #[must_use]
    pub fn first_device(&self) -> Option<DeviceIndex> {
        self.0.first_device()
    }

    /// The devices, or only this one.
    ///
    /// # Errors
    /// When the file lacks it.
    pub fn devices(
        &self,
        device: Option<DeviceIndex>,
    ) -> Result<impl Iterator<Item = Device<'_>>, Failure> {
        self.0.narrowed(device)?;
        let devices = self.0.recording.devices();
        Ok(devices.filter(move |known| device.is_none_or(|device| device == known.index())))
    }

    /// The damage in the file: a line for each kind, as commands print it to standard error.
    #[must_use]
    pub fn damage(&self) -> Vec<String> {
        let damage = self.0.snapshot.warnings.damage();
        damage
            .map(|warning| printable(&warning_line(warning)))
            .collect()
    }

    /// Runs a command on this snapshot, or on this one and others. `arguments` are the command's name, its options and,
    /// after `--`, the arguments before the names of files. Returns what `--json` prints, or the page for `html`.
    ///
    /// # Errors
    /// When the arguments are wrong, the command does not work on open snapshots, or the snapshot lacks the data.
    pub fn ask(&self, others: &[Self], arguments: &[String]) -> Result<Vec<u8>, Failure> {
        let command = arguments.first().map_or("", String::as_str);
        if !QUESTIONS.contains(&command) {
            return Err(Failure::Usage(format!(
                "{command} does not work on an open snapshot; these do: {}. Other commands are for the \
                 command line",
                QUESTIONS.join(", ")
            )));
        }
        self.answer(others, arguments)
    }

    /// The page with this snapshot inside, as `vramscope html` writes it with these options.
    ///
    /// # Errors
    /// When the options are wrong, or the page is not built into this program.
    pub fn page(&self, options: &[String]) -> Result<Vec<u8>, Failure> {
        let words = ["html", "--output=-"].map(str::to_owned);
        let arguments = [&words, options, &["--".to_owned()]].concat();
        self.answer(&[], &arguments)
    }

    /// A picture of this snapshot as SVG, as `vramscope plot` draws it with these options.
    ///
    /// # Errors
    /// When the options are wrong, or there is nothing to draw.
    pub fn picture(&self, options: &[String]) -> Result<Vec<u8>, Failure> {
        let words = ["plot", "--output=-", "--format=svg"].map(str::to_owned);
        let arguments = [&words, options, &["--".to_owned()]].concat();
        self.answer(&[], &arguments)
    }

    fn answer(&self, others: &[Self], arguments: &[String]) -> Result<Vec<u8>, Failure> {
        let subjects: Vec<_> = std::iter::once(self)
            .chain(others)
            .map(|opened| Arc::clone(&opened.0))
            .collect();
        let names = subjects.iter().map(|subject| subject.name.as_str());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(names).collect();
        let decoded = subjects
            .iter()
            .map(|subject| subject.snapshot.source.decoded_bytes);
        let decoded_bytes = usize::try_from(decoded.sum::<u64>()).unwrap_or(usize::MAX);
        let most_bytes = decoded_bytes.saturating_mul(PER_BYTE).max(FREE_BYTES);
        answered(&arguments, &subjects, most_bytes)
    }
}

/// Runs `vramscope fleet` on files. `arguments` are those of the command line. Returns what `--json` prints.
///
/// # Errors
/// As on the command line.
pub(crate) fn fleet(arguments: &[&str]) -> Result<Vec<u8>, Failure> {
    answered(&[&["fleet"], arguments].concat(), &[], FREE_BYTES)
}

/// The answer to a command line, whose snapshots may be open.
fn answered(
    arguments: &[&str],
    subjects: &[Arc<Subject>],
    most_bytes: usize,
) -> Result<Vec<u8>, Failure> {
    let matches = help::program().try_get_matches_from([&["vramscope"], arguments].concat());
    let matches = matches.map_err(|error| wrong(&error))?;
    if !subjects.is_empty() {
        only_files(&matches, subjects.len())?;
    }
    let parsed = Arguments::from_arg_matches(&matches);
    let command = parsed.map_err(|error| wrong(&error))?.command;
    let mut answer = Answer {
        bytes: Vec::new(),
        most_bytes,
    };
    let source = &mut Source::Open {
        subjects,
        answer: &mut answer,
    };
    ask(&command, source).unwrap_or(Ok(()))?;
    Ok(answer.bytes)
}

/// What the text of an error or a log in a file says of memory.
///
/// # Errors
/// When the file cannot be read.
pub fn text_of_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let unread = |error| Failure::unread(path, error);
    let reading = vramscope_text::read_from(input::open_file(path)?, |_| {}).map_err(unread)?;
    text::json_of(&input::display_name(path), &reading)
}

/// The same of a text in memory.
///
/// # Errors
/// When it is compressed, and damaged at its beginning.
pub fn text_of_bytes(text: &[u8]) -> Result<Vec<u8>, Failure> {
    let reading = vramscope_text::read_from(text, |_| {});
    text::json_of(
        "text",
        &reading.map_err(Failure::io("cannot read the text".to_owned()))?,
    )
}

/// The viewer as one file without a snapshot; another page sends it some by messages.
///
/// # Errors
/// When the page is not built into this program.
pub fn viewer() -> Result<String, Failure> {
    html::viewer()
}

/// An answer being written. Writing fails if it becomes too large.
struct Answer {
    bytes: Vec<u8>,
    most_bytes: usize,
}

impl Write for Answer {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let left = self.most_bytes.saturating_sub(self.bytes.len());
        if left < more.len() {
            return Err(io::Error::other(
                "it writes out stacks wherever they are used, and is too large: ask for fewer rows",
            ));
        }
        self.bytes.try_reserve(more.len())?;
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails for arguments in place of files, besides the names of the open ones: nothing would read them.
fn only_files(matches: &ArgMatches, open: usize) -> Result<(), Failure> {
    let Some((command, options)) = matches.subcommand() else {
        return Ok(());
    };
    let mut files = options.get_many::<PathBuf>("files").unwrap_or_default();
    let surplus = files.len().saturating_sub(open);
    match files.next().filter(|_| surplus > 0) {
        Some(word) => Err(Failure::Usage(format!(
            "{command} of a snapshot that is open takes no '{}'",
            word.display()
        ))),
        None => Ok(()),
    }
}

/// What is wrong with the arguments, without the program's name and its usage.
fn wrong(error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        // The open snapshot's name takes the file's place, so clap misses the file.
        let missing = "the argument before the file is missing, such as a moment or a filter";
        return Failure::Usage(missing.to_owned());
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let mut lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("the arguments are wrong").to_owned();
    let failure = Failure::Usage(first);
    let lines: Vec<_> = lines.map(str::to_owned).collect();
    match lines.is_empty() {
        true => failure,
        false => failure.followed_by(lines),
    }
}
