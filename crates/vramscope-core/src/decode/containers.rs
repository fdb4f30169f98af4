//! Lists and dicts of the [`Machine`]: fills them, and turns complete ones into stacks, ranges of rows or records.

use super::key::Key;
use super::machine::Machine;
use super::value::{
    DictCell, Fault, ListCell, Packed, PackedDict, Record, RecordKind, Value, malformed,
};

impl Machine {
    #[inline]
    pub(super) fn new_list(&mut self) -> Value {
        self.lists.push(ListCell::Empty);
        Value::List(self.lists.len() as u32 - 1)
    }

    #[inline]
    pub(super) fn new_dict(&mut self) -> Value {
        self.dicts.push(PackedDict::EMPTY);
        Value::Dict(self.dicts.len() as u32 - 1)
    }

    /// EMPTY_LIST.
    #[inline]
    pub(super) fn push_list(&mut self) {
        let list = self.new_list();
        self.push(list);
    }

    /// EMPTY_DICT.
    #[inline]
    pub(super) fn push_dict(&mut self) {
        let dict = self.new_dict();
        self.push(dict);
    }

    /// APPENDS: adds the values above the mark to the list below it.
    #[inline(never)]
    pub(super) fn appends(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        let list = self.container_below(start)?;
        self.extend_list(list, start)?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// MARK, the opcodes at the beginning of `bytes`, and APPENDS: a known stack becomes the value of the new list on top of
    /// the stack. Returns the number of bytes that were processed besides the MARK; `None` if this is not such a stack.
    #[inline]
    pub(super) fn append_known_stack(&mut self, bytes: &[u8]) -> Option<usize> {
        let list = self.top_list()?;
        if self.lists[list] != ListCell::Empty || self.marks.len() >= self.limits.depth {
            return None;
        }
        let (length, stack) = self.known_stacks.find(bytes)?;
        self.lists[list] = ListCell::Stack(stack);
        Some(1 + length)
    }

    /// Remembers the opcodes up to APPENDS, if they turned the list now on top of the machine's stack into a frame stack.
    #[inline]
    pub(super) fn learn_stack(&mut self, bytes: &[u8]) {
        let list = self.top_list().map(|list| self.lists[list]);
        if let Some(ListCell::Stack(stack)) = list {
            self.known_stacks.learn(bytes, stack);
        }
    }

    /// The list on top of the stack.
    #[inline]
    fn top_list(&self) -> Option<usize> {
        self.top().ok()?.list().map(|list| list as usize)
    }

    /// APPEND: adds the top of the stack to the list below it.
    pub(super) fn append(&mut self) -> Result<(), Fault> {
        self.top()?;
        let start = self.stack.len() - 1;
        let list = self.container_below(start)?;
        self.extend_list(list, start)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// LIST or TUPLE: makes a list of the values above the mark.
    pub(super) fn list_from_mark(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        self.list_from(start)?;
        self.marks.pop();
        Ok(())
    }

    /// Makes a tuple of the `count` topmost values. Two integers become a pair, because every event has a tuple of
    /// its own for the pool id.
    #[inline(never)]
    pub(super) fn tuple(&mut self, count: usize) -> Result<(), Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        let Some(start) = self
            .stack
            .len()
            .checked_sub(count)
            .filter(|&start| start >= floor)
        else {
            return Err(malformed("stack underflow"));
        };
        if let [first, second] = self.stack[start..]
            && let (Value::Int(first), Value::Int(second)) = (self.value(first), self.value(second))
        {
            let pair = self.tables.pair(first, second, &mut self.budget)?;
            self.stack.truncate(start);
            self.push(Value::Pair(pair));
            return Ok(());
        }
        self.list_from(start)
    }

    fn list_from(&mut self, start: usize) -> Result<(), Fault> {
        let list = self.new_list();
        let Value::List(row) = list else {
            return Ok(());
        };
        self.extend_list(row, start)?;
        self.stack.truncate(start);
        self.push(list);
        Ok(())
    }

    /// SETITEMS: adds the keys and values above the mark to the dict below it.
    #[inline(never)]
    pub(super) fn set_items(&mut self) -> Result<(), Fault> {
        let start = self.marked()?;
        let Some(dict) = start
            .checked_sub(1)
            .and_then(|below| self.stack[below].dict())
        else {
            return Err(malformed("SETITEMS on something that is not a dict"));
        };
        self.extend_dict(dict, start)?;
        self.stack.truncate(start);
        self.marks.pop();
        Ok(())
    }

    /// SETITEM: adds the two topmost values to the dict below them.
    pub(super) fn set_item(&mut self) -> Result<(), Fault> {
        let floor = self.marks.last().map_or(0, |&mark| mark as usize);
        let start = match self.stack.len().checked_sub(2) {
            Some(start) if start > floor => start,
            _ => return Err(malformed("stack underflow")),
        };
        let Some(dict) = self.stack[start - 1].dict() else {
            return Err(malformed("SETITEM on something that is not a dict"));
        };
        self.add_pairs(dict, start)?;
        self.stack.truncate(start);
        Ok(())
    }

    /// DICT: makes a dict of the keys and values above the mark.
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
        match start
            .checked_sub(1)
            .map(|below| self.value(self.stack[below]))
        {
            Some(Value::List(row)) => Ok(row),
            _ => Err(malformed("APPEND on something that is not a list")),
        }
    }

    /// Adds pairs to a dict. A new dict that gets all its pairs at once may become a record right away; any other
    /// collects pairs.
    #[inline]
    fn extend_dict(&mut self, dict: u32, start: usize) -> Result<(), Fault> {
        if !(self.stack.len() - start).is_multiple_of(2) {
            return Err(malformed("a dict has a key without a value"));
        }
        if self.dicts[dict as usize] == PackedDict::EMPTY
            && !self.is_value_of_key(start)
            && let Some(record) = self.read_record(start)?
        {
            if record.kind == RecordKind::Frame && self.last_memoised.0 == dict {
                self.memo[self.last_memoised.1] = Packed::of_record(record).narrow()?;
            }
            return self.set_dict(dict, DictCell::Record(record));
        }
        self.add_pairs(dict, start)
    }

    /// Whether the dict below `start` will be the value of a key, because the value below it is that key. Records are only
    /// in lists, and a user's dict under a key may look like one.
    #[inline]
    fn is_value_of_key(&self, start: usize) -> bool {
        let enclosing = self
            .marks
            .len()
            .checked_sub(2)
            .map(|mark| self.marks[mark] as usize);
        let below = start
            .checked_sub(2)
            .filter(|&below| below >= enclosing.unwrap_or(0));
        below.is_some_and(|below| self.stack[below].text().is_some())
    }

    fn add_pairs(&mut self, dict: u32, start: usize) -> Result<(), Fault> {
        let row = match self.dict(dict) {
            DictCell::Empty if self.stack.len() == start => return Ok(()),
            DictCell::Empty => {
                self.budget.room(&mut self.pairs, 1)?;
                self.pairs.push(Vec::new());
                let row = self.pairs.len() as u32 - 1;
                self.set_dict(dict, DictCell::Pairs(row))?;
                row
            }
            DictCell::Pairs(row) => row,
            DictCell::Record(_) | DictCell::Plain(_) | DictCell::Text(_) => {
                return Err(malformed("a dict changes after it was used"));
            }
        };
        let pairs = &mut self.pairs[row as usize];
        let new = self.stack[start..].as_chunks::<2>().0;
        self.budget.room(pairs, new.len())?;
        pairs.extend(new.iter().map(|&[key, value]| (key, value)));
        Ok(())
    }

    /// Turns a dict that collected pairs into a record if it is one. Called at its first use in a list.
    pub(super) fn settle(&mut self, dict: u32) -> Result<Option<Record>, Fault> {
        match self.dict(dict) {
            DictCell::Record(record) => Ok(Some(record)),
            DictCell::Empty | DictCell::Plain(_) | DictCell::Text(_) => Ok(None),
            DictCell::Pairs(row) => {
                // The record reader works on the stack, so the pairs are pushed.
                let start = self.stack.len();
                let pairs = std::mem::take(&mut self.pairs[row as usize]);
                self.budget.room(&mut self.stack, 2 * pairs.len())?;
                self.stack
                    .extend(pairs.iter().flat_map(|&(key, value)| [key, value]));
                let record = self.read_record(start);
                self.stack.truncate(start);
                match record? {
                    Some(record) => {
                        self.budget.release(&pairs);
                        self.set_dict(dict, DictCell::Record(record))?;
                        Ok(Some(record))
                    }
                    None => {
                        self.pairs[row as usize] = pairs;
                        // Not to be tried again, because a list may hold the same dict a million times.
                        self.set_dict(dict, DictCell::Plain(row))?;
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
            ListCell::Empty if frames_only => ListCell::Stack(
                self.tables
                    .stack_of(&self.stack[start..], &mut self.budget)?,
            ),
            ListCell::Empty => match run_of_rows(&self.stack[start..]) {
                Some((kind, start, count)) => ListCell::Rows { kind, start, count },
                None => self.append_items(cell, start)?,
            },
            ListCell::Rows {
                kind,
                start: first,
                count,
            } => match run_of_rows(&self.stack[start..]) {
                Some((more, row, further)) if more == kind && row == first + count => {
                    ListCell::Rows {
                        kind,
                        start: first,
                        count: count + further,
                    }
                }
                _ => self.append_items(cell, start)?,
            },
            ListCell::Stack(_) | ListCell::Items(_) => self.append_items(cell, start)?,
            ListCell::UsedStack(_)
            | ListCell::UsedLines(_)
            | ListCell::UsedText(_)
            | ListCell::UsedRows => {
                return Err(malformed("a list changes after it was used"));
            }
        };
        Ok(())
    }

    /// Turns the dicts from `start` on into records where possible. Returns whether all values are frames.
    fn settle_all(&mut self, start: usize) -> Result<bool, Fault> {
        let mut has_others = false;
        for value in &mut self.stack[start..] {
            if let Some(dict) = value.dict() {
                match self.dicts[dict as usize].as_record() {
                    Some(record) => *value = record,
                    None => has_others = true,
                }
            }
        }
        if has_others {
            self.settle_others(start)?;
        }
        Ok(self.stack[start..].iter().all(|value| value.is_frame()))
    }

    /// Turns dicts that collected pairs into records.
    fn settle_others(&mut self, start: usize) -> Result<(), Fault> {
        for index in start..self.stack.len() {
            if let Some(dict) = self.stack[index].dict()
                && let Some(record) = self.settle(dict)?
            {
                self.stack[index] = Packed::of_record(record);
            }
        }
        Ok(())
    }

    /// Adds values to a list in its general form, which stores every value separately.
    fn append_items(&mut self, cell: ListCell, start: usize) -> Result<ListCell, Fault> {
        let row = match cell {
            ListCell::Items(row) => row,
            _ => {
                let mut items = Vec::new();
                self.budget.room(&mut items, self.len_of(cell))?;
                for value in self.list_values(cell)? {
                    items.push(Packed::pack(value, &mut self.wide));
                }
                self.budget.room(&mut self.items, 1)?;
                self.items.push(items);
                self.items.len() as u32 - 1
            }
        };
        let items = &mut self.items[row as usize];
        self.budget.room(items, self.stack.len() - start)?;
        items.extend_from_slice(&self.stack[start..]);
        Ok(ListCell::Items(row))
    }

    /// The values of a list.
    pub(super) fn list_values(&self, cell: ListCell) -> Result<Vec<Value>, Fault> {
        self.first_values(cell, usize::MAX)
    }

    /// The first values of a list, at most `limit`.
    pub(super) fn first_values(&self, cell: ListCell, limit: usize) -> Result<Vec<Value>, Fault> {
        let mut values = self.budget.list(self.len_of(cell).min(limit))?;
        match cell {
            ListCell::Empty | ListCell::UsedRows | ListCell::UsedText(_) => {}
            ListCell::UsedLines(row) => {
                let lines = self.tables.contexts.forward.lines(Some(row));
                values.extend(lines.take(limit).map(Value::Str));
            }
            ListCell::Stack(id) | ListCell::UsedStack(id) => {
                let frames = self.tables.stacks.frames(id).take(limit);
                values.extend(frames.map(|frame| Value::Record(Record::frame(frame))));
            }
            ListCell::Rows { kind, start, count } => {
                let rows = (start..start + count).take(limit);
                values.extend(rows.map(|row| Value::Record(Record { kind, row })));
            }
            ListCell::Items(row) => {
                let items = self.items[row as usize].iter().take(limit);
                values.extend(items.map(|&item| self.value(item)));
            }
        }
        Ok(values)
    }

    /// The number of values in a list.
    pub(super) fn list_len(&self, list: u32) -> usize {
        self.len_of(self.lists[list as usize])
    }

    fn len_of(&self, cell: ListCell) -> usize {
        match cell {
            ListCell::Empty | ListCell::UsedRows | ListCell::UsedText(_) => 0,
            ListCell::Stack(id) | ListCell::UsedStack(id) => self.tables.stacks.frames(id).len(),
            ListCell::UsedLines(row) => self.tables.contexts.forward.lines(Some(row)).len(),
            ListCell::Rows { count, .. } => count as usize,
            ListCell::Items(row) => self.items[row as usize].len(),
        }
    }

    /// The row in `pairs` of a dict that is not a record.
    pub(super) fn pairs_of(&self, dict: u32) -> Option<u32> {
        match self.dict(dict) {
            DictCell::Pairs(row) | DictCell::Plain(row) => Some(row),
            _ => None,
        }
    }

    /// The value of a key in a dict that is not a record. If a key is repeated the last value wins, as in Python.
    pub(super) fn lookup(&self, dict: u32, key: Key) -> Option<Value> {
        let row = self.pairs_of(dict)?;
        let pairs = self.pairs[row as usize].iter().rev();
        pairs
            .filter(|(name, _)| name.text().and_then(Key::of) == Some(key))
            .map(|&(_, value)| self.value(value))
            .next()
    }
}

/// The table, first row and number of rows, if these values are consecutive rows of one table.
fn run_of_rows(values: &[Packed]) -> Option<(RecordKind, u32, u32)> {
    let first = values.first()?.record()?;
    let is_run = (first.row..).zip(values).all(|(row, value)| {
        *value
            == Packed::of_record(Record {
                kind: first.kind,
                row,
            })
    });
    is_run.then_some((first.kind, first.row, values.len() as u32))
}
