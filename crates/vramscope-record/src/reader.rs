//! Reads the records of a raw log, in whatever state its program left it.
//!
//! The input is a file, or the beginning of one, and its program may still write to it. A record that a thread has
//! reserved and not completed is unfinished. In the log of a running program, the records end before the first
//! unfinished one for now ([`Records::while_running`]). In the log of a program that is gone, unfinished records
//! are skipped and counted as [`Damage`].

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
    /// Reads the header of the log in `bytes`.
    ///
    /// # Errors
    /// If `bytes` is not a raw log of this version.
    pub fn open(bytes: &'a [u8]) -> Result<Self, LogError> {
        let header = Header::of(bytes)?;
        Ok(Self { bytes, header })
    }

    /// The log's header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Iterates over the records at this file offset and later; 0 starts at the first record that is still there.
    /// Other offsets must come from [`Records::offset`].
    #[must_use]
    pub fn records(&self, from_offset: u64) -> Records<'a> {
        Records::new(self.bytes, &self.header, from_offset)
    }
}
