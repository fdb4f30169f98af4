//! Fleets as files: `.vset`.
//!
//! ```text
//! magic  version  zlib( labels  settings  unreadable  ranks by column: place source figures curve sites … )
//! 8 B    1 B
//! ```
//! Numbers are LEB128 (7 bits per byte, lowest first), signed ones zigzag. Values that change little from rank to rank or
//! from bin to bin are stored as differences. So a thousand ranks with 200 call sites each take less than 2 MB.
//!
//! One description of the columns ([`columns`]) serves for both writing and reading, so neither can miss a column. Reading
//! trusts nothing: a count is checked against the remaining bytes, and memory is paid for with bytes of the file, by
//! [`Limits`].

mod codec;
mod columns;

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use self::codec::Codec;
use super::model::Fleet;
use crate::container::FLEET;
use crate::{Error, ErrorKind, Limits};

/// The version that is written, and the newest that is read.
const VERSION: u8 = 1;

/// Writes a fleet as a `.vset` file.
#[must_use]
pub fn encode(fleet: &Fleet) -> Vec<u8> {
    let mut codec = Codec::writer();
    // Writing cannot fail: it has no limit and no end of data.
    drop(columns::fleet(&mut codec, &mut fleet.clone()));
    let mut file = FLEET.to_vec();
    file.push(VERSION);
    let mut zlib = ZlibEncoder::new(file, Compression::best());
    // Writing to a vector cannot fail.
    drop(zlib.write_all(codec.written()));
    zlib.finish().unwrap_or_default()
}

/// Reads a `.vset` file.
///
/// # Errors
/// If the file is not a fleet, is damaged, is of a newer version, or costs more than `limits` allow for its size.
pub fn decode(file: &[u8], limits: &Limits) -> Result<Fleet, Error> {
    let body = body(file)?;
    let most = limits.unwrapped_bytes(file.len() as u64, true);
    let mut bytes = Vec::new();
    let mut inflated = ZlibDecoder::new(body).take(most.saturating_add(1));
    if let Err(error) = inflated.read_to_end(&mut bytes) {
        let before = file.len() - body.len();
        return Err(Error {
            offset: before as u64 + inflated.get_ref().total_in(),
            ..ErrorKind::Malformed(format!("zlib: {error}")).into()
        });
    }
    if bytes.len() as u64 > most {
        let what = "the size in bytes after unpacking";
        return Err(ErrorKind::Limit { what, limit: most }.into());
    }
    let mut codec = Codec::reader(&bytes, file.len() as u64, limits)?;
    let mut fleet = Fleet::default();
    let read = columns::fleet(&mut codec, &mut fleet).and_then(|()| codec.must_be_at_end());
    read.map_err(|kind| Error {
        offset: codec.offset(bytes.len()),
        ..kind.into()
    })?;
    // Fleets that we wrote are already in order.
    fleet.in_order();
    Ok(fleet)
}

/// The bytes after the version.
fn body(file: &[u8]) -> Result<&[u8], ErrorKind> {
    match file.strip_prefix(FLEET) {
        None => Err(ErrorKind::UnknownFormat),
        Some([VERSION, body @ ..]) => Ok(body),
        Some([]) => Err(ErrorKind::Truncated("the version is missing")),
        Some([version, ..]) => Err(ErrorKind::NewerFleet(*version)),
    }
}

#[cfg(test)]
mod tests;
