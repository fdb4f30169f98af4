//! One entry of a zip archive: its local header, its data, and the descriptor that may follow.
//!
//! ```text
//! PK 3 4 | version flags method time date crc packed unpacked name_length extra_length | name | extra
//! data
//! [PK 7 8] crc packed unpacked         only with flag 3; the sizes have 4 or 8 bytes each
//! ```

use std::io::BufRead;

use flate2::Crc;
use memchr::memmem;

use super::Counters;
use super::inflate::Inflate;
use super::layer::{LOOKAHEAD, Layer, kind_of};
use crate::ErrorKind;

const PLACE: &str = "in the middle of a zip archive";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
/// Signature, check sum and two sizes of 8 bytes.
const MAX_DESCRIPTOR_BYTES: usize = 24;

const ENCRYPTED: u16 = 1;
const HAS_DESCRIPTOR: u16 = 1 << 3;

/// A local header.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    /// Bytes in the archive; `None` if only the descriptor has the size.
    packed_bytes: Option<u64>,
}

impl Entry {
    /// Reads the next local header; `None` at the archive's directory.
    pub(super) fn next(
        source: &mut Layer<'_>,
        counters: &Counters,
    ) -> Result<Option<Self>, ErrorKind> {
        counters.add_part()?;
        match source.peek(4).map_err(|error| kind_of(&error))? {
            b"PK\x03\x04" => Self::read(source).map(Some),
            [b'P', b'K', 1, 2] | [b'P', b'K', 5 | 6, 5..=8] => Ok(None),
            head if head.len() < 4 => Err(ErrorKind::Truncated(PLACE)),
            _ => Err(damaged("no file begins where one should")),
        }
    }

    fn read(source: &mut Layer<'_>) -> Result<Self, ErrorKind> {
        let header = source.take_bytes::<30>(PLACE)?;
        let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let (flags, method, crc) = (u16_at(6), u16_at(8), u32_at(14));
        let (packed, unpacked) = (u32_at(18), u32_at(22));
        let name = read_bytes(source, u16_at(26))?;
        let extra = read_bytes(source, u16_at(28))?;
        let packed_bytes = match packed {
            u32::MAX => zip64_packed(&extra, unpacked),
            packed => Some(u64::from(packed)),
        };
        // If a descriptor follows, 0 only means that the size was not known yet.
        let packed_bytes = packed_bytes.filter(|&size| size > 0 || flags & HAS_DESCRIPTOR == 0);
        Ok(Self {
            name,
            flags,
            method,
            crc,
            packed_bytes,
        })
    }

    /// Whether the entry is a folder, or a file that macOS or another archiver added.
    pub(super) fn is_noise(&self) -> bool {
        self.name.ends_with(b"/")
            || self.name.starts_with(b"__MACOSX/")
            || self.name.ends_with(b".DS_Store")
    }

    /// Prepares to read the data.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`].
    pub(super) fn open(&self) -> Result<Body, ErrorKind> {
        if self.flags & ENCRYPTED != 0 {
            return Err(ErrorKind::Unsupported(
                "a zip archive with a password".to_owned(),
            ));
        }
        let packing = match self.method {
            0 => Packing::Stored,
            8 => Packing::Deflated(Inflate::bare(PLACE, damaged)),
            method => {
                return Err(ErrorKind::Unsupported(format!(
                    "a zip archive with compression method {method}"
                )));
            }
        };
        let crc = (self.flags & HAS_DESCRIPTOR == 0).then_some(self.crc);
        Ok(Body {
            packing,
            left: self.packed_bytes,
            expected_crc: crc,
            crc: Crc::new(),
            is_read: false,
        })
    }

    /// Skips the data.
    pub(super) fn skip(
        &self,
        source: &mut Layer<'_>,
        counters: &Counters,
    ) -> Result<(), ErrorKind> {
        match (self.packed_bytes, self.open()) {
            (Some(packed), _) => {
                source.skip(packed, PLACE)?;
                if self.flags & HAS_DESCRIPTOR != 0 {
                    read_descriptor(source)?;
                }
                Ok(())
            }
            (None, Ok(mut body)) => body.drain(source, counters),
            (None, Err(kind)) => Err(kind),
        }
    }
}

/// Reads the archive's directory and the record that ends it, or an unknown record. `name` and `crc` are those of the
/// file that was read.
///
/// # Errors
/// [`ErrorKind::Truncated`] if the data ends before, and damage if the directory has another check sum for that file.
pub(super) fn read_directory(
    source: &mut Layer<'_>,
    name: &[u8],
    crc: u32,
) -> Result<(), ErrorKind> {
    let u16_at = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    // A name may come twice.
    let (mut is_named, mut is_confirmed) = (false, false);
    let judged = |is_named: bool, is_confirmed: bool| match (is_named, is_confirmed) {
        (true, false) => Err(damaged(
            "its directory has another check sum of the snapshot",
        )),
        _ => Ok(()),
    };
    loop {
        let head = source.peek(4).map_err(|error| kind_of(&error))?;
        match *head {
            [b'P', b'K', 1, 2] => {
                let file = source.take_bytes::<46>(PLACE)?;
                let listed = u32::from(u16_at(&file, 16)) | u32::from(u16_at(&file, 18)) << 16;
                if read_bytes(source, u16_at(&file, 28))? == name {
                    is_named = true;
                    is_confirmed |= listed == crc;
                }
                let texts = [30, 32].map(|at| u64::from(u16_at(&file, at)));
                source.skip(texts.iter().sum(), PLACE)?;
            }
            [b'P', b'K', 6, 6] => {
                let [_, _, _, _, bytes @ ..] = source.take_bytes::<12>(PLACE)?;
                source.skip(u64::from_le_bytes(bytes), PLACE)?;
            }
            [b'P', b'K', 6, 7] => source.skip(20, PLACE)?,
            [b'P', b'K', 5, 6] => {
                let end = source.take_bytes::<22>(PLACE)?;
                source.skip(u64::from(u16_at(&end, 20)), PLACE)?;
                return judged(is_named, is_confirmed);
            }
            [_, _, _, _] => return judged(is_named, is_confirmed),
            _ => return Err(ErrorKind::Truncated(PLACE)),
        }
    }
}

/// Reads `count` bytes. A count of 16 bits never exceeds the lookahead of a layer.
fn read_bytes(source: &mut Layer<'_>, count: u16) -> Result<Vec<u8>, ErrorKind> {
    let count = usize::from(count);
    let head = source.peek(count).map_err(|error| kind_of(&error))?;
    let bytes = head
        .get(..count)
        .ok_or(ErrorKind::Truncated(PLACE))?
        .to_vec();
    source.consume(count);
    Ok(bytes)
}

/// The packed size in the zip64 field (id 1) of an entry's extra data. It follows the
/// unpacked size, which is only present if the header has no room for it either.
fn zip64_packed(mut extra: &[u8], unpacked: u32) -> Option<u64> {
    loop {
        let ([id0, id1, length0, length1], rest) = extra.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_le_bytes([*length0, *length1]));
        let (field, rest) = rest.split_at_checked(length)?;
        if (*id0, *id1) == (1, 0) {
            let field = if unpacked == u32::MAX {
                field.get(8..)?
            } else {
                field
            };
            return field
                .first_chunk::<8>()
                .map(|packed| u64::from_le_bytes(*packed));
        }
        extra = rest;
    }
}

/// The data of an entry while it is read.
pub(super) struct Body {
    packing: Packing,
    /// Packed bytes still to come; `None` if only the descriptor has their number.
    left: Option<u64>,
    /// `None` if only the descriptor has it.
    expected_crc: Option<u32>,
    crc: Crc,
    is_read: bool,
}

enum Packing {
    Stored,
    Deflated(Inflate),
}

impl Body {
    /// Reads the next bytes; 0 at the end, after the check sum has been verified.
    pub(super) fn read(
        &mut self,
        source: &mut Layer<'_>,
        out: &mut [u8],
    ) -> Result<usize, ErrorKind> {
        if self.is_read || out.is_empty() {
            return Ok(0);
        }
        let read = match (&mut self.packing, self.left) {
            (Packing::Deflated(inflate), _) => inflate.read(&mut self.left, source, out)?,
            (Packing::Stored, Some(left)) => {
                let read = read_at_most(source, out, left)?;
                self.left = Some(left - read as u64);
                read
            }
            (Packing::Stored, None) => read_to_descriptor(source, out, &self.crc)?,
        };
        match out.get(..read) {
            Some([]) | None => self.finish(source)?,
            Some(bytes) => self.crc.update(bytes),
        }
        Ok(read)
    }

    /// The check sum of the bytes read so far.
    pub(super) fn crc(&self) -> u32 {
        self.crc.sum()
    }

    /// Reads to the end.
    pub(super) fn drain(
        &mut self,
        source: &mut Layer<'_>,
        counters: &Counters,
    ) -> Result<(), ErrorKind> {
        let mut scratch = vec![0; LOOKAHEAD];
        loop {
            match self.read(source, &mut scratch)? {
                0 => return Ok(()),
                read => counters.add_work(read as u64)?,
            }
        }
    }

    fn finish(&mut self, source: &mut Layer<'_>) -> Result<(), ErrorKind> {
        self.is_read = true;
        if let Some(left) = self.left {
            source.skip(left, PLACE)?;
        }
        let expected = match self.expected_crc {
            Some(crc) => crc,
            None => read_descriptor(source)?,
        };
        if expected == self.crc.sum() {
            Ok(())
        } else {
            Err(ErrorKind::CheckSum("zip"))
        }
    }
}

fn read_at_most(source: &mut Layer<'_>, out: &mut [u8], left: u64) -> Result<usize, ErrorKind> {
    let count = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
    if count == 0 {
        return Ok(0);
    }
    let out = out.get_mut(..count).unwrap_or_default();
    match std::io::Read::read(source, out).map_err(|error| kind_of(&error))? {
        0 => Err(ErrorKind::Truncated(PLACE)),
        read => Ok(read),
    }
}

/// Reads stored data of unknown length. It ends where a descriptor with the matching check sum begins.
fn read_to_descriptor(
    source: &mut Layer<'_>,
    out: &mut [u8],
    crc: &Crc,
) -> Result<usize, ErrorKind> {
    let head = source.peek(LOOKAHEAD).map_err(|error| kind_of(&error))?;
    if head.is_empty() {
        return Err(ErrorKind::Truncated(PLACE));
    }
    let is_end = |descriptor: &[u8]| {
        let word = |at: usize| {
            descriptor
                .get(at..)?
                .first_chunk()
                .copied()
                .map(u32::from_le_bytes)
        };
        word(4) == Some(crc.sum()) && word(8) == Some(crc.amount())
    };
    if head.starts_with(DESCRIPTOR) && is_end(head) {
        return Ok(0);
    }
    // Read up to the next descriptor signature, which the next call examines.
    let next = memmem::find(head.get(1..).unwrap_or_default(), DESCRIPTOR).map(|at| at + 1);
    let safe = next.unwrap_or_else(|| head.len().saturating_sub(DESCRIPTOR.len() - 1).max(1));
    let count = safe.min(out.len());
    if let (Some(to), Some(from)) = (out.get_mut(..count), head.get(..count)) {
        to.copy_from_slice(from);
    }
    source.consume(count);
    Ok(count)
}

/// Consumes a descriptor and returns its check sum. Signature and width of sizes vary; the layout is right if the next
/// header or the directory follows, both of which begin with `PK`.
fn read_descriptor(source: &mut Layer<'_>) -> Result<u32, ErrorKind> {
    let head = source
        .peek(MAX_DESCRIPTOR_BYTES + 2)
        .map_err(|error| kind_of(&error))?;
    let signed: &[(usize, usize)] = &[(4, 16), (4, MAX_DESCRIPTOR_BYTES)];
    let unsigned: &[(usize, usize)] = &[(0, 12), (0, 20)];
    let layouts = if head.starts_with(DESCRIPTOR) {
        signed
    } else {
        unsigned
    };
    for &(crc_at, length) in layouts {
        let crc = head
            .get(crc_at..)
            .and_then(|rest| rest.first_chunk().copied());
        if let (Some(crc), Some(b"PK")) = (crc, head.get(length..length + 2)) {
            source.consume(length);
            return Ok(u32::from_le_bytes(crc));
        }
    }
    match head.len() {
        ..MAX_DESCRIPTOR_BYTES => Err(ErrorKind::Truncated(PLACE)),
        _ => Err(damaged("what follows a file's data is none of zip's")),
    }
}

pub(super) fn damaged(what: &str) -> ErrorKind {
    ErrorKind::Malformed(format!("the zip archive is damaged: {what}"))
}
