//! The values on the machine's stack and in its memo, and their packed form.

use crate::ErrorKind;
use crate::budget::NoRoom;
use crate::ids::{EventId, FrameId, StackId, StringId};
use crate::model::LinesId;

/// A value, unpacked. Containers are cell numbers in the machine.
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
    Record(Record),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) kind: RecordKind,
    pub(super) row: u32,
}

/// The tables that dicts are read into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum RecordKind {
    Event = 10,
    Frame,
    Segment,
    Block,
    Tenant,
    Annotation,
}

impl RecordKind {
    const ALL: [Self; 6] = [
        Self::Event,
        Self::Frame,
        Self::Segment,
        Self::Block,
        Self::Tenant,
        Self::Annotation,
    ];

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

    fn of_tag(tag: u8) -> Option<Self> {
        Self::ALL
            .get(usize::from(tag).wrapping_sub(Self::Event as usize))
            .copied()
    }
}

impl Record {
    pub(super) fn event(id: EventId) -> Self {
        Self {
            kind: RecordKind::Event,
            row: id.0,
        }
    }

    pub(super) fn frame(id: FrameId) -> Self {
        Self {
            kind: RecordKind::Frame,
            row: id.0,
        }
    }
}

/// A [`Value`] in eight bytes: a tag in the lowest four bits; above it an integer of 60 bits or a row number. Pickles push
/// tens of millions of these, nearly all of them row numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packed(u64);

const TAG_BITS: u32 = 4;
const INT: u8 = 0;
const STR: u8 = 1;
const LIST: u8 = 2;
const DICT: u8 = 3;
const PAIR: u8 = 4;
/// Row of the side table for values that do not fit: wide integers and floats.
const WIDE: u8 = 5;
const NONE: u8 = 6;
const FALSE: u8 = 7;
const TRUE: u8 = 8;

impl Packed {
    const fn of_row(tag: u8, row: u32) -> Self {
        Self((row as u64) << TAG_BITS | tag as u64)
    }

    /// Packs a value. `wide` receives what does not fit.
    #[inline]
    pub(super) fn pack(value: Value, wide: &mut Vec<Value>) -> Self {
        match value {
            Value::Int(int) if int << TAG_BITS >> TAG_BITS == int => Self((int as u64) << TAG_BITS),
            Value::Int(_) | Value::Big(_) | Value::Float(_) => {
                wide.push(value);
                Self::of_row(WIDE, wide.len() as u32 - 1)
            }
            Value::Str(id) => Self::of_row(STR, id.0),
            Value::List(row) => Self::of_row(LIST, row),
            Value::Dict(row) => Self::of_row(DICT, row),
            Value::Pair(row) => Self::of_row(PAIR, row),
            Value::None => Self::of_row(NONE, 0),
            Value::Bool(false) => Self::of_row(FALSE, 0),
            Value::Bool(true) => Self::of_row(TRUE, 0),
            Value::Record(record) => Self::of_record(record),
        }
    }

    #[inline]
    pub(super) fn of_record(record: Record) -> Self {
        Self::of_row(record.kind as u8, record.row)
    }

    #[inline(always)]
    pub(super) fn unpack(self, wide: &[Value]) -> Value {
        match self.tag() {
            INT => Value::Int(self.0 as i64 >> TAG_BITS),
            STR => Value::Str(StringId(self.row())),
            LIST => Value::List(self.row()),
            DICT => Value::Dict(self.row()),
            PAIR => Value::Pair(self.row()),
            WIDE => wide
                .get(self.row() as usize)
                .copied()
                .unwrap_or(Value::None),
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            tag => match RecordKind::of_tag(tag) {
                Some(kind) => Value::Record(Record {
                    kind,
                    row: self.row(),
                }),
                None => Value::None,
            },
        }
    }

    #[inline]
    fn tag(self) -> u8 {
        self.0 as u8 & ((1 << TAG_BITS) - 1)
    }

    #[inline]
    pub(super) fn row(self) -> u32 {
        (self.0 >> TAG_BITS) as u32
    }

    #[inline]
    pub(super) fn text(self) -> Option<StringId> {
        (self.tag() == STR).then(|| StringId(self.row()))
    }

    #[inline]
    pub(super) fn dict(self) -> Option<u32> {
        (self.tag() == DICT).then(|| self.row())
    }

    #[inline]
    pub(super) fn list(self) -> Option<u32> {
        (self.tag() == LIST).then(|| self.row())
    }

    /// Whether it is a tuple of two integers.
    pub(super) fn is_pair(self) -> bool {
        self.tag() == PAIR
    }

    #[inline]
    pub(super) fn is_frame(self) -> bool {
        self.tag() == RecordKind::Frame as u8
    }

    #[inline]
    pub(super) fn record(self) -> Option<Record> {
        RecordKind::of_tag(self.tag()).map(|kind| Record {
            kind,
            row: self.row(),
        })
    }

    #[inline]
    pub(super) fn of_dict(row: u32) -> Self {
        Self::of_row(DICT, row)
    }

    #[inline]
    pub(super) fn of_list(row: u32) -> Self {
        Self::of_row(LIST, row)
    }

    /// The value in four bytes, for the memo.
    #[inline]
    pub(super) fn narrow(self) -> Result<u32, ErrorKind> {
        // Integers may not fit. Picklers have no reason to memoise them; one that is memoised goes through the side table.
        u32::try_from(self.0).ok().ok_or(ErrorKind::Limit {
            what: "the number of objects",
            limit: 1 << (32 - TAG_BITS),
        })
    }

    #[inline]
    pub(super) fn widen(memo: u32) -> Self {
        Self(u64::from(memo))
    }

    /// Whether the value is an integer, which may not fit into [`narrow`](Self::narrow)'s four bytes.
    pub(super) fn is_int(self) -> bool {
        self.tag() == INT
    }

    pub(super) fn of_wide(row: u32) -> Self {
        Self::of_row(WIDE, row)
    }
}

/// A list, or a tuple other than a pair of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListCell {
    Empty,
    /// A list of frames, interned.
    Stack(StackId),
    /// A list of frames that a record has used, so that it can no longer change.
    UsedStack(StackId),
    /// A list of texts that a record has used: a row of the contexts' forward stacks. It can no longer change.
    UsedLines(LinesId),
    /// Consecutive rows of one table. Nearly all lists of records are.
    Rows {
        kind: RecordKind,
        start: u32,
        count: u32,
    },
    /// Rows that a record or the top level has taken over, as their only owner.
    UsedRows,
    /// A list that was used as a text and written out as JSON. It can no longer change.
    UsedText(StringId),
    /// Anything else: row of the machine's `items`.
    Items(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DictCell {
    Empty,
    /// Row of the machine's `pairs`: not recognised as a record, or not yet.
    Pairs(u32),
    /// A row of a table. It can no longer change.
    Record(Record),
    /// Like `Pairs`, but found not to be a record when a list took it. It can no longer change.
    Plain(u32),
    /// A dict that was used as a text and written out as JSON. It can no longer change.
    Text(StringId),
}

/// A [`DictCell`] in four bytes, because every event has one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PackedDict(u32);

impl PackedDict {
    pub(super) const EMPTY: Self = Self(NONE as u32);

    pub(super) fn pack(cell: DictCell) -> Result<Self, ErrorKind> {
        let packed = match cell {
            DictCell::Empty => return Ok(Self::EMPTY),
            DictCell::Pairs(row) => Packed::of_row(DICT, row),
            DictCell::Plain(row) => Packed::of_row(LIST, row),
            DictCell::Record(record) => Packed::of_record(record),
            DictCell::Text(id) => Packed::of_row(STR, id.0),
        };
        packed.narrow().map(Self)
    }

    #[inline]
    pub(super) fn unpack(self) -> DictCell {
        let packed = Packed::widen(self.0);
        match packed.tag() {
            DICT => DictCell::Pairs(packed.row()),
            LIST => DictCell::Plain(packed.row()),
            STR => DictCell::Text(StringId(packed.row())),
            _ => packed.record().map_or(DictCell::Empty, DictCell::Record),
        }
    }

    /// The record as a stack value, if the dict is a record.
    #[inline]
    pub(super) fn as_record(self) -> Option<Packed> {
        let packed = Packed::widen(self.0);
        (packed.tag() >= RecordKind::Event as u8).then_some(packed)
    }
}

/// An error, with the key of the current record in which it occurred.
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

impl From<NoRoom> for Fault {
    fn from(error: NoRoom) -> Self {
        ErrorKind::from(error).into()
    }
}

/// An error in the data itself.
pub(super) fn malformed(text: impl Into<String>) -> Fault {
    ErrorKind::Malformed(text.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_loses_nothing() {
        let record = |kind| Value::Record(Record { kind, row: 7 });
        let values = [
            Value::None,
            Value::Bool(true),
            Value::Bool(false),
            Value::Int(0),
            Value::Int(-1),
            Value::Int(i64::MIN),
            Value::Int((1 << 59) - 1),
            Value::Int(1 << 59),
            Value::Int(-(1 << 59)),
            Value::Int(i64::MAX),
            Value::Big(u64::MAX),
            Value::Float(0.5),
            Value::Str(StringId(u32::MAX)),
            Value::List(3),
            Value::Dict(u32::MAX),
            Value::Pair(0),
        ];
        let mut wide = Vec::new();
        for value in values.into_iter().chain(RecordKind::ALL.map(record)) {
            assert_eq!(Packed::pack(value, &mut wide).unpack(&wide), value);
        }
    }
}
