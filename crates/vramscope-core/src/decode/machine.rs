//! The machine that pickle opcodes and JSON tokens drive: a stack of small values, and containers
//! that turn into table rows the moment they are complete.
//!
//! A genuine snapshot of a million events holds millions of dicts and lists, but never more than a few
//! hundred distinct stacks. So no tree is built: a dict that is recognised as a record is written into
//! its table by [`super::records`] and only its row number is kept; a list of consecutive rows is a
//! range; a list of frames is an interned stack. Everything else (the top level, settings, what
//! nobody knows) stays as it is until [`super::finish`] asks for it.
//!
//! What a record has used (a stack, a text) can no longer change, and rows have one owner. Producers never
//! do otherwise, and files that do could make work out of proportion to their size.

use super::key;
use super::records::Tables;
use super::value::{DictCell, Fault, ListCell, Packed, PackedDict, Value, malformed};
use crate::ids::StringId;
use crate::model::Warnings;
use crate::{ErrorKind, Limits};

/// A memo entry that was never stored. No packed value has this tag.
const UNSET: u32 = 9;

/// The state of decoding.
pub(super) struct Machine {
    pub(super) stack: Vec<Packed>,
    pub(super) marks: Vec<u32>,
    /// Packed values in four bytes; [`UNSET`] where nothing was stored.
    pub(super) memo: Vec<u32>,
    /// The dict memoised last, and where. If it turns out to be a frame, the memo is told: frames are
    /// fetched from it tens of millions of times.
    pub(super) last_memoised: (u32, usize),
    /// What does not fit into a packed value.
    pub(super) wide: Vec<Value>,
    /// The texts met last, by a few of their bits: most are the same few again.
    recent_texts: [StringId; 16],
    pub(super) lists: Vec<ListCell>,
    pub(super) items: Vec<Vec<Packed>>,
    pub(super) dicts: Vec<PackedDict>,
    pub(super) pairs: Vec<Vec<(Packed, Packed)>>,
    /// Values held by `items` and `pairs`.
    pub(super) loose_values: usize,
    /// Bytes of text written out as JSON so far.
    pub(super) json_bytes: usize,
    pub(super) tables: Tables,
    pub(super) warnings: Warnings,
    pub(super) limits: Limits,
    /// The pickle protocol that the data names; 0 if it names none.
    pub(super) protocol: u8,
    /// Bytes of unwrapped data read so far, and in all if known; for sizing columns.
    pub(super) decoded_bytes: u64,
    pub(super) expected_bytes: Option<u64>,
}

impl Machine {
    pub(super) fn new(limits: Limits, expected_bytes: Option<u64>) -> Self {
        Self {
            stack: Vec::with_capacity(4096),
            marks: Vec::with_capacity(16),
            memo: Vec::new(),
            last_memoised: (u32::MAX, 0),
            wide: Vec::new(),
            recent_texts: [StringId(0); 16],
            lists: Vec::new(),
            items: Vec::new(),
            dicts: Vec::new(),
            pairs: Vec::new(),
            loose_values: 0,
            json_bytes: 0,
            tables: Tables::new(key::strings_with_words()),
            warnings: Warnings::default(),
            limits,
            protocol: 0,
            decoded_bytes: 0,
            expected_bytes,
        }
    }

    /// Heap bytes in use, without the input buffer and without room made in advance.
    pub(super) fn used_bytes(&self) -> usize {
        (self.stack.len() + 2 * self.loose_values) * size_of::<Packed>()
            + self.wide.len() * size_of::<Value>()
            + self.memo.len() * size_of::<u32>()
            + self.lists.len() * size_of::<ListCell>()
            + self.dicts.len() * size_of::<PackedDict>()
            + (self.items.len() + self.pairs.len()) * size_of::<Vec<Packed>>()
            + self.tables.used_bytes()
    }

    #[inline]
    pub(super) fn push(&mut self, value: Value) {
        let packed = Packed::pack(value, &mut self.wide);
        self.stack.push(packed);
    }

    /// The value that a packed one stands for.
    #[inline(always)]
    pub(super) fn value(&self, packed: Packed) -> Value {
        packed.unpack(&self.wide)
    }

    /// What a dict has become.
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

    /// Interns a text; bytes that are not UTF-8 become replacement characters.
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
        let id = match std::str::from_utf8(text) {
            Ok(text) => self.tables.strings.try_intern(text),
            Err(_) => {
                let text = self.lossy(text);
                self.tables.strings.try_intern(&text)
            }
        };
        id.ok_or_else(|| {
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

    /// Where the values above the last mark begin. The mark stays: after a fault it tells the place.
    #[inline]
    pub(super) fn marked(&self) -> Result<usize, Fault> {
        self.marks
            .last()
            .map(|&mark| mark as usize)
            .ok_or_else(|| malformed("there is no MARK to go back to"))
    }

    /// Drops the values above the last mark, and the mark.
    pub(super) fn pop_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// DUP: the top of the stack once more.
    pub(super) fn duplicate(&mut self) -> Result<(), Fault> {
        let top = self.top()?;
        self.stack.push(top);
        Ok(())
    }

    /// The top of the stack for the memo.
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

    /// No pickler memoises integers, but a pickle may.
    #[cold]
    fn memo_cell_of_int(&mut self, int: Packed) -> Result<u32, Fault> {
        self.wide.push(self.value(int));
        Ok(Packed::of_wide(self.wide.len() as u32 - 1).narrow()?)
    }

    /// MEMOIZE: the top of the stack under the next number.
    #[inline(never)]
    pub(super) fn memoize(&mut self) -> Result<(), Fault> {
        let cell = self.memo_cell()?;
        if let Some(dict) = Packed::widen(cell).dict() {
            self.last_memoised = (dict, self.memo.len());
        }
        grow(&mut self.memo, self.decoded_bytes, self.expected_bytes);
        self.memo.push(cell);
        Ok(())
    }

    /// PUT: the top of the stack under this number.
    pub(super) fn put(&mut self, index: u64) -> Result<(), Fault> {
        let cell = self.memo_cell()?;
        // Each number costs at least an opcode of its own or was skipped by an optimiser that removed
        // one: it can't exceed the bytes read.
        if index > self.decoded_bytes {
            return Err(malformed(format!(
                "memo number {index} is beyond anything this file could need"
            )));
        }
        let index = index as usize;
        if index >= self.memo.len() {
            grow(&mut self.memo, self.decoded_bytes, self.expected_bytes);
            self.memo.resize(index + 1, UNSET);
        }
        self.memo[index] = cell;
        Ok(())
    }

    /// GET: pushes what is kept under this number.
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

/// Makes room for one more, and if that needs a larger buffer, for as many as the rest of the file
/// will probably need: doubling would hold up to three times what is used.
#[inline]
pub(super) fn grow<T>(column: &mut Vec<T>, decoded_bytes: u64, expected_bytes: Option<u64>) {
    if column.len() == column.capacity() {
        let rows = rows_to_come(column.len(), decoded_bytes, expected_bytes);
        // The projection may be more than there is (wasm has 4 GiB); then growth is left to the Vec.
        if column.try_reserve_exact(rows).is_err() {
            column.reserve(1);
        }
    }
}

/// How many rows to make room for: by the density so far if the size is known, else as many again.
#[cold]
pub(super) fn rows_to_come(rows: usize, decoded_bytes: u64, expected_bytes: Option<u64>) -> usize {
    let again = rows.max(64);
    let Some(rest) = expected_bytes.and_then(|expected| expected.checked_sub(decoded_bytes)) else {
        return again;
    };
    // A file begins with its segments: too early a projection would be wrong.
    let is_early = decoded_bytes < 1 << 20 || rest / decoded_bytes.max(1) >= 16;
    if is_early {
        return 3 * again;
    }
    let projected = rows as f64 * (rest as f64 / decoded_bytes as f64);
    (projected * 1.02) as usize + rows / 64 + 64
}
