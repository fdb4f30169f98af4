//! A raw log's bytes into records, whatever state its program left it in.
//!
//! The bytes are those of a file, or of a file's beginning, and may still be written to: what a thread has reserved
//! and not filled yet is unfinished. In the log of a running program the first such record ends the records for now
//! ([`Records::while_running`]); in that of a program that is gone it never will be finished, and is skipped and
//! counted as [`Damage`].

mod header;
mod records;

pub use header::{Header, LogError, LogErrorKind};
pub use records::{Addresses, Damage, DamageKind, Program, Record, Records};

/// The log of one process.
#[derive(Clone, Copy, Debug)]
pub struct Log<'a> {
    bytes: &'a [u8],
    header: Header,
}

impl<'a> Log<'a> {
    /// Looks at a log that begins with these bytes.
    ///
    /// # Errors
    /// If that is no log, or one of another version.
    pub fn open(bytes: &'a [u8]) -> Result<Self, LogError> {
        let header = Header::of(bytes)?;
        Ok(Self { bytes, header })
    }

    /// What it says about itself.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The records that begin at this offset of the file or later: 0 for all that are there. Only the beginning of
    /// the log, or what [`Records::offset`] once was, are offsets at which a record is sure to begin.
    #[must_use]
    pub fn records(&self, from_offset: u64) -> Records<'a> {
        Records::new(self.bytes, &self.header, from_offset)
    }
}
