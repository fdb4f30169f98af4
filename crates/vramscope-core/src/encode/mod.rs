//! Encodes a [`Snapshot`] as bytes that torch's own tools read.
//!
//! The output follows torch (FORMAT.md 1 and 2.1): keys are in torch's order, and only those that the decoded file had; for
//! a damaged file also `damage` (FORMAT.md 1.13). It is a pickle of protocol 4, with keys, frames and stacks shared through
//! the memo, or the JSON that Python's `json.dump` makes of that pickle. Decoding the output gives the same snapshot;
//! [`difference()`] checks that.
//!
//! `walk` visits the parts of a snapshot, the same for all encodings, and a `sink` writes them.
//!
//! Left out: rows that belong to no trace and no list of segments, values of unknown keys below the
//! top level (the decoder does not keep them), and `FRAME`s, which no reader needs. Bytes that were not valid
//! UTF-8, lone surrogates included, became U+FFFD when they were decoded.

mod difference;
mod json;
mod pickle;
mod sink;
mod walk;

use std::io::{self, Write};

pub use difference::difference;

use crate::model::Snapshot;

const BUFFER_BYTES: usize = 64 << 10;

/// Writes `snapshot` as a pickle.
///
/// It streams, with a buffer of 64 KiB and four bytes for each distinct text, frame and stack.
///
/// # Errors
/// Those of `out`.
pub fn encode(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    walk::write(snapshot, pickle::Pickler::new(snapshot, out)?)
}

/// Writes `snapshot` as JSON, with a buffer of 64 KiB. Tuples become lists, integers are exact, text is UTF-8. A stack is
/// written out at every use, so the result is many times as large as a pickle.
///
/// # Errors
/// Those of `out`.
pub fn encode_json(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    walk::write(snapshot, json::JsonWriter::new(snapshot, out))
}
