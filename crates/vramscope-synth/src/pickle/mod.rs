//! A streaming pickle writer that produces, byte for byte, what the two producers of snapshots
//! write: CPython's C `_pickle` (protocols 0 to 5) and torch's C++ `jit::Pickler` (protocol 2).
//!
//! The difference between the two that matters to a decoder is *sharing*. Python memoizes every
//! string and container, before its contents, by object identity; the C++ pickler memoizes strings
//! by value, and only those containers that something else holds too, after their contents. A
//! caller gives values that are one object the same [`ShareId`]; a value without
//! it is a fresh object.
//!
//! Only the memo table is kept, so a file of any size needs little memory.
//!
//! - [`Pickler`]: the writer
//! - [`value`]: a tree of Python values, for tests that need no snapshot
//! - [`raw`]: opcodes one by one, for streams that no genuine producer writes
//! - [`hostile`]: a list of such streams
//! - [`bombs`]: streams that are tiny when compressed

mod batch;
pub mod bombs;
mod encoding;
pub mod hostile;
pub mod op;
mod output;
pub mod raw;
pub mod value;

use std::collections::HashMap;
use std::io::{self, Write};

use batch::Batches;
pub use batch::OpenList;
use encoding::{is_interned_by_python, minimal_length, python_repr, raw_unicode_escape};
pub use output::FRAME_TARGET_BYTES;
use output::Output;

/// A memo number for values that are not in the memo.
const ABSENT: u32 = u32::MAX;

/// The pickler to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// CPython's C `_pickle` at a protocol from 0 to 5 (higher counts as 5).
    Python(u8),
    /// torch's `jit::Pickler`: protocol 2, no frames, whole lists in one batch.
    Cpp,
}

impl Dialect {
    /// The protocol whose opcodes the dialect uses.
    #[must_use]
    pub fn protocol(self) -> u8 {
        match self {
            Self::Python(protocol) => protocol.min(5),
            Self::Cpp => 2,
        }
    }
}

/// The identity of a Python object that may occur several times.
///
/// `index` counts from 0 within its `space` and should be dense: the memo is one table per space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShareId {
    /// The kind of object, such as string, frame or stack: numbers are counted per space. Below 8.
    pub space: u8,
    /// The object's number within its space.
    pub index: u32,
}

impl ShareId {
    /// The identity of object `index` in `space`.
    #[must_use]
    pub const fn new(space: u8, index: u32) -> Self {
        Self { space, index }
    }
}

/// Writes one pickle. Values are emitted in order; containers take a closure per item.
#[derive(Debug)]
pub struct Pickler<W> {
    out: Output<W>,
    dialect: Dialect,
    protocol: u8,
    memo_len: u32,
    memo: [Vec<u32>; 8],
    /// Python: the empty string and one-character strings, which CPython interns. C++: every
    /// string, since it memoizes by value.
    interned: HashMap<Box<str>, u32>,
}

impl<W: Write> Pickler<W> {
    /// Begins a pickle: writes the protocol header.
    pub fn new(out: W, dialect: Dialect) -> Self {
        let protocol = dialect.protocol();
        let mut out = Output::new(out);
        if protocol >= 2 {
            out.put(&[op::PROTO, protocol]);
        }
        if protocol >= 4 {
            out.start_framing();
        }
        let memo = Default::default();
        Self {
            out,
            dialect,
            protocol,
            memo_len: 0,
            memo,
            interned: HashMap::new(),
        }
    }

    /// Ends the pickle and returns the sink.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.put(&[op::STOP]);
        self.out.finish()
    }

    /// The number of objects in the memo.
    #[must_use]
    pub fn memo_len(&self) -> u32 {
        self.memo_len
    }

    fn is_cpp(&self) -> bool {
        self.dialect == Dialect::Cpp
    }

    /// Writes `None`.
    ///
    /// # Errors
    /// When the sink refuses bytes. This holds for every writing method below.
    pub fn none(&mut self) -> io::Result<()> {
        self.out.boundary()?;
        self.out.put(&[op::NONE]);
        Ok(())
    }

    /// Writes a bool.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn bool(&mut self, value: bool) -> io::Result<()> {
        self.out.boundary()?;
        self.out.put(match (self.protocol >= 2, value) {
            (true, true) => &[op::NEWTRUE],
            (true, false) => &[op::NEWFALSE],
            (false, true) => b"I01\n",
            (false, false) => b"I00\n",
        });
        Ok(())
    }

    /// Writes an int in the dialect's shortest form.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    #[inline]
    pub fn int(&mut self, value: i128) -> io::Result<()> {
        self.out.boundary()?;
        if self.protocol == 0 {
            self.text_int(value);
        } else if let Ok(small) = u8::try_from(value) {
            self.out.put(&[op::BININT1, small]);
        } else if let Ok(small) = u16::try_from(value) {
            let [a, b] = small.to_le_bytes();
            self.out.put(&[op::BININT2, a, b]);
        } else if let Ok(word) = i32::try_from(value) {
            let [a, b, c, d] = word.to_le_bytes();
            self.out.put(&[op::BININT, a, b, c, d]);
        } else if self.protocol == 1 {
            self.text_int(value);
        } else {
            self.long1(value);
        }
        Ok(())
    }

    fn text_int(&mut self, value: i128) {
        let text = match i32::try_from(value) {
            Ok(word) => format!("I{word}\n"),
            Err(_wide) => format!("L{value}L\n"),
        };
        self.out.put(text.as_bytes());
    }

    /// LONG1: minimal two's complement in Python, always eight bytes in C++.
    fn long1(&mut self, value: i128) {
        let bytes = value.to_le_bytes();
        let length = if self.is_cpp() {
            8
        } else {
            minimal_length(value)
        };
        let mut encoded = [0; 18];
        encoded[0] = op::LONG1;
        encoded[1] = length as u8;
        encoded[2..2 + length].copy_from_slice(&bytes[..length]);
        self.out.put(&encoded[..2 + length]);
    }

    /// Writes a float.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn float(&mut self, value: f64) -> io::Result<()> {
        self.out.boundary()?;
        if self.protocol == 0 {
            self.out
                .put(format!("F{}\n", python_repr(value)).as_bytes());
        } else {
            let mut encoded = [op::BINFLOAT; 9];
            encoded[1..].copy_from_slice(&value.to_be_bytes());
            self.out.put(&encoded);
        }
        Ok(())
    }

    /// Writes a string that is an object of its own. The C++ dialect shares it by value all the same.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn str(&mut self, text: &str) -> io::Result<()> {
        self.out.boundary()?;
        let by_value = self.is_cpp() || is_interned_by_python(text);
        if by_value && let Some(&index) = self.interned.get(text) {
            self.get(index);
            return Ok(());
        }
        self.string_body(text);
        let index = self.put_memo();
        if by_value {
            self.interned.insert(text.into(), index);
        }
        Ok(())
    }

    /// Writes a string that is the same object wherever `id` is given.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    #[inline]
    pub fn shared_str(&mut self, id: ShareId, text: &str) -> io::Result<()> {
        if self.recall(id)? {
            return Ok(());
        }
        if self.is_cpp() {
            self.str(text)?;
            // By value: another id may have written the same text before.
            if let Some(&index) = self.interned.get(text) {
                self.remember(id, index);
            }
            return Ok(());
        }
        self.string_body(text);
        let index = self.put_memo();
        self.remember(id, index);
        Ok(())
    }

    fn string_body(&mut self, text: &str) {
        let bytes = text.as_bytes();
        if self.protocol == 0 {
            self.out.put(&[op::UNICODE]);
            self.out.put(&raw_unicode_escape(text));
            self.out.put(b"\n");
        } else if self.protocol >= 4 && bytes.len() < 256 {
            self.out.put(&[op::SHORT_BINUNICODE, bytes.len() as u8]);
            self.out.put(bytes);
        } else {
            let [a, b, c, d] = (bytes.len() as u32).to_le_bytes();
            self.out.put_payload(&[op::BINUNICODE, a, b, c, d], bytes);
        }
    }

    /// Writes a list; `item` is called once per element and must write exactly one value.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn list<I, F>(&mut self, share: Option<ShareId>, items: I, mut item: F) -> io::Result<()>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
        F: FnMut(&mut Self, I::Item) -> io::Result<()>,
    {
        let items = items.into_iter();
        let Some(mut list) = self.begin_list(share, items.len())? else {
            return Ok(());
        };
        for element in items {
            self.next_item(&mut list);
            item(self, element)?;
        }
        self.end_list(&list)
    }

    /// Begins a list of `length` items that are written one after another by the caller: for
    /// generators that push. `None` when the list was written before, and a reference is written instead.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn begin_list(
        &mut self,
        share: Option<ShareId>,
        length: usize,
    ) -> io::Result<Option<OpenList>> {
        if self.open(share, op::EMPTY_LIST, b"(l")? {
            return Ok(None);
        }
        let batches = Batches::new(self, length, [op::APPEND, op::APPENDS], false);
        Ok(Some(OpenList {
            batches,
            share,
            written: 0,
        }))
    }

    /// Announces the next item of an open list. To be called before each item.
    #[inline]
    pub fn next_item(&mut self, list: &mut OpenList) {
        if list.written > 0 {
            list.batches.after(self);
        }
        list.batches.before(self, list.written);
        list.written += 1;
    }

    /// Ends an open list.
    ///
    /// # Errors
    /// When fewer or more items were written than announced.
    pub fn end_list(&mut self, list: &OpenList) -> io::Result<()> {
        if list.written != list.batches.length {
            let message = format!("{} items for {}", list.written, list.batches.length);
            return Err(io::Error::other(message));
        }
        if list.written > 0 {
            list.batches.after(self);
        }
        list.batches.end(self);
        self.close(list.share);
        Ok(())
    }

    /// Writes a dict; `entry` is called once per item and must write a key and a value.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn dict<I, F>(&mut self, share: Option<ShareId>, items: I, mut entry: F) -> io::Result<()>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
        F: FnMut(&mut Self, I::Item) -> io::Result<()>,
    {
        if self.open(share, op::EMPTY_DICT, b"(d")? {
            return Ok(());
        }
        let items = items.into_iter();
        let batches = Batches::new(self, items.len(), [op::SETITEM, op::SETITEMS], true);
        for (index, element) in items.enumerate() {
            batches.before(self, index);
            entry(self, element)?;
            batches.after(self);
        }
        batches.end(self);
        self.close(share);
        Ok(())
    }

    /// Writes a tuple; `item` is called once per element and must write exactly one value.
    ///
    /// # Errors
    /// See [`Pickler::none`].
    pub fn tuple<I, F>(&mut self, share: Option<ShareId>, items: I, mut item: F) -> io::Result<()>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
        F: FnMut(&mut Self, I::Item) -> io::Result<()>,
    {
        if let Some(id) = share
            && self.recall(id)?
        {
            return Ok(());
        }
        self.out.boundary()?;
        let items = items.into_iter();
        let length = items.len();
        if length == 0 {
            self.out.put(if self.protocol == 0 {
                b"(t"
            } else {
                &[op::EMPTY_TUPLE]
            });
            return Ok(());
        }
        let counted = self.protocol >= 2 && length <= 3;
        if !counted {
            self.out.put(&[op::MARK]);
        }
        for element in items {
            item(self, element)?;
        }
        let close = [op::TUPLE, op::TUPLE1, op::TUPLE2, op::TUPLE3];
        self.out.put(&[close[if counted { length } else { 0 }]]);
        if !self.is_cpp() {
            let index = self.put_memo();
            if let Some(id) = share {
                self.remember(id, index);
            }
        }
        Ok(())
    }

    /// Begins a container; true when it was written before, and a reference is written instead.
    #[inline]
    fn open(&mut self, share: Option<ShareId>, empty: u8, text: &[u8]) -> io::Result<bool> {
        match share {
            Some(id) if self.recall(id)? => return Ok(true),
            Some(_) => {}
            None => self.out.boundary()?,
        }
        if self.protocol == 0 {
            self.out.put(text);
        } else {
            self.out.put(&[empty]);
        }
        if !self.is_cpp() {
            let index = self.put_memo();
            if let Some(id) = share {
                self.remember(id, index);
            }
        }
        Ok(false)
    }

    /// Ends a container: the C++ pickler memoizes here, and only what is shared.
    #[inline]
    fn close(&mut self, share: Option<ShareId>) {
        if self.is_cpp()
            && let Some(id) = share
        {
            let index = self.put_memo();
            self.remember(id, index);
        }
    }

    /// Begins a value that may be in the memo; true when a reference to it was written.
    #[inline]
    fn recall(&mut self, id: ShareId) -> io::Result<bool> {
        self.out.boundary()?;
        let table = &self.memo[usize::from(id.space & 7)];
        match table.get(id.index as usize) {
            Some(&index) if index != ABSENT => {
                self.get(index);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn remember(&mut self, id: ShareId, index: u32) {
        let table = &mut self.memo[usize::from(id.space & 7)];
        let slot = id.index as usize;
        if table.len() <= slot {
            table.resize(slot + 1, ABSENT);
        }
        table[slot] = index;
    }

    #[inline]
    fn get(&mut self, index: u32) {
        if self.protocol == 0 {
            self.out.put(format!("g{index}\n").as_bytes());
        } else if let Ok(short) = u8::try_from(index) {
            self.out.put(&[op::BINGET, short]);
        } else {
            let [a, b, c, d] = index.to_le_bytes();
            self.out.put(&[op::LONG_BINGET, a, b, c, d]);
        }
    }

    /// Memoizes the value just written and returns its number.
    #[inline]
    fn put_memo(&mut self) -> u32 {
        let index = self.memo_len;
        self.memo_len += 1;
        if self.protocol >= 4 {
            self.out.put(&[op::MEMOIZE]);
        } else if self.protocol == 0 {
            self.out.put(format!("p{index}\n").as_bytes());
        } else if let Ok(short) = u8::try_from(index) {
            self.out.put(&[op::BINPUT, short]);
        } else {
            let [a, b, c, d] = index.to_le_bytes();
            self.out.put(&[op::LONG_BINPUT, a, b, c, d]);
        }
        index
    }
}

#[cfg(test)]
pub(crate) mod tests;
