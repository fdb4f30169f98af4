//! Files that are tiny when compressed and ask a reader for all its memory: a beginning, and a pattern many times.

use std::io::{self, Write};

use super::op;
use super::raw::Raw;

/// Bytes of a bomb when unpacked: enough to make a reader hold more than 64 MiB.
const BYTES: usize = 16 << 20;

/// Bytes of a bomb of which nothing is held.
const MANY_BYTES: usize = 72 << 20;

/// The bomb that only takes time.
const NOTHING: &str = "nothing_at_all";

/// A stream that repeats itself. It never ends properly.
#[derive(Clone, Debug)]
pub struct Bomb {
    /// What is reserved, usable as a file name.
    pub name: String,
    /// Whether a record comes first, so that a reader may take the file for genuine.
    pub has_record: bool,
    before: Vec<u8>,
    again: Vec<u8>,
    times: usize,
}

impl Bomb {
    fn new(name: impl Into<String>, before: Raw, again: Raw) -> Self {
        let (name, again) = (name.into(), again.cut());
        let bytes = match &*name {
            NOTHING | "json_blank" => MANY_BYTES,
            _ => BYTES,
        };
        Self {
            name,
            has_record: false,
            before: before.cut(),
            times: bytes / again.len(),
            again,
        }
    }

    /// Writes the stream, uncompressed.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        to.write_all(&self.before)?;
        // Large pieces, because compressors are slow with small ones.
        let piece = self.again.repeat(1 + (64 << 10) / self.again.len());
        let mut left = self.times * self.again.len();
        while left > 0 {
            let length = left.min(piece.len());
            to.write_all(&piece[..length])?;
            left -= length;
        }
        Ok(())
    }
}

/// A zstd file made by hand: a beginning, and a byte 131,072 times for each 4 bytes of the file.
#[must_use]
pub fn zstd(beginning: &[u8], byte: u8, blocks: usize) -> Vec<u8> {
    let mut file = b"\x28\xb5\x2f\xfd\x00\x38".to_vec();
    let header = |bytes: usize, kind: usize| ((bytes << 3 | kind << 1) as u32).to_le_bytes();
    file.extend(&header(beginning.len(), 0)[..3]);
    file.extend(beginning);
    for _ in 0..blocks {
        file.extend(&header(128 << 10, 1)[..3]);
        file.push(byte);
    }
    file
}

/// A frame, which is the first record of genuine files, too.
fn record() -> Raw {
    Raw::new()
        .op(op::EMPTY_DICT)
        .op(op::MARK)
        .text("filename")
        .text("a.py")
        .text("line")
        .int1(1)
        .text("name")
        .text("f")
        .op(op::SETITEMS)
        .binput(0)
}

/// One bomb for each thing that a reader may hold, before the first record and after one.
#[must_use]
pub fn all() -> Vec<Bomb> {
    let mut bombs = Vec::new();
    for (name, before, again) in [values(), records()].concat() {
        for has_record in [false, true] {
            let start = Raw::proto(4);
            let (name, start) = match has_record {
                false => (name.to_owned(), start),
                true => (
                    format!("{name}_after_a_record"),
                    start.bytes(&record().cut()),
                ),
            };
            let before = start.bytes(&before.clone().cut());
            bombs.push(Bomb {
                has_record,
                ..Bomb::new(name, before, again.clone())
            });
        }
    }
    let raw = |bytes: &[u8]| Raw::new().bytes(bytes);
    for (name, before, again) in [
        ("json_lists", &b"["[..], &b"[],"[..]),
        ("json_dicts", b"{\"a\":[", b"{\"b\":0.5},"),
        ("json_text", b"{\"", b"x"),
        ("json_number", b"[1", b"0"),
        ("json_blank", b"[", b" "),
    ] {
        bombs.push(Bomb::new(name, raw(before), raw(again)));
    }
    bombs
}

/// A name, a beginning and a pattern.
type Pattern = (&'static str, Raw, Raw);

/// Values of all kinds.
fn values() -> Vec<Pattern> {
    let raw = Raw::new;
    let one = |opcode| raw().op(opcode);
    let none = || one(op::NONE);
    vec![
        ("nones", raw(), none()),
        ("duplicates", none(), one(op::DUP)),
        ("lists", raw(), one(op::EMPTY_LIST)),
        ("dicts", raw(), one(op::EMPTY_DICT)),
        ("tuples", raw(), one(op::EMPTY_TUPLE)),
        ("dropped_lists", raw(), one(op::EMPTY_LIST).op(op::POP)),
        ("memo", none(), one(op::MEMOIZE)),
        ("memo_of_integers", raw().int1(1), one(op::MEMOIZE)),
        (
            "floats",
            raw(),
            one(op::BINFLOAT).bytes(&[0x40; 8]).op(op::POP),
        ),
        (NOTHING, raw(), none().op(op::POP)),
        (
            "pairs_in_one_dict",
            one(op::EMPTY_DICT),
            none().op(op::NONE).op(op::SETITEM),
        ),
        (
            "items_in_one_list",
            one(op::EMPTY_LIST),
            none().op(op::APPEND),
        ),
        ("lists_of_one", raw(), none().op(op::TUPLE1).op(op::POP)),
        (
            "one_text",
            raw().op_u64(op::BINUNICODE8, 1 << 40),
            raw().bytes(b"x"),
        ),
    ]
}

/// Records, all of them alike.
fn records() -> Vec<Pattern> {
    let list = || Raw::new().op(op::EMPTY_LIST).op(op::MARK);
    let dict = || Raw::new().op(op::EMPTY_DICT).op(op::MARK);
    let event = dict().text("action").text("alloc").text("addr").int1(1);
    let event = event.text("size").int1(1);
    let segment = dict().text("total_size").int1(1);
    let block = dict().text("state").text("inactive");
    vec![
        ("events", list(), event.op(op::SETITEMS)),
        ("segments", list(), segment.op(op::SETITEMS)),
        ("blocks", list(), block.op(op::SETITEMS)),
    ]
}
