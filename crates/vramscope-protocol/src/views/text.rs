//! What a text tells: an error that somebody pasted, or a log. It comes with the reply that the text is read; there are no
//! further questions.

use serde::{Deserialize, Serialize};

/// A text that is read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TextFile {
    /// The text's size.
    pub file_bytes: u64,
    /// Duration of reading, in ms.
    pub read_ms: f64,
    /// What it tells.
    pub told: Told,
}

/// All that a text tells.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// Lines of the text.
    pub lines: u64,
    /// Number of different failures.
    pub failures: u64,
    /// Of how many ranks or devices they are, in words; empty of one.
    pub who: String,
    /// The command line that started the program.
    pub command: Option<String>,
    /// The failures in the order of the text, the first of many.
    pub cards: Vec<Card>,
    /// The place of the one that came first among [`cards`](Self::cards).
    pub first: usize,
    /// What else is to be said, a sentence each.
    pub notes: Vec<String>,
    /// What log lines tell.
    pub usage: Vec<UsageRow>,
    /// The same over the text.
    pub courses: Courses,
    /// Devices in tables of nvidia-smi and npu-smi.
    pub devices: Vec<DeviceRow>,
}

/// A failure: what it says, and why it happened.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Card {
    /// The line at which it begins, counted from 1.
    pub line: u64,
    /// How often the same stands in the text.
    pub times: u64,
    /// Who told it: a rank or a device; empty if the text does not say.
    pub from: String,
    /// The framework that the traceback names; else empty.
    pub framework: String,
    /// The innermost line of the user's own; else empty.
    pub place: String,
    /// The request, in bytes.
    pub requested_bytes: Option<u64>,
    /// What the device had free, in bytes.
    pub free_bytes: Option<u64>,
    /// The cause in a few words.
    pub why: String,
    /// Whether the cause follows from the figures, however they were rounded.
    pub is_certain: bool,
    /// How sure the cause is, in words.
    pub how_sure: String,
    /// The cause in one line.
    pub title: String,
    /// What is behind it; may be empty.
    pub seen: String,
    /// What holds the device, and what was asked for, as parts of one scale; empty if the text does not tell.
    pub bar: Vec<BarPart>,
    /// The sizes of the message.
    pub figures: Vec<FigureRow>,
    /// Further causes that the figures allow.
    pub also: Vec<Also>,
    /// What to try, a sentence each.
    pub to_try: Vec<String>,
    /// Commands that would tell more, each with what it tells.
    pub next: Vec<(String, String)>,
    /// Processes on the device.
    pub processes: Vec<(u64, u64)>,
    /// The largest buffers of a program of XLA.
    pub buffers: Vec<BufferRow>,
}

/// What a part of a device's bar is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BarOf {
    Others,
    Context,
    Live,
    Pools,
    Reserved,
    Free,
    /// What was asked for, which has a bar of its own.
    Requested,
}

/// A part of a device's bar.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BarPart {
    pub of: BarOf,
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// How much more or less it may be, in bytes.
    pub off_bytes: u64,
    /// Its share of the whole width, from 0 to 1.
    pub share: f64,
}

/// A size of a message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FigureRow {
    pub label: String,
    /// In bytes.
    pub bytes: u64,
    /// How it was printed, and how far it may be off.
    pub remark: String,
}

/// A cause beside the first one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Also {
    pub why: String,
    pub how_sure: String,
    pub explanation: String,
}

/// A buffer of a program of XLA.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BufferRow {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its share of the largest one, from 0 to 1.
    pub share: f64,
    pub shape: String,
    pub operator: String,
    /// The line that made it; empty if there is none.
    pub place: String,
}

/// What log lines tell of one quantity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UsageRow {
    pub tool: String,
    pub from: String,
    pub what: String,
    /// The line of the first.
    pub line: u64,
    /// How many lines tell it.
    pub count: u64,
    /// The first, last and highest, in bytes.
    pub bytes: [u64; 3],
}

/// What log lines tell, over the text: columns of equal width.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Courses {
    /// Lines of the text.
    pub text_lines: u64,
    /// What is told, each once.
    pub quantities: Vec<Quantity>,
    /// A line for each that tells one.
    pub lines: Vec<CourseLine>,
}

/// A quantity that several may tell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Quantity {
    pub name: String,
    /// How many tell it, in words; empty of one.
    pub tellers: String,
    /// The highest of all of them in each column, in bytes; `None` before the first.
    pub highest_bytes: Vec<Option<u64>>,
}

/// What one of them tells of a quantity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CourseLine {
    /// The place of its quantity.
    pub quantity: u32,
    /// The first column in which it is told.
    pub first: u32,
    /// The highest in each column, in bytes.
    pub bytes: Vec<u64>,
}

/// A device in a table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceRow {
    pub line: u64,
    pub device: u64,
    /// In use and capacity, in bytes.
    pub bytes: [u64; 2],
    /// What is in use of the capacity, from 0 to 1.
    pub share: f64,
    /// Its processes: number and name, and what each held in bytes.
    pub processes: Vec<(String, u64)>,
}
