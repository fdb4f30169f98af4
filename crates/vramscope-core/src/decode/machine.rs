//! The machine that pickle opcodes and JSON tokens drive. It has a stack of small values, and containers that become
//! table rows as soon as they are complete.
//!
//! A genuine snapshot of a million events holds millions of dicts and lists, but rarely more than a few hundred distinct
//! stacks. So no tree is built. A dict that is recognised as a record is written to its table by [`super::records`], and
//! only its row number is kept. A list of consecutive rows is a range, and a list of frames is an interned stack. Everything
//! else (the top level, settings, values of unknown keys) stays as it is until [`super::finish`] reads it.
//!
//! A stack or text that a record has used can no longer change, and rows have one owner. Genuine producers keep to that,
//! and files that did not could cause work out of proportion to their size.

use super::key;
use super::kineto::Trace;
use super::known_records::KnownRecords;
use super::known_stacks::KnownStacks;
use super::records::Tables;
use super::timeline::Timeline;
use super::value::{DictCell, Fault, ListCell, Packed, PackedDict, Value, malformed};
use crate::budget::Budget;
use crate::ids::StringId;
use crate::model::Warnings;
use crate::{ErrorKind, Limits};

/// An empty memo entry. No packed value has this tag.
const UNSET: u32 = 9;

/// The state of decoding.
pub(super) struct Machine {
    pub(super) stack: Vec<Packed>,
    pub(super) marks: Vec<u32>,
    /// Packed values in four bytes; [`UNSET`] where nothing was stored.
    pub(super) memo: Vec<u32>,
    /// The dict memoised last, and its memo index. If it becomes a frame, the memo entry is replaced, because frames are
    /// fetched from the memo tens of millions of times.
    pub(super) last_memoised: (u32, usize),
    pub(super) known_stacks: KnownStacks,
    pub(super) known_records: KnownRecords,
    /// Values that do not fit into a packed value.
    pub(super) wide: Vec<Value>,
    /// A cache of recent texts, indexed by a few of their bits. Most texts are one of the same few.
    recent_texts: [StringId; 16],
    pub(super) lists: Vec<ListCell>,
    pub(super) items: Vec<Vec<Packed>>,
    pub(super) dicts: Vec<PackedDict>,
    pub(super) pairs: Vec<Vec<(Packed, Packed)>>,
    /// Values and bytes of text written out as JSON so far.
    pub(super) json_values: usize,
    pub(super) json_bytes: usize,
    pub(super) tables: Tables,
    pub(super) warnings: Warnings,
    pub(super) limits: Limits,
    /// The pickle protocol stated in the data; 0 without one.
    pub(super) protocol: u8,
    /// The events of a trace of torch.profiler, if it is one.
    pub(super) trace: Option<Box<Trace>>,
    /// A memory timeline of torch.profiler, if it is one.
    pub(super) timeline: Option<Box<Timeline>>,
    /// The budget for all of the above.
    pub(super) budget: Budget,
}

impl Machine {
    pub(super) fn new(limits: Limits, expected_bytes: Option<u64>) -> Self {
        Self {
            stack: Vec::new(),
            marks: Vec::new(),
            memo: Vec::new(),
            last_memoised: (u32::MAX, 0),
            known_stacks: KnownStacks::default(),
            known_records: KnownRecords::default(),
            wide: Vec::new(),
            recent_texts: [StringId(0); 16],
            lists: Vec::new(),
            items: Vec::new(),
            dicts: Vec::new(),
            pairs: Vec::new(),
            json_values: 0,
            json_bytes: 0,
            tables: Tables::new(key::strings_with_words()),
            warnings: Warnings::default(),
            limits,
            protocol: 0,
            trace: None,
            timeline: None,
            budget: Budget::new(limits, expected_bytes),
        }
    }

    /// Makes room for so many opcodes or tokens, each of which adds at most one value to each store. So they can push
    /// without checking.
    #[inline]
    pub(super) fn make_room(&mut self, values: usize) -> Result<(), Fault> {
        self.budget.room(&mut self.stack, values)?;
        self.budget.room(&mut self.wide, values)?;
        self.budget.room_ahead(&mut self.memo, values)?;
        self.budget.room_ahead(&mut self.lists, values)?;
        self.budget.room_ahead(&mut self.dicts, values)?;
        Ok(())
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) {
        let packed = Packed::pack(value, &mut self.wide);
        self.stack.push(packed);
    }

    /// Unpacks a value.
    #[inline(always)]
    pub(super) fn value(&self, packed: Packed) -> Value {
        packed.unpack(&self.wide)
    }

    /// The cell of a dict.
    #[inline]
    pub(super) fn dict(&self, row: u32) -> DictCell {
        self.dicts[row as usize].unpack()
    }

    pub(super) fn set_dict(&mut self, row: u32, cell: DictCell) -> Result<(), Fault> {
        self.dicts[row as usize] = PackedDict::pack(cell)?;
        Ok(())
    }

    /// Interns a text and pushes it.
    #[inline(never)]
    pub(super) fn push_text(&mut self, text: &[u8]) -> Result<(), Fault> {
        let id = self.text(text)?;
        self.push(Value::Str(id));
        Ok(())
    }

    /// Interns a text. Bytes that are not UTF-8 become replacement characters.
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<StringId, Fault> {
        let last = text.last().map_or(0, |&byte| usize::from(byte));
        let recent = (text.len() ^ last) % self.recent_texts.len();
        if self
            .tables
            .strings
            .get(self.recent_texts[recent])
            .as_bytes()
            == text
        {
            return Ok(self.recent_texts[recent]);
        }
        let id = self.new_text(text)?;
        self.recent_texts[recent] = id;
        Ok(id)
    }

    fn new_text(&mut self, text: &[u8]) -> Result<StringId, Fault> {
        match std::str::from_utf8(text) {
            Ok(text) => self.intern(text),
            Err(_) => {
                let text = self.lossy(text);
                self.intern(&text)
            }
        }
    }

    pub(super) fn intern(&mut self, text: &str) -> Result<StringId, Fault> {
        let strings = &mut self.tables.strings;
        strings.make_room(text.len(), &mut self.budget)?;
        strings.try_intern(text).ok_or_else(|| {
            ErrorKind::Limit {
                what: "the number of texts",
                limit: u64::from(u32::MAX),
            }
            .into()
        })
    }

    #[cold]
    fn lossy(&mut self, text: &[u8]) -> String {
        self.warn(crate::model::WarningKind::InvalidUtf8);
        String::from_utf8_lossy(text).into_owned()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Result<Value, Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        if self.stack.len() <= floor {
            return Err(malformed("stack underflow"));
        }
        let top = self
            .stack
            .pop()
            .ok_or_else(|| malformed("stack underflow"))?;
        Ok(self.value(top))
    }

    #[inline]
    pub(super) fn top(&self) -> Result<Packed, Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        match self.stack.last() {
            Some(&value) if self.stack.len() > floor => Ok(value),
            _ => Err(malformed("stack underflow")),
        }
    }

    #[inline]
    pub(super) fn mark(&mut self) -> Result<(), Fault> {
        if self.marks.len() >= self.limits.depth {
            return Err(ErrorKind::Limit {
                what: "the depth of nesting",
                limit: self.limits.depth as u64,
            }
            .into());
        }
        self.marks.push(self.stack.len() as u32);
        Ok(())
    }

    /// The stack index of the first value above the last mark. The mark stays, because the path in an error is derived from
    /// it.
    #[inline]
    pub(super) fn marked(&self) -> Result<usize, Fault> {
        self.marks
            .last()
            .map(|&mark| mark as usize)
            .ok_or_else(|| malformed("there is no MARK to go back to"))
    }

    /// POP_MARK: drops the last mark and the values above it.
    pub(super) fn pop_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// DUP: pushes the top of the stack again.
    pub(super) fn duplicate(&mut self) -> Result<(), Fault> {
        let top = self.top()?;
        self.stack.push(top);
        Ok(())
    }

    /// The top of the stack as a memo entry.
    #[inline]
    fn memo_cell(&mut self) -> Result<u32, Fault> {
        let top = self.top()?;
        if top.is_int() {
            return self.memo_cell_of_int(top);
        }
        let record = top
            .dict()
            .and_then(|dict| self.dicts[dict as usize].as_record());
        if let Some(frame) = record.filter(|record| record.is_frame()) {
            return Ok(frame.narrow()?);
        }
        Ok(top.narrow()?)
    }

    /// The memo entry of an integer. Picklers do not memoise integers, but a pickle may.
    #[cold]
    fn memo_cell_of_int(&mut self, int: Packed) -> Result<u32, Fault> {
        self.wide.push(self.value(int));
        Ok(Packed::of_wide(self.wide.len() as u32 - 1).narrow()?)
    }

    /// MEMOIZE: stores the top of the stack under the next number.
    #[inline(never)]
    pub(super) fn memoize(&mut self) -> Result<(), Fault> {
        let cell = self.memo_cell()?;
        if let Some(dict) = Packed::widen(cell).dict() {
            self.last_memoised = (dict, self.memo.len());
        }
        self.memo.push(cell);
        Ok(())
    }

    /// PUT: stores the top of the stack under this number.
    pub(super) fn put(&mut self, index: u64) -> Result<(), Fault> {
        let cell = self.memo_cell()?;
        // Each number comes from an opcode, possibly one that an optimiser removed. So numbers cannot exceed the bytes read.
        if index > self.budget.unwrapped_bytes() {
            return Err(malformed(format!(
                "memo number {index} is beyond anything this file could need"
            )));
        }
        let index = index as usize;
        if index >= self.memo.len() {
            let more = index + 1 - self.memo.len();
            self.budget.rows(&mut self.memo, more)?;
            self.memo.resize(index + 1, UNSET);
        }
        if self.memo[index] != UNSET {
            self.known_stacks.forget();
            self.known_records.forget();
        }
        self.memo[index] = cell;
        Ok(())
    }

    /// GET: pushes the value stored under this number.
    #[inline]
    pub(super) fn get(&mut self, index: u64) -> Result<(), Fault> {
        let cell = usize::try_from(index)
            .ok()
            .and_then(|index| self.memo.get(index));
        match cell {
            Some(&cell) if cell != UNSET => {
                self.stack.push(Packed::widen(cell));
                Ok(())
            }
            _ => Err(never_stored(index)),
        }
    }
}

#[cold]
fn never_stored(index: u64) -> Fault {
    malformed(format!("memo number {index} was never stored"))
}
