//! Content of object files: mapped, or decompressed from sections.
#![expect(unsafe_code, reason = "maps files; see each block")]

use addr2line::gimli::{EndianSlice, RunTimeEndian};
use memmap2::Mmap;
use object::{Object as _, ObjectSection as _};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;

/// A section's bytes for gimli. Must not outlive the [`FileArena`] they came from.
pub(super) type Slice = EndianSlice<'static, RunTimeEndian>;

/// Maximum ratio of a section's decompressed to its compressed size. Debug information shrinks to a third, rarely to a
/// tenth; sections made to exhaust memory shrink to a thousandth.
const MAX_EXPANSION: u64 = 64;

/// A mapped file.
pub(super) struct FileBytes(Mmap);

impl FileBytes {
    /// Maps a file; `None` if it does not exist, is empty or is not a regular file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or mapped.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        // Checked first, as opening a pipe would block.
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() > 0 => {}
            Ok(_) => return Ok(None),
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                    _ => Err(error),
                };
            }
        }
        let file = File::open(path)?;
        // SAFETY: compilers and package managers replace files instead of writing into files in use. If somebody
        // truncates the file meanwhile, a signal ends this process.
        Ok(Some(Self(unsafe { Mmap::map(&file)? })))
    }

    pub(super) fn get(&self) -> &[u8] {
        &self.0
    }
}

/// Owns the bytes that slices refer to. Must be dropped after everything made from those slices.
#[derive(Default)]
pub(super) struct FileArena {
    files: RefCell<Vec<FileBytes>>,
    unpacked: RefCell<Vec<Box<[u8]>>>,
}

impl FileArena {
    /// Adds a file.
    ///
    /// # Safety
    ///
    /// The slice and everything made from it must not be used after `self` was dropped.
    pub(super) unsafe fn add(&self, bytes: FileBytes) -> &'static [u8] {
        let slice: *const [u8] = bytes.get();
        self.files.borrow_mut().push(bytes);
        // SAFETY: a mapping does not move until it is dropped with `self`.
        unsafe { &*slice }
    }

    /// A section of an object, decompressed; empty if it is missing or cannot be decompressed. The object's file
    /// must be in this arena.
    pub(super) fn section(&self, object: &object::File<'static>, name: Option<&str>) -> Slice {
        let endian = if object.is_little_endian() {
            RunTimeEndian::Little
        } else {
            RunTimeEndian::Big
        };
        let bytes = name.and_then(|name| self.unpack(object, name));
        EndianSlice::new(bytes.unwrap_or_default(), endian)
    }

    fn unpack(&self, object: &object::File<'static>, name: &str) -> Option<&'static [u8]> {
        let packed = object.section_by_name(name)?.compressed_data().ok()?;
        if packed.uncompressed_size > MAX_EXPANSION.saturating_mul(packed.data.len() as u64) {
            return None;
        }
        match packed.decompress().ok()? {
            std::borrow::Cow::Borrowed(bytes) => Some(bytes),
            std::borrow::Cow::Owned(bytes) => {
                let bytes = bytes.into_boxed_slice();
                let slice: *const [u8] = &*bytes;
                self.unpacked.borrow_mut().push(bytes);
                // SAFETY: as for `add`, whose caller made the same promise for the object.
                Some(unsafe { &*slice })
            }
        }
    }
}
