//! gzip: any number of members one after another.

use std::io::{self, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use super::Counters;
use super::layer::Layer;
use crate::ErrorKind;

const PLACE: &str = "in the middle of gzip data";

/// The members' contents, one after another. Data after the last member is passed over, as by gzip.
pub(super) struct GzipReader<'a> {
    /// `None` after the last member.
    member: Option<GzDecoder<Layer<'a>>>,
    counters: Rc<Counters>,
}

impl<'a> GzipReader<'a> {
    pub(super) fn new(source: Layer<'a>, counters: Rc<Counters>) -> Self {
        Self {
            member: Some(GzDecoder::new(source)),
            counters,
        }
    }

    /// Opens the next member, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else {
            return Ok(());
        };
        let mut source = member.into_inner();
        if source.peek(2)? == [0x1f, 0x8b] {
            self.counters.add_part().map_err(io::Error::other)?;
            self.member = Some(GzDecoder::new(source));
        } else {
            let has_other = source.drain().map_err(io::Error::other)?;
            self.counters.add_trailing(has_other);
        }
        Ok(())
    }
}

impl Read for GzipReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            match member.read(out) {
                Ok(0) => self.next_member()?,
                Ok(read) => return Ok(read),
                Err(error) if is_check_sum(&error) => {
                    return Err(io::Error::other(ErrorKind::CheckSum("gzip")));
                }
                Err(error) => {
                    let own = || ErrorKind::Malformed(format!("the gzip data is damaged: {error}"));
                    return Err(io::Error::other(member.get_ref().blame(PLACE, own)));
                }
            }
        }
        Ok(0)
    }
}

/// Whether all of a member was read, and its check sum or size is another. The library tells by the text alone: a test
/// of damage fails where it has another.
fn is_check_sum(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput && error.to_string().contains("matching checksum")
}
