//! A [`Snapshot`] back into bytes that torch's own tools read.
//!
//! What is written is what torch writes (FORMAT.md 1 and 2.1): keys in torch's order, and none that the
//! decoded file did not have; as pickle protocol 4, with key texts, frames and stacks shared through the memo, or as
//! the JSON that Python's `json.dump` makes of that pickle. Decoding the result gives the same snapshot again;
//! [`difference`] says so.
//!
//! `walk` says what a snapshot consists of, once for all encodings; a `sink` writes it down.
//!
//! Left out: rows that no trace and no list of segments refers to, values of unknown keys below the
//! top level (the decoder does not keep them), and `FRAME`s, which no reader needs. Bytes that were no valid
//! UTF-8, lone surrogates included, have been U+FFFD since they were decoded.

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
/// It is written as it goes, with 64 KiB of buffer and four bytes for each distinct text, frame and
/// stack.
///
/// # Errors
/// Those of `out`.
pub fn encode(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    walk::write(snapshot, pickle::Pickler::new(snapshot, out)?)
}

/// Writes `snapshot` as JSON, with 64 KiB of buffer: lists for tuples, integers exact, text beyond ASCII as it
/// is. A stack is written wherever it is used, so that it takes many times a pickle's bytes.
///
/// # Errors
/// Those of `out`.
pub fn encode_json(snapshot: &Snapshot, out: impl Write) -> io::Result<()> {
    walk::write(snapshot, json::JsonWriter::new(snapshot, out))
}
