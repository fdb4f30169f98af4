//! gzip: any number of members one after another.

use std::io::{self, Read};
use std::rc::Rc;

use super::Counters;
use super::inflate::Inflate;
use super::layer::Layer;
use crate::ErrorKind;

const PLACE: &str = "in the middle of gzip data";

/// The members' contents, one after another. Data after the last member is skipped, as by gzip.
pub(super) struct GzipReader<'a> {
    source: Layer<'a>,
    /// `None` after the last member.
    member: Option<Inflate>,
    counters: Rc<Counters>,
}

impl<'a> GzipReader<'a> {
    pub(super) fn new(source: Layer<'a>, counters: Rc<Counters>) -> Self {
        Self {
            source,
            member: Some(Inflate::gzip(PLACE, damaged)),
            counters,
        }
    }

    /// Opens the next member, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        if self.source.peek(2)? == [0x1f, 0x8b] {
            self.counters.add_part().map_err(io::Error::other)?;
            self.member = Some(Inflate::gzip(PLACE, damaged));
        } else {
            self.member = None;
            let has_other = self.source.drain().map_err(io::Error::other)?;
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
            let read = member.read(&mut None, &mut self.source, out);
            match read.map_err(io::Error::other)? {
                0 => self.next_member()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

fn damaged(what: &str) -> ErrorKind {
    ErrorKind::Malformed(format!("the gzip data is damaged: {what}"))
}
