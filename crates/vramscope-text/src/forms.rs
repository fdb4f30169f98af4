//! The forms of text: a file each. Each function gets a text without white space, and gives what it found with where
//! that begins and ends in it.

pub(crate) mod driver;
pub(crate) mod host;
pub(crate) mod logs;
pub(crate) mod tables;
pub(crate) mod torch;
pub(crate) mod vllm;
pub(crate) mod xla;

use crate::cursor::Cursor;
use crate::record::Failure;

/// A failure, and from where to where it stands.
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) failure: Failure,
}

impl Found {
    /// One that ends where a cursor stands.
    fn up_to(cursor: &Cursor<'_>, start: usize, failure: Failure) -> Self {
        Self {
            start,
            end: cursor.at,
            failure,
        }
    }
}
