//! A fast path for events and blocks whose opcodes resemble those of an earlier one.
//!
//! All events of a snapshot are written alike: their keys are fetched from the memo, and most differ only in action,
//! address, size, time and frames. So the opcodes of an event that the machine has read are stored as a template with gaps
//! for these values; the same is done for blocks. A record that fits a template goes straight into its table; all others are
//! read by the machine, opcode by opcode. The machine's state is the same afterwards either way.
//!
//! As with known stacks, this holds as long as no memo number is assigned again. Input that arrives in small pieces never
//! takes this path, so tests that read files in pieces compare both.

use super::integer::{fetched, integer};
use super::key::{Key, action_of};
use super::known_stacks::KnownStacks;
use super::machine::Machine;
use super::opcode as op;
use super::value::{DictCell, ListCell, Packed, PackedDict, Record, RecordKind, Value};
use crate::container::WINDOW;
use crate::ids::{ContextId, StackId, StringId};
use crate::model::{Block, Event, NO_TIME};

/// With fewer bytes ahead, a record is left to the machine.
const LEAST_BYTES: usize = 128;
/// Number of templates: streams and pools alternate.
const MOST_TEMPLATES: usize = 4;

#[derive(Default)]
pub(super) struct KnownRecords {
    templates: Vec<Template>,
    /// The template that matched last.
    last: usize,
    /// The template to replace next.
    oldest: usize,
    /// A template under construction.
    draft: Template,
}

#[derive(Default)]
struct Template {
    steps: Vec<Step>,
    /// The context of an event; `None` for a block.
    context: Option<ContextId>,
    /// Whether a block has a requested size.
    has_requested: bool,
    /// What the texts and pairs of the context store in the memo.
    memo: Vec<u32>,
    /// How many of these come before the frames.
    before_frames: usize,
}

/// A few required bytes, and the gap after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    /// Up to eight required bytes, padded with zeros.
    word: u64,
    /// Which bits of `word` are required.
    mask: u64,
    length: usize,
    gap: Option<Gap>,
}

/// A value that differs from record to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gap {
    /// The action of an event, or the state of a block.
    Word,
    /// One of [`Fit::numbers`].
    Number(usize),
    Frames,
}

/// The effect of a record's opcodes.
struct Fit {
    length: usize,
    word: StringId,
    /// Address, size, and the time of an event or the requested size of a block.
    numbers: [i64; 3],
    stack: StackId,
    /// Whether the record has its own list of frames, not one fetched from the memo.
    has_list: bool,
}

/// The state before the gaps are filled.
const NO_FIT: Fit = Fit {
    length: 0,
    word: StringId(0),
    numbers: [0, 0, NO_TIME],
    stack: StackId::ABSENT,
    has_list: false,
};

/// The tables for looking up values in gaps.
struct Known<'m> {
    memo: &'m [u32],
    lists: &'m [ListCell],
    stacks: &'m mut KnownStacks,
}

impl Machine {
    /// Runs the opcodes at the beginning of `bytes`, up to SETITEMS, if they form a record that fits a template. Returns
    /// their length.
    #[inline(never)]
    pub(super) fn push_known_record(&mut self, bytes: &[u8]) -> Option<usize> {
        // A value of a key is not a record, and the record's dict and list nest two marks.
        let is_value_of_key = self.top().is_ok_and(|below| below.text().is_some());
        if bytes.len() < LEAST_BYTES || is_value_of_key || self.marks.len() + 2 > self.limits.depth
        {
            return None;
        }
        let mut known = Known {
            memo: &self.memo,
            lists: &self.lists,
            stacks: &mut self.known_stacks,
        };
        let mut fit = NO_FIT;
        let template = self.known_records.find(bytes, &mut known, &mut fit)?;
        let (dict, list) = (self.dicts.len() as u32, self.lists.len() as u32);
        let dict_cell = Packed::of_dict(dict).narrow().ok()?;
        let list_cell = Packed::of_list(list).narrow().ok()?;
        let record = self.add_known(template, &fit)?;
        self.dicts.push(record);
        self.stack.push(Packed::of_dict(dict));
        self.last_memoised = (dict, self.memo.len());
        self.memo.push(dict_cell);
        let template = self.known_records.templates.get(template)?;
        let (before, behind) = template.memo.split_at_checked(template.before_frames)?;
        self.memo.extend(before);
        if fit.has_list {
            self.lists.push(match fit.stack {
                StackId::EMPTY => ListCell::Empty,
                stack => ListCell::UsedStack(stack),
            });
            self.memo.push(list_cell);
        }
        self.memo.extend(behind);
        Some(fit.length)
    }

    /// Adds the row of a record. `None` if there is no room: then the machine reserves more, or reports that it cannot.
    #[inline(always)]
    fn add_known(&mut self, template: usize, fit: &Fit) -> Option<PackedDict> {
        let template = self.known_records.templates.get(template)?;
        let [address, size, last] = fit.numbers;
        let rows = &mut self.tables.blocks.rows;
        let events = &mut self.tables.events;
        let packed = |kind, row: usize| {
            let row = u32::try_from(row).ok()?;
            PackedDict::pack(DictCell::Record(Record { kind, row })).ok()
        };
        let Some(context) = template.context else {
            let record = packed(RecordKind::Block, rows.len())?;
            if rows.len() == rows.capacity() {
                return None;
            }
            let requested_size = template.has_requested.then_some(last as u64);
            let state = self.block_state(Value::Str(fit.word)).ok()?;
            self.tables.blocks.rows.push(Block {
                address: address as u64,
                size: size as u64,
                requested_size,
                state,
                stack: fit.stack,
                forward_lines: None,
                history: None,
            });
            return Some(record);
        };
        let event = Event {
            action: action_of(fit.word)?,
            addr: address as u64,
            size: size as u64,
            time_us: last,
            context,
            stack: fit.stack,
        };
        let record = packed(RecordKind::Event, events.len())?;
        if !events.has_room(&event) {
            return None;
        }
        events.push(event);
        Some(record)
    }

    /// Remembers the opcodes of the dict on top of the stack, if it is an event or a block. `bytes` are all opcodes of the
    /// dict, and `memo_before` was the memo's length before them.
    #[inline]
    pub(super) fn learn_record(&mut self, bytes: &[u8], memo_before: usize) {
        let dict = self.top().ok().and_then(Packed::dict);
        if let Some(dict) = dict
            && let DictCell::Record(record) = self.dict(dict)
            && matches!(record.kind, RecordKind::Event | RecordKind::Block)
        {
            self.learn(bytes, memo_before, record);
        }
    }

    fn learn(&mut self, bytes: &[u8], memo_before: usize, record: Record) -> Option<()> {
        let stored = self.memo.get(memo_before + 1..)?;
        let known = &mut self.known_records;
        known.draft.make(record.kind, bytes, &self.memo, stored)?;
        let contexts = &self.tables.events.context;
        known.draft.context = match record.kind {
            RecordKind::Event => Some(*contexts.get(record.row as usize)?),
            _ => None,
        };
        known.keep_draft();
        Some(())
    }
}

impl KnownRecords {
    /// The number of the template that fits the opcodes at the beginning of `bytes`.
    #[inline(always)]
    fn find(&mut self, bytes: &[u8], known: &mut Known<'_>, fit: &mut Fit) -> Option<usize> {
        if !self.templates.get(self.last)?.fits(bytes, known, fit) {
            let mut templates = self.templates.iter();
            self.last = templates.position(|template| template.fits(bytes, known, fit))?;
        }
        Some(self.last)
    }

    /// Adds the new template, unless there is an equal one.
    fn keep_draft(&mut self) {
        let mut templates = self.templates.iter();
        if let Some(known) = templates.position(|known| known.steps == self.draft.steps) {
            self.last = known;
            return;
        }
        if self.templates.len() < MOST_TEMPLATES {
            self.templates.push(Template::default());
            self.oldest = self.templates.len() - 1;
        }
        if let Some(oldest) = self.templates.get_mut(self.oldest) {
            std::mem::swap(oldest, &mut self.draft);
        }
        self.last = self.oldest;
        self.oldest = (self.oldest + 1) % MOST_TEMPLATES;
    }

    /// Forgets all templates, because a memo number was assigned again.
    pub(super) fn forget(&mut self) {
        self.templates.clear();
        (self.last, self.oldest) = (0, 0);
    }
}

impl Template {
    /// Whether this template fits the opcodes at the beginning of `bytes`. If so, `fit` receives their effect.
    #[inline]
    fn fits(&self, bytes: &[u8], known: &mut Known<'_>, fit: &mut Fit) -> bool {
        *fit = NO_FIT;
        let length = self.fill(bytes, known, fit);
        fit.length = length.unwrap_or(0);
        length.is_some()
    }

    /// Fills the gaps, and returns the length of the opcodes if they fit.
    #[inline(always)]
    fn fill(&self, bytes: &[u8], known: &mut Known<'_>, fit: &mut Fit) -> Option<usize> {
        let mut at = 0;
        for step in &self.steps {
            let rest = bytes.get(at..)?;
            let word = u64::from_le_bytes(*rest.first_chunk()?);
            if word & step.mask != step.word {
                return None;
            }
            at += step.length;
            let Some(gap) = step.gap else { continue };
            let rest = rest.get(step.length..)?;
            let window = rest.first_chunk()?;
            at += match gap {
                Gap::Word => {
                    let (length, cell) = known.fetch(window)?;
                    fit.word = cell.text()?;
                    length
                }
                Gap::Number(number) => {
                    let (length, value) = integer(window)?;
                    *fit.numbers.get_mut(number)? = value;
                    length
                }
                Gap::Frames => known.frames(window, rest, fit)?,
            };
        }
        Some(at)
    }

    /// Makes the template of a record from its opcodes and from what they stored in the memo after the dict itself. `None`
    /// if they contain anything but keys from the memo and ordinary values of these.
    fn make(&mut self, kind: RecordKind, bytes: &[u8], memo: &[u32], stored: &[u32]) -> Option<()> {
        self.steps.clear();
        self.memo.clear();
        self.before_frames = 0;
        let mut rest = bytes.strip_prefix(&[op::EMPTY_DICT, op::MEMOIZE, op::MARK])?;
        let (mut fixed, mut stored) = (bytes, stored.iter());
        let mut keys = 0;
        while let Some((length, cell)) = fetch(rest, memo) {
            rest = rest.get(length..)?;
            let key = cell.text().and_then(Key::of)?;
            if keys & key.bit() != 0 {
                return None;
            }
            keys |= key.bit();
            let (length, stores) = match gap_of(kind, key) {
                Some(gap) => {
                    self.add_steps(fixed.get(..fixed.len() - rest.len())?, Some(gap));
                    let (length, stores) = varying(gap, rest)?;
                    fixed = rest.get(length..)?;
                    (length, stores)
                }
                None if kind == RecordKind::Event => constant(key, rest, memo)?,
                None => return None,
            };
            rest = rest.get(length..)?;
            if key == Key::Frames {
                self.before_frames = self.memo.len();
                stored.by_ref().take(stores).for_each(drop);
            } else {
                self.memo.extend(stored.by_ref().take(stores));
            }
        }
        self.add_steps(fixed, None);
        let has = |key: Key| keys & key.bit() != 0;
        self.has_requested = has(Key::RequestedSize);
        // Without these keys, or with two addresses, the machine has a warning to give.
        let is_plain = match kind {
            RecordKind::Event => has(Key::Action) && has(Key::Addr) != has(Key::DeviceFree),
            _ => has(Key::State) && has(Key::Addr) != has(Key::Address),
        };
        let is_whole = stored.len() == 0 && rest == [op::SETITEMS];
        (is_plain && is_whole && has(Key::Size)).then_some(())
    }

    /// Adds required bytes.
    fn add_steps(&mut self, bytes: &[u8], gap: Option<Gap>) {
        let count = bytes.len().div_ceil(8);
        for (number, chunk) in bytes.chunks(8).enumerate() {
            let word = |bytes: &[u8]| {
                let bytes = bytes.iter().rev();
                bytes.fold(0, |word, &byte| word << 8 | u64::from(byte))
            };
            self.steps.push(Step {
                word: word(chunk),
                mask: word(&[0xff; 8][..chunk.len()]),
                length: chunk.len(),
                gap: gap.filter(|_| number + 1 == count),
            });
        }
    }
}

impl Known<'_> {
    #[inline(always)]
    fn fetch(&self, window: &[u8; WINDOW]) -> Option<(usize, Packed)> {
        let (length, index) = fetched(window)?;
        let cell = self.memo.get(index as usize)?;
        Some((length, Packed::widen(*cell)))
    }

    /// Reads a value of `frames`, and returns the length of its opcodes.
    #[inline(always)]
    fn frames(&mut self, window: &[u8; WINDOW], bytes: &[u8], fit: &mut Fit) -> Option<usize> {
        let (length, stack) = match *window {
            [op::EMPTY_LIST, op::MEMOIZE, op::MARK, ..] => {
                let (length, stack) = self.stacks.find(bytes.get(3..)?)?;
                (3 + length, stack)
            }
            [op::EMPTY_LIST, op::MEMOIZE, ..] => (2, StackId::EMPTY),
            _ => {
                let (length, list) = self.fetch(window)?;
                match *self.lists.get(list.list()? as usize)? {
                    ListCell::UsedStack(stack) => (length, stack),
                    ListCell::Empty => (length, StackId::EMPTY),
                    _ => return None,
                }
            }
        };
        fit.has_list = window[0] == op::EMPTY_LIST;
        fit.stack = stack;
        Some(length)
    }
}

fn fetch(bytes: &[u8], memo: &[u32]) -> Option<(usize, Packed)> {
    let (length, index) = fetched(&padded(bytes))?;
    Some((length, Packed::widen(*memo.get(index as usize)?)))
}

/// The next bytes, padded with zeros.
fn padded(bytes: &[u8]) -> [u8; WINDOW] {
    let mut window = [0; WINDOW];
    for (to, from) in window.iter_mut().zip(bytes) {
        *to = *from;
    }
    window
}

fn gap_of(kind: RecordKind, key: Key) -> Option<Gap> {
    Some(match (kind, key) {
        (RecordKind::Event, Key::Action) | (RecordKind::Block, Key::State) => Gap::Word,
        (RecordKind::Event, Key::Addr | Key::DeviceFree) => Gap::Number(0),
        (RecordKind::Block, Key::Addr | Key::Address) => Gap::Number(0),
        (_, Key::Size) => Gap::Number(1),
        (RecordKind::Event, Key::TimeUs) => Gap::Number(2),
        (RecordKind::Block, Key::RequestedSize) => Gap::Number(2),
        (_, Key::Frames) => Gap::Frames,
        _ => return None,
    })
}

/// The length of the opcodes in a gap, and how many values they store in the memo.
fn varying(gap: Gap, bytes: &[u8]) -> Option<(usize, usize)> {
    let window = &padded(bytes);
    match (gap, bytes) {
        (Gap::Frames, [op::EMPTY_LIST, op::MEMOIZE, op::MARK, frames @ ..]) => {
            let mut at = 0;
            while let Some((length, _)) = fetched(&padded(frames.get(at..)?)) {
                at += length;
            }
            (frames.get(at) == Some(&op::APPENDS)).then_some((3 + at + 1, 1))
        }
        (Gap::Frames, [op::EMPTY_LIST, op::MEMOIZE, ..]) => Some((2, 1)),
        (Gap::Frames | Gap::Word, _) => fetched(window).map(|(length, _)| (length, 0)),
        _ => integer(window).map(|(length, _)| (length, 0)),
    }
}

/// The length of the opcodes of a context's value, and how many values they store in the memo. `None` for values that
/// would cause a warning, and for those that could still change.
fn constant(key: Key, bytes: &[u8], memo: &[u32]) -> Option<(usize, usize)> {
    let is_text = match key {
        Key::Stream => return integer(&padded(bytes)).map(|(length, _)| (length, 0)),
        Key::PoolId => false,
        Key::CompileContext | Key::UserMetadata | Key::InternalMetadata | Key::Category => true,
        _ => return None,
    };
    match bytes {
        [op::NONE, ..] => Some((1, 0)),
        [op::SHORT_BINUNICODE, length, text @ ..] if is_text => {
            let (text, rest) = text.split_at_checked(usize::from(*length))?;
            let is_plain = std::str::from_utf8(text).is_ok() && rest.first() == Some(&op::MEMOIZE);
            is_plain.then_some((2 + text.len() + 1, 1))
        }
        [op::BINGET | op::LONG_BINGET, ..] => {
            let (length, cell) = fetch(bytes, memo)?;
            let is_same = if is_text {
                cell.text().is_some()
            } else {
                cell.is_pair()
            };
            is_same.then_some((length, 0))
        }
        _ if is_text => None,
        _ => {
            let (first, _) = integer(&padded(bytes))?;
            let (second, _) = integer(&padded(bytes.get(first..)?))?;
            let end = bytes.get(first + second..)?;
            end.starts_with(&[op::TUPLE2, op::MEMOIZE])
                .then_some((first + second + 2, 1))
        }
    }
}

#[cfg(test)]
mod tests;
