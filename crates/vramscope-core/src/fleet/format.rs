//! Fleets as files: `.vset`.
//!
//! ```text
//! magic  version  zlib( labels  settings  unreadable  ranks by column: place source figures curve sites … )
//! 8 B    1 B
//! ```
//! Numbers are LEB128 (7 bits per byte, lowest first), signed ones zigzag. What is alike from rank to rank or from bin to
//! bin is a difference. So a thousand ranks with 200 call sites each take less than 2 MB.
//!
//! One description of the columns ([`columns`]) both writes and reads them, so that neither can forget one. Reading
//! trusts nothing: a count is checked against the bytes left, and what is held is paid for with bytes of the file, by
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

/// The version written, and the newest one read.
const VERSION: u8 = 1;

/// Writes a fleet as a `.vset` file.
#[must_use]
pub fn encode(fleet: &Fleet) -> Vec<u8> {
    let mut codec = Codec::writer();
    // Writing ends without an error: there is no limit and no end of data.
    drop(columns::fleet(&mut codec, &mut fleet.clone()));
    let mut file = FLEET.to_vec();
    file.push(VERSION);
    let mut zlib = ZlibEncoder::new(file, Compression::best());
    // Vectors take everything.
    drop(zlib.write_all(codec.written()));
    zlib.finish().unwrap_or_default()
}

/// Reads a `.vset` file.
///
/// # Errors
/// If it is none, is damaged, of a newer version, or costs more than `limits` allow for its size.
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
    // A file of ours is in order already.
    fleet.in_order();
    Ok(fleet)
}

/// What is behind the version.
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
