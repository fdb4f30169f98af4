//! What the machine's stack and memo hold.

use crate::ErrorKind;
use crate::ids::{EventId, FrameId, StackId, StringId};

/// A value on the stack: 16 bytes. Containers are numbers of cells in the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// An integer in `2^63 .. 2^64`.
    Big(u64),
    Float(f64),
    Str(StringId),
    /// A tuple of two integers: row of the machine's pairs.
    Pair(u32),
    List(u32),
    Dict(u32),
    /// A dict that has been read into its table. In lists only.
    Record(Record),
}

/// A dict that has become a row of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record {
    Event(EventId),
    Frame(FrameId),
    Segment(u32),
    Block(u32),
    Tenant(u32),
    Annotation(u32),
}

impl Record {
    /// The table as a number, and the row, for noticing runs of rows.
    pub(super) fn parts(self) -> (RecordKind, u32) {
        match self {
            Self::Event(EventId(row)) => (RecordKind::Event, row),
            Self::Frame(FrameId(row)) => (RecordKind::Frame, row),
            Self::Segment(row) => (RecordKind::Segment, row),
            Self::Block(row) => (RecordKind::Block, row),
            Self::Tenant(row) => (RecordKind::Tenant, row),
            Self::Annotation(row) => (RecordKind::Annotation, row),
        }
    }

    pub(super) fn from_parts(kind: RecordKind, row: u32) -> Self {
        match kind {
            RecordKind::Event => Self::Event(EventId(row)),
            RecordKind::Frame => Self::Frame(FrameId(row)),
            RecordKind::Segment => Self::Segment(row),
            RecordKind::Block => Self::Block(row),
            RecordKind::Tenant => Self::Tenant(row),
            RecordKind::Annotation => Self::Annotation(row),
        }
    }
}

/// The tables that dicts are read into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordKind {
    Event,
    Frame,
    Segment,
    Block,
    Tenant,
    Annotation,
}

impl RecordKind {
    /// The word for messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Event => "trace entry",
            Self::Frame => "frame",
            Self::Segment => "segment",
            Self::Block => "block",
            Self::Tenant => "history entry",
            Self::Annotation => "annotation",
        }
    }
}

/// A list (or a tuple that is no pair of integers).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListCell {
    Empty,
    /// A list of frames, interned.
    Stack(StackId),
    /// The same, after a record has used it: it can no longer change.
    UsedStack(StackId),
    /// A list of texts that a record has used: row of the contexts' forward stacks.
    UsedLines(u32),
    /// Consecutive rows of one table: what a list of records nearly always is.
    Rows { kind: RecordKind, start: u32, count: u32 },
    /// Anything else: row of the machine's `items`.
    Items(u32),
}

/// A dict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DictCell {
    Empty,
    /// Row of the machine's `pairs`: not (or not yet) recognised as a record.
    Pairs(u32),
    /// Read into its table; can no longer change.
    Record(Record),
    /// Used as a text, which was written out as JSON; can no longer change.
    Text(StringId),
}

/// A memo entry in four bytes: what pickles memoise are strings and containers, millions of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoCell(u32);

const TAG_BITS: u32 = 3;

impl MemoCell {
    pub(super) const UNSET: Self = Self(0);

    /// `others` keeps the values that are neither strings nor containers; they are rare.
    pub(super) fn of(value: Value, others: &mut Vec<Value>) -> Result<Self, ErrorKind> {
        let (tag, row) = match value {
            Value::Str(id) => (1, id.0),
            Value::List(row) => (2, row),
            Value::Dict(row) => (3, row),
            Value::Pair(row) => (4, row),
            other => {
                others.push(other);
                (5, others.len() as u32 - 1)
            }
        };
        if row >= 1 << (32 - TAG_BITS) {
            return Err(ErrorKind::Limit { what: "the number of objects", limit: 1 << (32 - TAG_BITS) });
        }
        Ok(Self(row << TAG_BITS | tag))
    }

    pub(super) fn get(self, others: &[Value]) -> Option<Value> {
        let row = self.0 >> TAG_BITS;
        match self.0 & ((1 << TAG_BITS) - 1) {
            1 => Some(Value::Str(StringId(row))),
            2 => Some(Value::List(row)),
            3 => Some(Value::Dict(row)),
            4 => Some(Value::Pair(row)),
            5 => others.get(row as usize).copied(),
            _ => None,
        }
    }
}

/// Why an operation failed, and in which key of the record at hand.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) field: Option<&'static str>,
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, field: None }
    }
}

/// A fault of the data itself.
pub(super) fn malformed(text: impl Into<String>) -> Fault {
    ErrorKind::Malformed(text.into()).into()
}
