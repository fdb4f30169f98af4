//! Writes pickle opcodes of protocol 4, and shares texts, frames and stacks through the memo.
//!
//! Only values that are referred to again are memoised; trace entries, segments and blocks are not.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::BUFFER_BYTES;
use super::sink::{Shared, Sink};
use crate::decode::Key;
use crate::decode::opcode as op;
use crate::ids::StringId;
use crate::model::Snapshot;

/// Items per `APPENDS`, as in CPython. MemoryViz.js overflows its stack on much larger batches.
const BATCH: usize = 1000;

/// A memo number, or `NONE`.
type MemoNumber = u32;
const NONE: MemoNumber = MemoNumber::MAX;

/// Number of words that are not keys: actions and states.
const WORDS: usize = 24;

pub(super) struct Pickler<'s, W: Write> {
    snapshot: &'s Snapshot,
    out: BufWriter<W>,
    next: MemoNumber,
    /// The number of items in each open list.
    items: Vec<usize>,
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
        out.write_all(&[op::PROTO, 4])?;
        Ok(Self {
            snapshot,
            out,
            next: 0,
            items: Vec::new(),
            keys: [NONE; 64],
            words: Vec::with_capacity(WORDS),
            texts: vec![NONE; snapshot.strings.len()],
            frames: vec![NONE; snapshot.frames.len()],
            stacks: vec![NONE; snapshot.stacks.len()],
            forward: Vec::new(),
        })
    }

    /// Memoises the value just written, and returns its number.
    fn memoize(&mut self) -> io::Result<MemoNumber> {
        let number = self.next;
        self.next += 1;
        self.out.write_all(&[op::MEMOIZE])?;
        Ok(number)
    }

    /// Writes a memoised value again.
    fn get(&mut self, number: MemoNumber) -> io::Result<()> {
        match u8::try_from(number) {
            Ok(number) => self.out.write_all(&[op::BINGET, number]),
            Err(_) => {
                self.out.write_all(&[op::LONG_BINGET])?;
                self.out.write_all(&number.to_le_bytes())
            }
        }
    }

    /// The memo numbers of a kind of shared value, and the index of this value.
    fn shared(&mut self, what: Shared) -> (&mut Vec<MemoNumber>, usize) {
        match what {
            Shared::Frame(id) => (&mut self.frames, id.index()),
            Shared::Stack(id) => (&mut self.stacks, id.index()),
            Shared::Lines(id) => (&mut self.forward, id.index()),
        }
    }

    fn new_text(&mut self, text: &str) -> io::Result<MemoNumber> {
        let length = text.len();
        if let Ok(length) = u8::try_from(length) {
            self.out.write_all(&[op::SHORT_BINUNICODE, length])?;
        } else if let Ok(length) = u32::try_from(length) {
            self.out.write_all(&[op::BINUNICODE])?;
            self.out.write_all(&length.to_le_bytes())?;
        } else {
            self.out.write_all(&[op::BINUNICODE8])?;
            self.out.write_all(&(length as u64).to_le_bytes())?;
        }
        self.out.write_all(text.as_bytes())?;
        self.memoize()
    }
}

impl<W: Write> Sink for Pickler<'_, W> {
    fn open_dict(&mut self) -> io::Result<()> {
        self.out.write_all(&[op::EMPTY_DICT, op::MARK])
    }

    fn close_dict(&mut self) -> io::Result<()> {
        self.out.write_all(&[op::SETITEMS])
    }

    fn open_list(&mut self) -> io::Result<()> {
        self.items.push(0);
        self.out.write_all(&[op::EMPTY_LIST])
    }

    fn item(&mut self) -> io::Result<()> {
        let Some(items) = self.items.last_mut() else {
            return Ok(());
        };
        let opcodes: &[u8] = match *items {
            0 => &[op::MARK],
            items if items % BATCH == 0 => &[op::APPENDS, op::MARK],
            _ => &[],
        };
        *items += 1;
        self.out.write_all(opcodes)
    }

    fn close_list(&mut self) -> io::Result<()> {
        match self.items.pop() {
            None | Some(0) => Ok(()),
            Some(_) => self.out.write_all(&[op::APPENDS]),
        }
    }

    fn open_shared(&mut self, what: Shared) -> io::Result<bool> {
        let (numbers, row) = self.shared(what);
        match numbers.get(row).copied() {
            Some(NONE) => {}
            Some(number) => return self.get(number).map(|()| false),
            None => numbers.resize(row + 1, NONE),
        }
        let is_dict = matches!(what, Shared::Frame(_));
        let opcode = if is_dict {
            op::EMPTY_DICT
        } else {
            op::EMPTY_LIST
        };
        self.out.write_all(&[opcode])?;
        let number = self.memoize()?;
        let (numbers, row) = self.shared(what);
        numbers[row] = number;
        if is_dict {
            self.out.write_all(&[op::MARK])?;
        } else {
            self.items.push(0);
        }
        Ok(true)
    }

    fn key(&mut self, key: Key) -> io::Result<()> {
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

    fn other_key(&mut self, key: &str) -> io::Result<()> {
        self.generic(&key)
    }

    fn word(&mut self, word: &'static str) -> io::Result<()> {
        match self.words.iter().find(|(known, _)| *known == word) {
            Some(&(_, number)) => self.get(number),
            None => {
                let number = self.new_text(word)?;
                self.words.push((word, number));
                Ok(())
            }
        }
    }

    fn text(&mut self, id: StringId) -> io::Result<()> {
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

    fn integer(&mut self, value: i64) -> io::Result<()> {
        if let Ok(value) = u8::try_from(value) {
            self.out.write_all(&[op::BININT1, value])
        } else if let Ok(value) = u16::try_from(value) {
            let [low, high] = value.to_le_bytes();
            self.out.write_all(&[op::BININT2, low, high])
        } else if let Ok(value) = i32::try_from(value) {
            self.out.write_all(&[op::BININT])?;
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
            self.out.write_all(&[op::LONG1, length as u8])?;
            self.out.write_all(bytes.get(..length).unwrap_or(&bytes))
        }
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.out
            .write_all(&[if value { op::NEWTRUE } else { op::NEWFALSE }])
    }

    fn pair(&mut self, first: i64, second: i64) -> io::Result<()> {
        self.integer(first)?;
        self.integer(second)?;
        self.out.write_all(&[op::TUPLE2])
    }

    /// Uses serde-pickle, which shares nothing and so needs no memo.
    fn generic(&mut self, value: &impl Serialize) -> io::Result<()> {
        let pickle = serde_pickle::to_vec(value, serde_pickle::SerOptions::new())
            .map_err(io::Error::other)?;
        // Strip the PROTO and STOP around it.
        let body = pickle
            .strip_prefix(&[op::PROTO, 3])
            .and_then(|rest| rest.strip_suffix(&[op::STOP]));
        let body =
            body.ok_or_else(|| io::Error::other("serde-pickle writes another frame than it did"))?;
        self.out.write_all(body)
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&[op::STOP])?;
        self.out.flush()
    }
}
