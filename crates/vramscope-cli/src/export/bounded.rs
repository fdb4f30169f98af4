//! A limit on what is written from one file: most formats repeat a stack or a text wherever it is used, and a file of a
//! few kilobytes may use one of a megabyte a thousand times.

use std::io::{self, Write};

use vramscope_core::model::Source;
use vramscope_core::units::Bytes;

/// Bytes that may be written from any file.
const FREE_BYTES: u64 = 64 << 20;

/// Bytes that may be written for each byte read, after decompression. JSON needs up to 60 for a genuine pickle, and 400
/// for a packed snapshot.
const PER_BYTE: u64 = 1_000;

pub(crate) struct Bounded<'a> {
    out: &'a mut dyn Write,
    most_bytes: u64,
    written_bytes: u64,
}

impl<'a> Bounded<'a> {
    /// Writes to `out` what is made from a file.
    pub(crate) fn new(out: &'a mut dyn Write, source: &Source) -> Self {
        Self {
            out,
            most_bytes: source
                .decoded_bytes
                .saturating_mul(PER_BYTE)
                .max(FREE_BYTES),
            written_bytes: 0,
        }
    }
}

impl Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written_bytes = self.written_bytes.saturating_add(bytes.len() as u64);
        if self.written_bytes > self.most_bytes {
            return Err(io::Error::other(format!(
                "it would exceed {}, as this format repeats a stack or a text wherever it is used\n  \
                 Write a pickle or a packed file (--to packed), which share them, or less of the recording \
                 (`vramscope cut`).",
                Bytes(self.most_bytes)
            )));
        }
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
