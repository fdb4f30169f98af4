//! Memory-maps a raw log. The file may be far larger than its content and may still be written to.
#![expect(unsafe_code, reason = "maps a file")]

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Advice, Mmap};

/// A mapped raw log.
pub struct LogFile {
    /// `None` if the file is empty, since that cannot be mapped.
    map: Option<Mmap>,
}

impl LogFile {
    /// Maps a file.
    ///
    /// # Errors
    /// If it cannot be read or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if metadata.len() == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: a log is only appended to; finished records never change. The reader assumes nothing: it recognises
        // an unfinished record by its kind, and can read any bytes. If somebody truncates the file meanwhile, only this
        // process ends.
        let map = unsafe { Mmap::map(&file)? };
        // Only a hint, so failure does not matter.
        drop(map.advise(Advice::Sequential));
        Ok(Self { map: Some(map) })
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
}
