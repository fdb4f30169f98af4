//! Messages as bytes, in postcard's format: every value in the order of its type, without names.
//!
//! The page and its workers are built together, so each knows what comes next. Types that say themselves what they hold,
//! such as JSON's values, are left out of the protocol.

mod harmless;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use harmless::Harmless;

/// A message to a worker.
pub fn to_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_allocvec(message).unwrap_or_else(not_plain)
}

/// A message to the page, in whose texts invisible characters stand as escapes: all texts of files come to the page in
/// replies.
pub fn reply_bytes<T: Serialize>(message: &T) -> Vec<u8> {
    to_bytes(&Harmless(message))
}

/// Only types whose length is not known before they are written cannot be written; the tests write each.
fn not_plain(error: postcard::Error) -> Vec<u8> {
    unreachable!("a message is plain data: {error}")
}

/// A message from bytes.
///
/// # Errors
/// If they are no such message, which only happens if page and worker are of different versions.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) | Err(_) => Err(Unreadable),
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
