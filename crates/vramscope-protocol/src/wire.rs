//! Messages as bytes: every value in the order of its type, without names.
//!
//! Page and worker are the same module, so both know what comes next. Reading never stops half-way: what is not there
//! is read as zeros, and said at the end. So the code for each type has no way out but its end, and stays small.
//!
//! Numbers are of fixed width, lowest byte first. A list, map or text begins with its length, an `Option` with a byte,
//! an enum with the number of its variant (`u32`). All texts of files come to the page in replies: here they are made
//! harmless. Left out: types that say themselves what they hold, such as JSON's values.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Serialize, de, ser};

use read::Reader;
use write::Writer;

/// A message to a worker.
pub fn to_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    Writer::plain().written(message)
}

/// A message to the page, in whose texts invisible characters stand as escapes.
pub fn reply_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    Writer::harmless().written(message)
}

/// A message from bytes.
///
/// # Errors
/// If they are no such message, which only happens if page and worker are of different versions.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let mut reader = Reader::new(bytes);
    let Ok(message) = T::deserialize(&mut reader);
    if reader.is_at_end() {
        Ok(message)
    } else {
        Err(Unreadable)
    }
}

/// The error of bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message that cannot be read")
    }
}

/// The error that neither writing nor reading has.
#[derive(Debug)]
enum Never {}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

/// What a type of the protocol that finds faults itself would call. None does: each is a plain record or enum.
fn not_plain() -> ! {
    unreachable!("types of the protocol are plain data")
}

impl ser::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Self {
        not_plain()
    }
}

impl de::Error for Never {
    fn custom<T: fmt::Display>(_: T) -> Self {
        not_plain()
    }
}
