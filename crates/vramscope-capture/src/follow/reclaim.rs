//! Frees the space of consumed records, in the log and on disk.
#![expect(unsafe_code, reason = "makes a hole in a file")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use vramscope_record::layout::{HEADER_BYTES, header};

/// Holes are punched in units of this size, a multiple of every page size.
const PAGE_BYTES: u64 = 1 << 16;

/// A log file opened for writing its header and punching holes.
pub(super) struct SpaceReclaimer {
    file: File,
    /// Last consumed offset written to the header.
    consumed_offset: u64,
    /// End of the punched hole.
    hole_end: u64,
}

impl SpaceReclaimer {
    /// Opens the log file.
    ///
    /// # Errors
    /// If it cannot be opened for writing.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: OpenOptions::new().write(true).open(path)?,
            consumed_offset: 0,
            hole_end: HEADER_BYTES,
        })
    }

    /// Frees the space of all records before `offset`.
    ///
    /// # Errors
    /// If the header cannot be written. A failure to punch a hole is not an error; the file only grows.
    pub(super) fn reclaim_before(&mut self, offset: u64) -> io::Result<()> {
        if offset == self.consumed_offset {
            return Ok(());
        }
        // Eight aligned bytes: the program reads all of them or none.
        self.file
            .write_all_at(&offset.to_le_bytes(), header::CONSUMED_OFFSET as u64)?;
        self.consumed_offset = offset;
        let end = offset & !(PAGE_BYTES - 1);
        if end > self.hole_end {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let (from, bytes) = (
                self.hole_end.cast_signed(),
                (end - self.hole_end).cast_signed(),
            );
            // SAFETY: affects only the file, in a range that nobody reads or writes any more.
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, from, bytes) };
            self.hole_end = end;
        }
        Ok(())
    }
}
