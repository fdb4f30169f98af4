//! The opcodes of protocol 4, and the memo through which texts, frames and stacks are shared.
//!
//! Only what is referred to again gets a memo number: trace entries, segments and blocks do not.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::decode::Key;
use crate::ids::{FrameId, StackId, StringId};
use crate::model::{Action, Frame, FxNode, LinesId, PoolId, Snapshot};

/// Items per `APPENDS`, as CPython writes them; MemoryViz.js runs out of stack on much larger ones.
pub(super) const BATCH: usize = 1000;

const BUFFER_BYTES: usize = 64 << 10;

/// A memo number, or `NONE`.
type MemoNumber = u32;
const NONE: MemoNumber = MemoNumber::MAX;

/// Words that are no keys: actions and states.
const WORDS: usize = 24;

pub(super) struct Pickler<'s, W: Write> {
    snapshot: &'s Snapshot,
    out: BufWriter<W>,
    next: MemoNumber,
    keys: [MemoNumber; 64],
    words: Vec<(&'static str, MemoNumber)>,
    texts: Vec<MemoNumber>,
    frames: Vec<MemoNumber>,
    stacks: Vec<MemoNumber>,
    forward: Vec<MemoNumber>,
}

impl<'s, W: Write> Pickler<'s, W> {
    pub(super) fn new(snapshot: &'s Snapshot, out: W) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        out.write_all(&[0x80, 4])?;
        Ok(Self {
            snapshot,
            out,
            next: 0,
            keys: [NONE; 64],
            words: Vec::with_capacity(WORDS),
            texts: vec![NONE; snapshot.strings.len()],
            frames: vec![NONE; snapshot.frames.len()],
            stacks: vec![NONE; snapshot.stacks.len()],
            forward: Vec::new(),
        })
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b".")?;
        self.out.flush()
    }

    pub(super) fn mark(&mut self) -> io::Result<()> {
        self.out.write_all(b"(")
    }

    pub(super) fn empty_list(&mut self) -> io::Result<()> {
        self.out.write_all(b"]")
    }

    /// Ends a batch of a list.
    pub(super) fn appends(&mut self) -> io::Result<()> {
        self.out.write_all(b"e")
    }

    pub(super) fn open_dict(&mut self) -> io::Result<()> {
        self.out.write_all(b"}(")
    }

    pub(super) fn close_dict(&mut self) -> io::Result<()> {
        self.out.write_all(b"u")
    }

    /// Gives the value just written the next memo number.
    fn memoize(&mut self) -> io::Result<MemoNumber> {
        let number = self.next;
        self.next += 1;
        self.out.write_all(&[0x94])?;
        Ok(number)
    }

    /// Writes a memoised value again.
    fn get(&mut self, number: MemoNumber) -> io::Result<()> {
        match u8::try_from(number) {
            Ok(number) => self.out.write_all(&[b'h', number]),
            Err(_) => {
                self.out.write_all(b"j")?;
                self.out.write_all(&number.to_le_bytes())
            }
        }
    }

    pub(super) fn key(&mut self, key: Key) -> io::Result<()> {
        let index = key as usize;
        match self.keys.get(index).copied() {
            Some(number) if number != NONE => self.get(number),
            _ => {
                let number = self.new_text(key.text())?;
                if let Some(slot) = self.keys.get_mut(index) {
                    *slot = number;
                }
                Ok(())
            }
        }
    }

    pub(super) fn action(&mut self, action: Action) -> io::Result<()> {
        self.word(action.name().unwrap_or_default())
    }

    /// One of the format's own words.
    pub(super) fn word(&mut self, word: &'static str) -> io::Result<()> {
        match self.words.iter().find(|(known, _)| *known == word) {
            Some(&(_, number)) => self.get(number),
            None => {
                let number = self.new_text(word)?;
                self.words.push((word, number));
                Ok(())
            }
        }
    }

    /// One of the snapshot's texts.
    pub(super) fn text(&mut self, id: StringId) -> io::Result<()> {
        match self.texts.get(id.index()).copied() {
            Some(number) if number != NONE => self.get(number),
            _ => {
                let number = self.new_text(self.snapshot.strings.get(id))?;
                if let Some(slot) = self.texts.get_mut(id.index()) {
                    *slot = number;
                }
                Ok(())
            }
        }
    }

    fn new_text(&mut self, text: &str) -> io::Result<MemoNumber> {
        let length = text.len();
        if let Ok(length) = u8::try_from(length) {
            self.out.write_all(&[0x8c, length])?;
        } else if let Ok(length) = u32::try_from(length) {
            self.out.write_all(b"X")?;
            self.out.write_all(&length.to_le_bytes())?;
        } else {
            self.out.write_all(&[0x8d])?;
            self.out.write_all(&(length as u64).to_le_bytes())?;
        }
        self.out.write_all(text.as_bytes())?;
        self.memoize()
    }

    pub(super) fn optional_text(&mut self, key: Key, id: Option<StringId>) -> io::Result<()> {
        let Some(id) = id else { return Ok(()) };
        self.key(key)?;
        self.text(id)
    }

    pub(super) fn signed(&mut self, key: Key, value: i64) -> io::Result<()> {
        self.key(key)?;
        self.integer(value)
    }

    /// An address or size. From 2^63 up it is written as the negative number of the same bits, as
    /// torch did up to 2.3 and its C++ producer does: some readers can't take integers of 9 bytes.
    pub(super) fn unsigned(&mut self, key: Key, value: u64) -> io::Result<()> {
        self.signed(key, value as i64)
    }

    pub(super) fn optional_unsigned(&mut self, key: Key, value: Option<u64>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.unsigned(key, value))
    }

    fn integer(&mut self, value: i64) -> io::Result<()> {
        if let Ok(value) = u8::try_from(value) {
            self.out.write_all(&[b'K', value])
        } else if let Ok(value) = u16::try_from(value) {
            let [low, high] = value.to_le_bytes();
            self.out.write_all(&[b'M', low, high])
        } else if let Ok(value) = i32::try_from(value) {
            self.out.write_all(b"J")?;
            self.out.write_all(&value.to_le_bytes())
        } else {
            // The fewest bytes that keep the sign bit.
            let spare_bits = if value < 0 {
                value.leading_ones()
            } else {
                value.leading_zeros()
            } - 1;
            let length = 8 - (spare_bits / 8) as usize;
            let bytes = value.to_le_bytes();
            self.out.write_all(&[0x8a, length as u8])?;
            self.out.write_all(bytes.get(..length).unwrap_or(&bytes))
        }
    }

    pub(super) fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.out.write_all(&[if value { 0x88 } else { 0x89 }])
    }

    pub(super) fn optional_pool(&mut self, key: Key, pool: Option<PoolId>) -> io::Result<()> {
        let Some(PoolId(first, second)) = pool else {
            return Ok(());
        };
        self.key(key)?;
        self.integer(first as i64)?;
        self.integer(second as i64)?;
        self.out.write_all(&[0x86])
    }

    /// The key `frames` with a stack, unless the stack is absent.
    pub(super) fn frames(&mut self, id: StackId) -> io::Result<()> {
        if id == StackId::ABSENT {
            return Ok(());
        }
        self.key(Key::Frames)?;
        match self.stacks.get(id.index()).copied() {
            Some(number) if number != NONE => return self.get(number),
            _ => {}
        }
        self.empty_list()?;
        let number = self.memoize()?;
        if let Some(slot) = self.stacks.get_mut(id.index()) {
            *slot = number;
        }
        let mut frames = self.snapshot.stacks.frames(id);
        self.batches(&mut frames, Self::frame)
    }

    /// `forward_frames`, if there are any.
    pub(super) fn optional_lines(&mut self, lines: Option<LinesId>) -> io::Result<()> {
        match lines {
            Some(lines) => {
                self.key(Key::ForwardFrames)?;
                self.forward_lines(lines)
            }
            None => Ok(()),
        }
    }

    /// The preformatted lines of a forward stack.
    fn forward_lines(&mut self, lines: LinesId) -> io::Result<()> {
        let index = lines.index();
        match self.forward.get(index).copied() {
            Some(number) if number != NONE => return self.get(number),
            Some(_) => {}
            None => self.forward.resize(index + 1, NONE),
        }
        self.empty_list()?;
        let number = self.memoize()?;
        if let Some(slot) = self.forward.get_mut(index) {
            *slot = number;
        }
        let mut lines = self.snapshot.contexts.forward_lines(Some(lines));
        self.batches(&mut lines, Self::text)
    }

    /// Items of the list just opened.
    fn batches<T>(
        &mut self,
        items: &mut dyn ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> io::Result<()>,
    ) -> io::Result<()> {
        while items.len() > 0 {
            self.mark()?;
            for item in items.take(BATCH) {
                write(self, item)?;
            }
            self.appends()?;
        }
        Ok(())
    }

    fn frame(&mut self, id: FrameId) -> io::Result<()> {
        match self.frames.get(id.index()).copied() {
            Some(number) if number != NONE => return self.get(number),
            _ => {}
        }
        self.out.write_all(b"}")?;
        let number = self.memoize()?;
        if let Some(slot) = self.frames.get_mut(id.index()) {
            *slot = number;
        }
        let &Frame {
            name,
            filename,
            line,
            fx,
        } = self.snapshot.frames.get(id);
        self.mark()?;
        self.key(Key::Name)?;
        self.text(name)?;
        self.key(Key::Filename)?;
        self.text(filename)?;
        self.signed(Key::Line, i64::from(line))?;
        if let Some(FxNode {
            op,
            name,
            target,
            original_trace,
        }) = fx
        {
            for (key, text) in [
                (Key::FxNodeOp, op),
                (Key::FxNodeName, name),
                (Key::FxNodeTarget, target),
                (Key::FxOriginalTrace, original_trace),
            ] {
                self.optional_text(key, (text != StringId(0)).then_some(text))?;
            }
        }
        self.close_dict()
    }

    /// Any small value, through serde-pickle, which shares nothing and so needs no memo.
    pub(super) fn generic(&mut self, value: &impl Serialize) -> io::Result<()> {
        let pickle = serde_pickle::to_vec(value, serde_pickle::SerOptions::new())
            .map_err(io::Error::other)?;
        // Without the PROTO and the STOP around it.
        let body = pickle
            .strip_prefix(&[0x80, 3])
            .and_then(|rest| rest.strip_suffix(b"."));
        let body =
            body.ok_or_else(|| io::Error::other("serde-pickle writes another frame than it did"))?;
        self.out.write_all(body)
    }
}
