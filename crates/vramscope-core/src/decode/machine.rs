//! The machine that pickle opcodes and JSON tokens drive: a stack of small values, and containers
//! that turn into table rows the moment they are complete.
//!
//! A genuine snapshot of a million events holds millions of dicts and lists, but never more than a few
//! hundred distinct stacks. So no tree is built: a dict that is recognised as a record is written into
//! its table by [`super::records`] and only its row number is kept; a list of consecutive rows is a
//! range; a list of frames is an interned stack. Everything else (the top level, settings, what
//! nobody knows) stays as it is until [`super::finish`] asks for it.
//!
//! A container can't change any more once it has been used in a record. Producers never do that, and
//! files that do could otherwise make work out of proportion to their size.

use super::key::{self, Key};
use super::records::Tables;
use super::value::{
    DictCell, Fault, ListCell, Packed, PackedDict, Record, RecordKind, Value, malformed,
};
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
    memo: Vec<u32>,
    /// The dict memoised last, and where. If it turns out to be a frame, the memo is told: frames are
    /// fetched from it tens of millions of times.
    last_memoised: (u32, usize),
    /// What does not fit into a packed value.
    wide: Vec<Value>,
    /// The texts met last, by a few of their bits: most are the same few again.
    recent_texts: [StringId; 16],
    pub(super) lists: Vec<ListCell>,
    pub(super) items: Vec<Vec<Packed>>,
    dicts: Vec<PackedDict>,
    pub(super) pairs: Vec<Vec<(Packed, Packed)>>,
    /// Values held by `items` and `pairs`.
    loose_values: usize,
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
    #[inline]
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
    #[inline]
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
        if self.tables.strings.get(self.recent_texts[recent]).as_bytes() == text {
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
        id.ok_or_else(|| ErrorKind::Limit { what: "the number of texts", limit: u64::from(u32::MAX) }.into())
    }

    #[cold]
    fn lossy(&mut self, text: &[u8]) -> String {
        let path = super::path::of(self, None);
        self.warnings.add(crate::model::WarningKind::InvalidUtf8, || path);
        String::from_utf8_lossy(text).into_owned()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Result<Value, Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        if self.stack.len() <= floor {
            return Err(malformed("stack underflow"));
        }
        let top = self.stack.pop().ok_or_else(|| malformed("stack underflow"))?;
        Ok(self.value(top))
    }

    #[inline]
    fn top(&self) -> Result<Packed, Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        match self.stack.last() {
            Some(&value) if self.stack.len() > floor => Ok(value),
            _ => Err(malformed("stack underflow")),
        }
    }

    #[inline]
    pub(super) fn mark(&mut self) -> Result<(), Fault> {
        if self.marks.len() >= self.limits.depth {
            return Err(ErrorKind::Limit { what: "the depth of nesting", limit: self.limits.depth as u64 }.into());
        }
        self.marks.push(self.stack.len() as u32);
        Ok(())
    }

    /// Where the values above the last mark begin. The mark stays: after a fault it tells the place.
    #[inline]
    fn marked(&self) -> Result<usize, Fault> {
        self.marks.last().map(|&mark| mark as usize).ok_or_else(|| malformed("there is no MARK to go back to"))
    }

    /// Drops the values above the last mark, and the mark.
    pub(super) fn pop_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    pub(super) fn new_list(&mut self) -> Value {
        grow(&mut self.lists, self.decoded_bytes, self.expected_bytes);
        self.lists.push(ListCell::Empty);
        Value::List(self.lists.len() as u32 - 1)
    }

    #[inline]
    pub(super) fn new_dict(&mut self) -> Value {
        grow(&mut self.dicts, self.decoded_bytes, self.expected_bytes);
        self.dicts.push(PackedDict::EMPTY);
        Value::Dict(self.dicts.len() as u32 - 1)
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
        if let Some(dict) = top.dict() {
            if let Some(frame) = self.dicts[dict as usize].as_record().filter(|record| record.is_frame()) {
                return Ok(frame.narrow()?);
            }
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
    #[inline]
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
            return Err(malformed(format!("memo number {index} is beyond anything this file could need")));
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
        let cell = usize::try_from(index).ok().and_then(|index| self.memo.get(index));
        match cell {
            Some(&cell) if cell != UNSET => {
                self.stack.push(Packed::widen(cell));
                Ok(())
            }
            _ => Err(never_stored(index)),
        }
    }

    /// APPENDS: the values above the mark into the list below it.
    #[inline]
    pub(super) fn appends(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        let list = self.container_below(start)?;
        self.extend_list(list, start)?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// APPEND: the top of the stack into the list below it.
    pub(super) fn append(&mut self) -> Result<(), Fault> {
        self.top()?;
        let start = self.stack.len() - 1;
        let list = self.container_below(start)?;
        self.extend_list(list, start)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// LIST or TUPLE: the values above the mark as a new list.
    pub(super) fn list_from_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        self.list_from(start)?;
        self.marks.pop();
        Ok(())
    }

    /// A tuple of the `count` topmost values. Two integers are kept as a pair: pool ids are
    /// written as a fresh tuple for every event.
    pub(super) fn tuple(&mut self, count: usize) -> Result<(), Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        let Some(start) = self.stack.len().checked_sub(count).filter(|&start| start >= floor) else {
            return Err(malformed("stack underflow"));
        };
        if let [first, second] = self.stack[start..]
            && let (Value::Int(first), Value::Int(second)) = (self.value(first), self.value(second))
        {
            let pair = self.tables.pair(first, second);
            self.stack.truncate(start);
            self.push(Value::Pair(pair));
            return Ok(());
        }
        self.list_from(start)
    }

    fn list_from(&mut self, start: usize) -> Result<(), Fault> {
        let list = self.new_list();
        let Value::List(row) = list else { return Ok(()) };
        self.extend_list(row, start)?;
        self.stack.truncate(start);
        self.push(list);
        Ok(())
    }

    /// SETITEMS: the keys and values above the mark into the dict below it.
    #[inline]
    pub(super) fn set_items(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        let Some(dict) = start.checked_sub(1).and_then(|below| self.stack[below].dict()) else {
            return Err(malformed("SETITEMS on something that is no dict"));
        };
        self.extend_dict(dict, start)?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// SETITEM: the two topmost values into the dict below them.
    pub(super) fn set_item(&mut self) -> Result<(), Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        let start = match self.stack.len().checked_sub(2) {
            Some(start) if start > floor => start,
            _ => return Err(malformed("stack underflow")),
        };
        let Some(dict) = self.stack[start - 1].dict() else {
            return Err(malformed("SETITEM on something that is no dict"));
        };
        self.add_pairs(dict, start)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// DICT: the keys and values above the mark as a new dict.
    pub(super) fn dict_from_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        let dict = self.new_dict();
        if let Value::Dict(row) = dict {
            self.extend_dict(row, start)?;
        }
        self.stack.truncate(start);
        self.marks.pop();
        self.push(dict);
        Ok(())
    }

    fn container_below(&self, start: usize) -> Result<u32, Fault> {
        match start.checked_sub(1).map(|below| self.value(self.stack[below])) {
            Some(Value::List(row)) => Ok(row),
            _ => Err(malformed("APPEND on something that is no list")),
        }
    }

    /// A fresh dict whose pairs come at once becomes a record right away; any other collects pairs.
    #[inline]
    fn extend_dict(&mut self, dict: u32, start: usize) -> Result<(), Fault> {
        if (self.stack.len() - start) % 2 != 0 {
            return Err(malformed("a dict has a key without a value"));
        }
        if self.dicts[dict as usize] == PackedDict::EMPTY
            && let Some(record) = self.read_record(start)?
        {
            if record.kind == RecordKind::Frame && self.last_memoised.0 == dict {
                self.memo[self.last_memoised.1] = Packed::of_record(record).narrow()?;
            }
            return self.set_dict(dict, DictCell::Record(record));
        }
        self.add_pairs(dict, start)
    }

    fn add_pairs(&mut self, dict: u32, start: usize) -> Result<(), Fault> {
        let row = match self.dict(dict) {
            DictCell::Empty if self.stack.len() == start => return Ok(()),
            DictCell::Empty => {
                self.pairs.push(Vec::new());
                let row = self.pairs.len() as u32 - 1;
                self.set_dict(dict, DictCell::Pairs(row))?;
                row
            }
            DictCell::Pairs(row) => row,
            DictCell::Record(_) | DictCell::Text(_) => {
                return Err(malformed("a dict changes after it was used"));
            }
        };
        let pairs = &mut self.pairs[row as usize];
        for pair in self.stack[start..].chunks_exact(2) {
            if let [key, value] = *pair {
                pairs.push((key, value));
                self.loose_values += 2;
            }
        }
        Ok(())
    }

    /// Turns a dict that collected pairs into a record if it is one: on its first use in a list.
    pub(super) fn settle(&mut self, dict: u32) -> Result<Option<Record>, Fault> {
        match self.dict(dict) {
            DictCell::Record(record) => Ok(Some(record)),
            DictCell::Empty | DictCell::Text(_) => Ok(None),
            DictCell::Pairs(row) => {
                // The record reader works on the stack: lay the pairs on it.
                let start = self.stack.len();
                let pairs = std::mem::take(&mut self.pairs[row as usize]);
                self.stack.extend(pairs.iter().flat_map(|&(key, value)| [key, value]));
                let record = self.read_record(start);
                self.stack.truncate(start);
                match record? {
                    Some(record) => {
                        self.loose_values -= 2 * pairs.len();
                        self.set_dict(dict, DictCell::Record(record))?;
                        Ok(Some(record))
                    }
                    None => {
                        self.pairs[row as usize] = pairs;
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Adds the values from `start` to a list.
    fn extend_list(&mut self, list: u32, start: usize) -> Result<(), Fault> {
        let frames_only = self.settle_all(start)?;
        if start == self.stack.len() {
            return Ok(());
        }
        let cell = self.lists[list as usize];
        self.lists[list as usize] = match cell {
            ListCell::Empty if frames_only => ListCell::Stack(self.tables.stack_of(&self.stack[start..])),
            ListCell::Empty => match run_of_rows(&self.stack[start..]) {
                Some((kind, start, count)) => ListCell::Rows { kind, start, count },
                None => self.append_items(cell, start),
            },
            ListCell::Rows { kind, start: first, count } => match run_of_rows(&self.stack[start..]) {
                Some((more, row, further)) if more == kind && row == first + count => {
                    ListCell::Rows { kind, start: first, count: count + further }
                }
                _ => self.append_items(cell, start),
            },
            ListCell::Stack(_) | ListCell::Items(_) => self.append_items(cell, start),
            ListCell::UsedStack(_) | ListCell::UsedLines(_) => {
                return Err(malformed("a list changes after it was used"));
            }
        };
        Ok(())
    }

    /// Turns the dicts from `start` into records where they are some. Whether all are frames.
    fn settle_all(&mut self, start: usize) -> Result<bool, Fault> {
        if self.stack[start..].iter().all(|value| value.is_frame()) {
            return Ok(true);
        }
        let mut frames_only = true;
        for index in start..self.stack.len() {
            if let Some(dict) = self.stack[index].dict() {
                match self.dicts[dict as usize].as_record() {
                    Some(record) => self.stack[index] = record,
                    None => {
                        if let Some(record) = self.settle(dict)? {
                            self.stack[index] = Packed::of_record(record);
                        }
                    }
                }
            }
            frames_only &= self.stack[index].is_frame();
        }
        Ok(frames_only)
    }

    /// The slow form of a list: every value by itself.
    fn append_items(&mut self, cell: ListCell, start: usize) -> ListCell {
        let row = match cell {
            ListCell::Items(row) => row,
            _ => {
                let values = self.list_values(cell);
                let items: Vec<_> =
                    values.into_iter().map(|value| Packed::pack(value, &mut self.wide)).collect();
                self.loose_values += items.len();
                self.items.push(items);
                self.items.len() as u32 - 1
            }
        };
        self.loose_values += self.stack.len() - start;
        self.items[row as usize].extend_from_slice(&self.stack[start..]);
        ListCell::Items(row)
    }

    /// The values of a list.
    pub(super) fn list_values(&self, cell: ListCell) -> Vec<Value> {
        self.first_values(cell, usize::MAX)
    }

    /// The first values of a list, at most `limit`.
    pub(super) fn first_values(&self, cell: ListCell, limit: usize) -> Vec<Value> {
        match cell {
            ListCell::Empty => Vec::new(),
            ListCell::UsedLines(row) => {
                self.tables.contexts.forward.lines(row).take(limit).map(Value::Str).collect()
            }
            ListCell::Stack(id) | ListCell::UsedStack(id) => {
                let frames = self.tables.stacks.frames(id).take(limit);
                frames.map(|frame| Value::Record(Record::frame(frame))).collect()
            }
            ListCell::Rows { kind, start, count } => (start..start + count)
                .take(limit)
                .map(|row| Value::Record(Record { kind, row }))
                .collect(),
            ListCell::Items(row) => {
                self.items[row as usize].iter().take(limit).map(|&item| self.value(item)).collect()
            }
        }
    }

    /// How many values a list has.
    pub(super) fn list_len(&self, list: u32) -> usize {
        match self.lists[list as usize] {
            ListCell::Empty => 0,
            ListCell::Stack(id) | ListCell::UsedStack(id) => self.tables.stacks.frames(id).len(),
            ListCell::UsedLines(row) => self.tables.contexts.forward.lines(row).len(),
            ListCell::Rows { count, .. } => count as usize,
            ListCell::Items(row) => self.items[row as usize].len(),
        }
    }

    /// The value of a key in a dict that is no record; the last one wins, as in Python.
    pub(super) fn lookup(&self, dict: u32, key: Key) -> Option<Value> {
        let DictCell::Pairs(row) = self.dict(dict) else { return None };
        let pairs = self.pairs[row as usize].iter().rev();
        pairs
            .filter(|(name, _)| name.text().and_then(Key::of) == Some(key))
            .map(|&(_, value)| self.value(value))
            .next()
    }
}

#[cold]
fn never_stored(index: u64) -> Fault {
    malformed(format!("memo number {index} was never stored"))
}

/// The table, first row and count, if these values are consecutive rows of one table.
fn run_of_rows(values: &[Packed]) -> Option<(RecordKind, u32, u32)> {
    let first = values.first()?.record()?;
    let is_run = (first.row..)
        .zip(values)
        .all(|(row, value)| *value == Packed::of_record(Record { kind: first.kind, row }));
    is_run.then_some((first.kind, first.row, values.len() as u32))
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
