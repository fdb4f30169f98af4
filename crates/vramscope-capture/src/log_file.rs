//! A raw log's file, mapped: it may be far larger than what is in it, and still be written to.
#![expect(unsafe_code, reason = "maps a file")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Advice, Mmap};

/// The bytes of a log's file.
pub struct LogFile {
    /// `None` of an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl LogFile {
    /// Maps a file.
    ///
    /// # Errors
    /// When it cannot be read or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.len() == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: a log is only appended to; what stands is not changed any more. Readers take nothing for granted: a
        // record that is being written is told by its kind, and any bytes are read without harm. A file that somebody
        // cuts meanwhile ends this process, and nobody else.
        let map = unsafe { Mmap::map(&file)? };
        // Advice: nothing depends on it.
        drop(map.advise(Advice::Sequential));
        Ok(Self { map: Some(map) })
    }

    /// All of it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}
