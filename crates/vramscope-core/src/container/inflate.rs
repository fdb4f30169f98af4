//! Deflate, as gzip and zip wrap it.

use std::io::BufRead;

use flate2::{Decompress, FlushDecompress, Status};

use super::layer::{Layer, kind_of};
use crate::ErrorKind;

/// Window of 32 KiB, the largest of deflate, as its base-2 logarithm.
const WINDOW_BITS: u8 = 15;

/// A deflate stream being read.
///
/// Everything that was unpacked before damage is returned before the damage is reported. So the contents of a damaged file
/// do not depend on how its bytes arrive.
pub(super) struct Inflate {
    stream: Decompress,
    /// What to name in [`ErrorKind::Truncated`].
    place: &'static str,
    /// Makes the error from a description of the damage.
    damaged: fn(&str) -> ErrorKind,
    /// Damage to report by the next read. The library reports it only once.
    failure: Option<ErrorKind>,
}

impl Inflate {
    /// Reads raw deflate data.
    pub(super) fn bare(place: &'static str, damaged: fn(&str) -> ErrorKind) -> Self {
        Self {
            stream: Decompress::new(false),
            place,
            damaged,
            failure: None,
        }
    }

    /// Reads a gzip member: its header, its data, and its check sum, which is verified.
    pub(super) fn gzip(place: &'static str, damaged: fn(&str) -> ErrorKind) -> Self {
        Self {
            stream: Decompress::new_gzip(WINDOW_BITS),
            place,
            damaged,
            failure: None,
        }
    }

    /// Reads the next bytes; 0 at the end of the stream. `left`: the packed bytes still to come, if known.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`], damage, or what `source` fails with.
    pub(super) fn read(
        &mut self,
        left: &mut Option<u64>,
        source: &mut Layer<'_>,
        out: &mut [u8],
    ) -> Result<usize, ErrorKind> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        loop {
            let mut input = source.fill_buf().map_err(|error| kind_of(&error))?;
            if let Some(left) = *left {
                let left = usize::try_from(left).unwrap_or(usize::MAX);
                input = input.get(..left).unwrap_or(input);
            }
            let starved = input.is_empty();
            let (in_before, out_before) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(input, out, FlushDecompress::None);
            let consumed = self.stream.total_in() - in_before;
            let produced = self.stream.total_out() - out_before;
            source.consume(consumed as usize);
            source.count_packed(consumed)?;
            *left = left.map(|left| left.saturating_sub(consumed));
            match status {
                Err(error) => {
                    let failure = match error.message() {
                        Some("incorrect data check" | "incorrect length check") => {
                            ErrorKind::CheckSum("gzip")
                        }
                        // The library's other messages depend on how the bytes arrive.
                        _ => (self.damaged)("the compressed bytes make no sense"),
                    };
                    if produced == 0 {
                        return Err(failure);
                    }
                    self.failure = Some(failure);
                    return Ok(produced as usize);
                }
                Ok(_) if produced > 0 => return Ok(produced as usize),
                Ok(Status::StreamEnd) => return Ok(0),
                Ok(_) if consumed > 0 => {}
                Ok(_) if starved && *left != Some(0) => {
                    return Err(ErrorKind::Truncated(self.place));
                }
                Ok(_) => return Err((self.damaged)("the deflate data ends early")),
            }
        }
    }
}
