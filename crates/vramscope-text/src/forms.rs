//! The forms of text, one file each. Each function gets a text without white space, and returns what it found with its
//! beginning and end.

pub(crate) mod driver;
pub(crate) mod host;
pub(crate) mod logs;
pub(crate) mod tables;
pub(crate) mod torch;
pub(crate) mod vllm;
pub(crate) mod xla;

use crate::cursor::Cursor;
use crate::record::Failure;

/// A failure, with its beginning and end.
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) failure: Failure,
}

impl Found {
    /// A failure that ends at a cursor.
    fn up_to(cursor: &Cursor<'_>, start: usize, failure: Failure) -> Self {
        Self {
            start,
            end: cursor.at,
            failure,
        }
    }
}
