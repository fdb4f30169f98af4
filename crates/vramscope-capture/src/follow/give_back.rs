//! Gives the room of records that were taken over back: to the program for further ones, and to the disk.
#![expect(unsafe_code, reason = "makes a hole in a file")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use vramscope_record::layout::{HEADER_BYTES, header};

/// Holes are made of whole pages; larger ones do as well.
const PAGE_BYTES: u64 = 1 << 16;

/// A log's file, to be written to where its program does not.
pub(super) struct GiveBack {
    file: File,
    /// What the program was told last.
    told_offset: u64,
    /// Up to where there is a hole.
    hole_end: u64,
}

impl GiveBack {
    /// Of the log in this file.
    ///
    /// # Errors
    /// When it may not be written to.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: OpenOptions::new().write(true).open(path)?,
            told_offset: 0,
            hole_end: HEADER_BYTES,
        })
    }

    /// All records before `offset` were taken over.
    ///
    /// # Errors
    /// When the program cannot be told. A disk that takes no room back is no error: the file only grows.
    pub(super) fn up_to(&mut self, offset: u64) -> io::Result<()> {
        if offset == self.told_offset {
            return Ok(());
        }
        // Eight bytes at a multiple of eight: the program reads all of them or none.
        self.file
            .write_all_at(&offset.to_le_bytes(), header::CONSUMED_OFFSET as u64)?;
        self.told_offset = offset;
        let end = offset & !(PAGE_BYTES - 1);
        if end > self.hole_end {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            let (from, bytes) = (
                self.hole_end.cast_signed(),
                (end - self.hole_end).cast_signed(),
            );
            // SAFETY: touches the file alone, where nobody reads or writes any more.
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, from, bytes) };
            self.hole_end = end;
        }
        Ok(())
    }
}
