//! Bytes of object files: mapped, and unpacked from compressed sections.
#![expect(unsafe_code, reason = "maps files; see each block")]

use addr2line::gimli::{EndianSlice, RunTimeEndian};
use memmap2::Mmap;
use object::{Object as _, ObjectSection as _};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;

/// What debug information is read through. The lifetime is that of the [`Kept`] which it came from.
pub(super) type Slice = EndianSlice<'static, RunTimeEndian>;

/// More than this times its size no section is unpacked to. Debug information shrinks to a third, hardly ever to a
/// tenth; what is made to exhaust memory, to a thousandth.
const MOST_EXPANSION: u64 = 64;

/// A file in memory.
pub(super) struct FileBytes(Mmap);

impl FileBytes {
    /// Maps a file; `None` if there is none, or nothing that is a file.
    ///
    /// # Errors
    ///
    /// Those of opening and mapping it.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        // Before it is opened: opening a pipe would wait for whoever writes to it.
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
        // SAFETY: Compilers and package managers replace files, they do not write into those that are in use. Who cuts
        // one short meanwhile ends this program by a signal.
        Ok(Some(Self(unsafe { Mmap::map(&file)? })))
    }

    pub(super) fn get(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes that slices refer to: whoever has a `Kept` drops it after what it made from them.
#[derive(Default)]
pub(super) struct Kept {
    files: RefCell<Vec<FileBytes>>,
    unpacked: RefCell<Vec<Box<[u8]>>>,
}

impl Kept {
    /// Keeps a file.
    ///
    /// # Safety
    ///
    /// The slice, and all that is made from it, must not be used after `self` was dropped.
    pub(super) unsafe fn file(&self, bytes: FileBytes) -> &'static [u8] {
        let slice: *const [u8] = bytes.get();
        self.files.borrow_mut().push(bytes);
        // SAFETY: A mapping stays where it is until it is dropped, which happens with `self`.
        unsafe { &*slice }
    }

    /// A section of an object whose file is kept, unpacked; empty if it has none or cannot be unpacked.
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
        if packed.uncompressed_size > MOST_EXPANSION.saturating_mul(packed.data.len() as u64) {
            return None;
        }
        match packed.decompress().ok()? {
            std::borrow::Cow::Borrowed(bytes) => Some(bytes),
            std::borrow::Cow::Owned(bytes) => {
                let bytes = bytes.into_boxed_slice();
                let slice: *const [u8] = &*bytes;
                self.unpacked.borrow_mut().push(bytes);
                // SAFETY: As for `file`: the object came from there, and with it the promise.
                Some(unsafe { &*slice })
            }
        }
    }
}
