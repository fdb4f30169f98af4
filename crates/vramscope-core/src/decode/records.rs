//! Turns complete dicts into table rows: recognises the kind of record, and reads its keys.
//!
//! A record is recognised by a key that only its kind has, wherever in the file it is. A value of the wrong type is an
//! error if its key matters, and otherwise a counted warning.

use super::key::{Key, action_of};
use super::machine::Machine;
use super::value::{DictCell, Fault, ListCell, Packed, Record, RecordKind, Value};
use crate::ErrorKind;
use crate::budget::{Budget, NoRoom};
use crate::ids::{ContextId, EventId, StackId, StringId};
use crate::model::{
    Action, AnnotationTable, BlockTable, Context, ContextTable, Event, EventTable, Frame,
    FrameTable, FxNode, KeysSeen, LONGEST_ACTION, LinesId, NO_TIME, PoolId, Segment, StackTable,
    StringTable, UNKNOWN_FREE, WarningKind,
};

/// 2^64, to which JavaScript rounds `2^64 - 1`.
pub(super) const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

pub(super) struct Tables {
    pub(super) strings: StringTable,
    pub(super) frames: FrameTable,
    pub(super) stacks: StackTable,
    pub(super) contexts: ContextTable,
    pub(super) events: EventTable,
    pub(super) segments: Vec<Segment>,
    pub(super) blocks: BlockTable,
    pub(super) annotations: AnnotationTable,
    pub(super) keys: KeysSeen,
    /// Distinct tuples of two integers.
    pairs: Vec<(i64, i64)>,
    /// The context of the last event. The next event's is nearly always the same.
    last_context: Option<(Context, ContextId)>,
    scratch: Vec<u32>,
}

impl Tables {
    pub(super) fn new(strings: StringTable) -> Self {
        Self {
            strings,
            frames: FrameTable::default(),
            stacks: StackTable::default(),
            contexts: ContextTable::default(),
            events: EventTable::default(),
            segments: Vec::new(),
            blocks: BlockTable::default(),
            annotations: AnnotationTable::default(),
            keys: KeysSeen::default(),
            pairs: Vec::new(),
            last_context: None,
            scratch: Vec::new(),
        }
    }

    /// The row of a pair of integers. Only the last few rows are searched. A genuine file has a handful of pairs; one with
    /// more gets repeated rows, but takes no more time.
    pub(super) fn pair(
        &mut self,
        first: i64,
        second: i64,
        budget: &mut Budget,
    ) -> Result<u32, NoRoom> {
        let recent = self.pairs.len().saturating_sub(8);
        match self.pairs[recent..]
            .iter()
            .rposition(|&pair| pair == (first, second))
        {
            Some(row) => Ok((recent + row) as u32),
            None => {
                budget.room(&mut self.pairs, 1)?;
                self.pairs.push((first, second));
                Ok(self.pairs.len() as u32 - 1)
            }
        }
    }

    pub(super) fn pair_of(&self, row: u32) -> (i64, i64) {
        self.pairs.get(row as usize).copied().unwrap_or_default()
    }

    pub(super) fn stack_of(
        &mut self,
        frames: &[Packed],
        budget: &mut Budget,
    ) -> Result<StackId, NoRoom> {
        budget.room(&mut self.scratch, frames.len())?;
        self.stack_of_frames(frames.iter().map(|frame| frame.row()), budget)
    }

    pub(super) fn stack_of_frames(
        &mut self,
        frames: impl Iterator<Item = u32>,
        budget: &mut Budget,
    ) -> Result<StackId, NoRoom> {
        self.scratch.clear();
        self.scratch.extend(frames);
        self.stacks.make_room(self.scratch.len(), budget)?;
        Ok(self.stacks.intern(&self.scratch))
    }

    #[inline]
    pub(super) fn context(
        &mut self,
        context: Context,
        budget: &mut Budget,
    ) -> Result<ContextId, NoRoom> {
        match self.last_context {
            Some((last, id)) if last == context => Ok(id),
            _ => {
                self.contexts.make_room(budget)?;
                let id = self.contexts.intern(context);
                self.last_context = Some((context, id));
                Ok(id)
            }
        }
    }
}

/// The error for a value that is not of the type `wanted`.
pub(super) fn wrong_type(key: Key, wanted: &str) -> Fault {
    Fault {
        kind: ErrorKind::Malformed(format!("`{}` is no {wanted}", key.text())),
        field: Some(key.text()),
    }
}

#[cold]
fn too_many_events() -> Fault {
    let kind = ErrorKind::Limit {
        what: "the number of events",
        limit: u64::from(u32::MAX),
    };
    kind.into()
}

/// An address or size. Negative numbers are reinterpreted as unsigned, and numbers beyond 64 bits become the nearest
/// possible one: all of these are impossible sizes.
#[inline(always)]
pub(super) fn unsigned(value: Value, key: Key) -> Result<u64, Fault> {
    match value {
        Value::Int(int) => Ok(int as u64),
        Value::Big(int) => Ok(int),
        Value::Bool(flag) => Ok(u64::from(flag)),
        Value::Float(float) if float >= TWO_TO_64 => Ok(u64::MAX),
        Value::Float(float) if float < -TWO_TO_64 / 2.0 => Ok(i64::MIN as u64),
        _ => Err(wrong_type(key, "integer")),
    }
}

#[inline(always)]
pub(super) fn signed(value: Value, key: Key) -> Result<i64, Fault> {
    match value {
        Value::Int(int) => Ok(int),
        Value::Big(int) => Ok(int as i64),
        Value::Bool(flag) => Ok(i64::from(flag)),
        _ => Err(wrong_type(key, "integer")),
    }
}

#[inline(always)]
pub(super) fn text(value: Value, key: Key) -> Result<StringId, Fault> {
    match value {
        Value::Str(id) => Ok(id),
        _ => Err(wrong_type(key, "string")),
    }
}

impl Machine {
    pub(super) fn has_records(&self) -> bool {
        let tables = &self.tables;
        !tables.frames.is_empty()
            || !tables.events.is_empty()
            || !tables.segments.is_empty()
            || !tables.blocks.is_empty()
            || !tables.annotations.rows.is_empty()
            || self.trace.as_ref().is_some_and(|trace| trace.has_events())
            || self
                .timeline
                .as_ref()
                .is_some_and(|timeline| timeline.has_rows())
    }

    pub(super) fn events(&self) -> u64 {
        let of_trace = self.trace.as_ref().map_or(0, |trace| trace.memory_events());
        self.tables.events.len() as u64 + of_trace
    }

    /// Reads the keys and values from stack index `start` on as a record, if they form one.
    #[inline]
    pub(super) fn read_record(&mut self, start: usize) -> Result<Option<Record>, Fault> {
        // PyTorch always writes this key first, and nearly all records are events.
        if self
            .stack
            .get(start)
            .and_then(|key| key.text())
            .and_then(Key::of)
            == Some(Key::Action)
        {
            return self.read_event(start).map(Some);
        }
        self.read_other_record(start)
    }

    fn read_other_record(&mut self, start: usize) -> Result<Option<Record>, Fault> {
        let (mut keys, mut known) = (0_u64, 0);
        for pair in self.stack[start..].chunks_exact(2) {
            if let Some(key) = pair[0].text().and_then(Key::of) {
                keys |= key.bit();
                known += 1;
            }
        }
        let has = |key: Key| keys & key.bit() != 0;
        let is_frame = has(Key::Filename) || has(Key::Name) && has(Key::Line);
        let is_event = has(Key::Action)
            || (has(Key::Addr) || has(Key::DeviceFree)) && !has(Key::State) && !has(Key::RealSize);
        if is_event {
            return self.read_event(start).map(Some);
        }
        let record = if is_frame {
            self.read_frame(start)?
        } else if has(Key::TotalSize) {
            self.tables.keys.segment |= keys;
            self.warn_of_missing(has(Key::Address));
            self.read_segment(start)?
        } else if has(Key::State) {
            self.tables.keys.block |= keys;
            self.warn_of_missing(has(Key::Size));
            self.read_block(start)?
        } else if has(Key::Stage) {
            self.read_annotation(start)?
        } else if has(Key::RealSize) {
            self.read_tenant(start)?
        } else {
            return Ok(None);
        };
        self.warn_of_repeated(known, keys);
        Ok(Some(record))
    }

    fn warn_of_missing(&mut self, is_there: bool) {
        if !is_there {
            self.warn(WarningKind::MissingSize);
        }
    }

    /// Counts the values that are lost because a record repeats keys: `known` keys of the schema, of which `keys` are
    /// different.
    #[inline]
    fn warn_of_repeated(&mut self, known: usize, keys: u64) {
        let repeated = known - keys.count_ones() as usize;
        if repeated > 0 {
            self.warn_at(WarningKind::ValuesLeftOut, repeated as u64, None);
        }
    }

    /// The key and value at stack index `index`.
    // Always inlined, like everything that reads a key's value: when the compiler decided, decoding took a quarter longer
    // with whole-program optimisation, which the page is built with.
    #[inline(always)]
    pub(super) fn pair_at(&self, index: usize) -> (Option<Key>, Value) {
        (
            self.stack[index].text().and_then(Key::of),
            self.value(self.stack[index + 1]),
        )
    }

    #[inline]
    fn read_event(&mut self, start: usize) -> Result<Record, Fault> {
        let mut keys = 0_u64;
        let mut event = Event {
            action: Action::Other(0),
            addr: 0,
            size: 0,
            time_us: NO_TIME,
            context: ContextId(0),
            stack: StackId::ABSENT,
        };
        let mut context = Context::default();
        let mut known = (self.stack.len() - start) / 2;
        let mut index = start;
        while index < self.stack.len() {
            let (key, value) = self.pair_at(index);
            keys |= key.map_or(0, Key::bit);
            match key {
                Some(Key::Action) => event.action = self.action(text(value, Key::Action)?),
                Some(Key::Addr) if keys & Key::DeviceFree.bit() != 0 => {}
                Some(key @ (Key::Addr | Key::DeviceFree)) => event.addr = unsigned(value, key)?,
                Some(Key::Size) => event.size = unsigned(value, Key::Size)?,
                Some(Key::TimeUs) => event.time_us = signed(value, Key::TimeUs)?,
                Some(Key::Frames) => event.stack = self.stack_value(value, Key::Frames)?,
                Some(key) => self.read_context(key, value, &mut context, index)?,
                None => {
                    known -= 1;
                    self.unknown_key(RecordKind::Event, index);
                }
            }
            index += 2;
        }
        self.tables.keys.event |= keys;
        if keys & Key::Action.bit() == 0 {
            event.action = self.action(StringId(0));
            self.warn(WarningKind::MissingSize);
        }
        if keys & Key::Size.bit() == 0 || keys & (Key::Addr.bit() | Key::DeviceFree.bit()) == 0 {
            self.warn(match event.action {
                Action::Other(_) => WarningKind::MissingKey("addr or size of a trace entry".into()),
                _ => WarningKind::MissingSize,
            });
        }
        if event.action == Action::Oom && keys & (Key::Addr.bit() | Key::DeviceFree.bit()) == 0 {
            event.addr = UNKNOWN_FREE;
        }
        self.warn_of_repeated(known, keys);
        event.context = self.tables.context(context, &mut self.budget)?;
        Ok(Record::event(self.add_event(event)?))
    }

    pub(super) fn add_event(&mut self, event: Event) -> Result<EventId, Fault> {
        let row = self.tables.events.len();
        if row >= u32::MAX as usize - 1 {
            return Err(too_many_events());
        }
        if !self.tables.events.has_room(&event) {
            self.tables.events.make_room(&event, &mut self.budget)?;
        }
        self.tables.events.push(event);
        Ok(EventId(row as u32))
    }

    /// Adds an allocation of a profile; for a free, both the request and its completion.
    pub(super) fn add_profiled(&mut self, event: Event, is_free: bool) -> Result<(), Fault> {
        let actions: &[Action] = match is_free {
            true => &[Action::FreeRequested, Action::FreeCompleted],
            false => &[Action::Alloc],
        };
        for &action in actions {
            self.add_event(Event { action, ..event })?;
        }
        Ok(())
    }

    /// The rarer keys of a trace entry.
    #[inline(always)]
    fn read_context(
        &mut self,
        key: Key,
        value: Value,
        context: &mut Context,
        index: usize,
    ) -> Result<(), Fault> {
        match key {
            Key::Stream => context.stream = signed(value, key)?,
            Key::PoolId => context.pool = self.pool_value(value, key),
            Key::CompileContext => context.compile_context = self.text_value(value)?,
            Key::UserMetadata => context.user_metadata = self.text_value(value)?,
            Key::InternalMetadata => context.internal_metadata = self.text_value(value)?,
            Key::Category => context.category = self.text_value(value)?,
            Key::ForwardFrames => context.forward_lines = self.lines_value(value)?,
            _ => self.unknown_key(RecordKind::Event, index),
        }
        Ok(())
    }

    fn action(&mut self, name: StringId) -> Action {
        if let Some(action) = action_of(name) {
            return action;
        }
        let others = &mut self.tables.events.other_actions;
        let row = match others.iter().position(|&other| other == name) {
            Some(row) => row,
            None if others.len() < usize::from(u8::MAX) => {
                others.push(name);
                others.len() - 1
            }
            None => others.len() - 1,
        };
        let text = self.tables.strings.get(name).chars();
        let text = text.take(LONGEST_ACTION).collect();
        self.warn(WarningKind::UnknownAction(text));
        Action::Other(row as u8)
    }

    /// The stack in a value of `frames`.
    #[inline]
    pub(super) fn stack_value(&mut self, value: Value, key: Key) -> Result<StackId, Fault> {
        let Value::List(list) = value else {
            return match value {
                Value::None => Ok(StackId::ABSENT),
                _ => Err(wrong_type(key, "list of frames")),
            };
        };
        let id = match self.lists[list as usize] {
            ListCell::UsedStack(id) => return Ok(id),
            ListCell::Stack(id) => id,
            ListCell::Empty => StackId::EMPTY,
            ListCell::Items(row) => {
                let items = std::mem::take(&mut self.items[row as usize]);
                if !items.iter().all(|item| item.is_frame()) {
                    self.items[row as usize] = items;
                    return Err(wrong_type(key, "list of frames"));
                }
                self.budget.release(&items);
                self.tables.stack_of(&items, &mut self.budget)?
            }
            _ => return Err(wrong_type(key, "list of frames")),
        };
        // Many records share the empty list, so using it must not freeze it.
        if id != StackId::EMPTY {
            self.lists[list as usize] = ListCell::UsedStack(id);
        }
        Ok(id)
    }

    /// A pool id: a tuple or list of two integers. Anything else counts as absent, with a warning unless it is None.
    pub(super) fn pool_value(&mut self, value: Value, key: Key) -> Option<PoolId> {
        let pool = match value {
            Value::None => return None,
            Value::Pair(row) => Some(self.tables.pair_of(row)),
            Value::List(list) => match self.first_values(self.lists[list as usize], 3).as_deref() {
                Ok(&[Value::Int(first), Value::Int(second)]) => Some((first, second)),
                _ => None,
            },
            _ => None,
        };
        if pool.is_none() {
            self.warn_at(WarningKind::ValuesLeftOut, 1, Some(key.text()));
        }
        pool.map(|(first, second)| PoolId(first as u64, second as u64))
    }

    /// A text. A dict (as some tools write metadata) becomes its JSON; None counts as absent.
    #[inline]
    pub(super) fn text_value(&mut self, value: Value) -> Result<Option<StringId>, Fault> {
        match value {
            Value::Str(id) => Ok(Some(id)),
            Value::None => Ok(None),
            other => self.text_of_other(other),
        }
    }

    #[cold]
    fn text_of_other(&mut self, value: Value) -> Result<Option<StringId>, Fault> {
        match value {
            Value::Dict(dict) => {
                if let DictCell::Text(id) = self.dict(dict) {
                    return Ok(Some(id));
                }
            }
            Value::List(list) => {
                if let ListCell::UsedText(id) = self.lists[list as usize] {
                    return Ok(Some(id));
                }
            }
            _ => {}
        }
        let json = self.json_of(value, None)?.to_string();
        let id = self.intern(&json)?;
        match value {
            Value::Dict(dict) => self.set_dict(dict, DictCell::Text(id))?,
            Value::List(list) => self.lists[list as usize] = ListCell::UsedText(id),
            _ => {}
        }
        Ok(Some(id))
    }

    /// `forward_frames`: a list of texts.
    #[cold]
    pub(super) fn lines_value(&mut self, value: Value) -> Result<Option<LinesId>, Fault> {
        let Value::List(list) = value else {
            return Ok(None);
        };
        let cell = self.lists[list as usize];
        if let ListCell::UsedLines(row) = cell {
            return Ok(Some(row));
        }
        let values = self.list_values(cell)?;
        let mut lines = self.budget.list(values.len())?;
        for item in values {
            lines.push(text(item, Key::ForwardFrames)?.0);
        }
        let forward = &mut self.tables.contexts.forward;
        forward.make_room(lines.len(), &mut self.budget)?;
        let row = forward.intern(&lines);
        if !lines.is_empty() {
            self.lists[list as usize] = ListCell::UsedLines(row);
        }
        Ok(Some(row))
    }

    fn read_frame(&mut self, start: usize) -> Result<Record, Fault> {
        let none = StringId(0);
        let mut frame = Frame {
            name: none,
            filename: none,
            line: 0,
            fx: None,
        };
        let mut fx = FxNode {
            op: none,
            name: none,
            target: none,
            original_trace: none,
        };
        for index in (start..self.stack.len()).step_by(2) {
            let (key, value) = self.pair_at(index);
            match key {
                Some(Key::Name) => frame.name = text(value, Key::Name)?,
                Some(Key::Filename) => frame.filename = text(value, Key::Filename)?,
                Some(Key::Line) => {
                    let line = match value {
                        Value::None => 0,
                        value => signed(value, Key::Line)?,
                    };
                    // Python uses -1 for code without a line, which PyTorch writes as 2^64 - 1.
                    let line = if line == -1 { 0 } else { line };
                    frame.line = u32::try_from(line).unwrap_or_else(|_| {
                        self.warn_at(WarningKind::ValuesLeftOut, 1, Some(Key::Line.text()));
                        0
                    });
                }
                Some(Key::FxNodeOp) => fx.op = self.text_value(value)?.unwrap_or(none),
                Some(Key::FxNodeName) => fx.name = self.text_value(value)?.unwrap_or(none),
                Some(Key::FxNodeTarget) => fx.target = self.text_value(value)?.unwrap_or(none),
                Some(Key::FxOriginalTrace) => {
                    fx.original_trace = self.text_value(value)?.unwrap_or(none)
                }
                _ => self.unknown_key(RecordKind::Frame, index),
            }
        }
        frame.fx = [fx.op, fx.name, fx.target, fx.original_trace]
            .iter()
            .any(|&id| id != none)
            .then_some(fx);
        self.tables.frames.make_room(&mut self.budget)?;
        Ok(Record::frame(self.tables.frames.intern(frame)))
    }

    #[cold]
    pub(super) fn unknown_key(&mut self, kind: RecordKind, index: usize) {
        let name = match self.value(self.stack[index]) {
            Value::Str(id) => self.tables.strings.get(id).chars().take(64).collect(),
            _ => "(no string)".to_owned(),
        };
        self.warn(WarningKind::UnknownKey(format!(
            "{name} of a {}",
            kind.word()
        )));
    }

    #[cold]
    pub(super) fn warn(&mut self, kind: WarningKind) {
        self.warn_at(kind, 1, None);
    }

    /// Counts `times` oddities of the current record, or of a key in it of any length.
    pub(super) fn warn_at(&mut self, kind: WarningKind, times: u64, field: Option<&str>) {
        let path = if self.warnings.wants_place(&kind) {
            let field = field.map(|field| &field[..field.floor_char_boundary(64)]);
            super::path::of(self, field)
        } else {
            String::new()
        };
        self.warnings.add_times(times, kind, || path);
    }
}
