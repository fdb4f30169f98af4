//! A layer of bytes: a reader with lookahead and a limit that remembers why it ended.
//!
//! Every container reads from a [`Layer`] and is read through one. So one place retries interrupted reads, enforces
//! limits and names errors.

use std::io::{self, BufRead, Read};
use std::rc::Rc;

use super::Counters;
use crate::ErrorKind;
use crate::limits::PACKED_BYTES;

pub(super) const LOOKAHEAD: usize = 64 << 10;

pub(super) struct Layer<'a> {
    inner: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    pos: usize,
    end: usize,
    read_bytes: u64,
    /// Counters with the limit of the bytes; `None` for the file itself.
    counters: Option<Rc<Counters>>,
    /// Whether all bytes are compressed data.
    is_packed: bool,
    at_eof: bool,
    /// Whether more bytes were requested than the data has.
    starved: bool,
    failure: Option<ErrorKind>,
}

impl<'a> Layer<'a> {
    pub(super) fn new(inner: Box<dyn Read + 'a>) -> Self {
        Self {
            inner,
            buffer: vec![0; LOOKAHEAD].into_boxed_slice(),
            pos: 0,
            end: 0,
            read_bytes: 0,
            counters: None,
            is_packed: false,
            at_eof: false,
            starved: false,
            failure: None,
        }
    }

    /// The contents of a container. Reading fails beyond the limit of unwrapped bytes.
    pub(super) fn limited(inner: Box<dyn Read + 'a>, counters: Rc<Counters>) -> Self {
        Self {
            counters: Some(counters),
            ..Self::new(inner)
        }
    }

    /// Counts all bytes as compressed ones, see [`count_packed`](Self::count_packed).
    pub(super) fn set_packed(&mut self) -> Result<(), ErrorKind> {
        self.is_packed = true;
        self.count_packed(self.read_bytes)
    }

    /// Counts compressed bytes. Those of the file itself cost nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the file has not paid for them.
    pub(super) fn count_packed(&self, bytes: u64) -> Result<(), ErrorKind> {
        let counters = self.counters.as_ref();
        counters.map_or(Ok(()), |counters| {
            counters.add_work(bytes.saturating_mul(PACKED_BYTES))
        })
    }

    /// The next `count` bytes (at most [`LOOKAHEAD`]) without consuming them; fewer only if the data ends or reading
    /// fails.
    ///
    /// # Errors
    /// Only if there is not a single byte before the failure. Otherwise the read that reaches the failure
    /// reports it.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let count = count.min(LOOKAHEAD);
        let ahead = self.ahead(count)?;
        Ok(ahead.get(..count).unwrap_or(ahead))
    }

    /// Like [`peek`](Self::peek), but returns all buffered bytes.
    fn ahead(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end - self.pos < count && self.pos > 0 {
            self.buffer.copy_within(self.pos..self.end, 0);
            self.end -= self.pos;
            self.pos = 0;
        }
        while self.end - self.pos < count && !self.at_eof {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match read_some(&mut self.inner, room).and_then(|read| self.count(read)) {
                Ok(0) => self.at_eof = true,
                Ok(read) => self.end += read,
                Err(kind) => {
                    self.failure = Some(kind);
                    self.at_eof = true;
                }
            }
        }
        if self.end == self.pos {
            self.ended()?;
        }
        Ok(self.buffer.get(self.pos..self.end).unwrap_or_default())
    }

    fn count(&mut self, read: usize) -> Result<usize, ErrorKind> {
        self.read_bytes += read as u64;
        if let Some(counters) = &self.counters {
            let limit = counters.most_unwrapped_bytes();
            if self.read_bytes > limit {
                let what = "the size after unwrapping in bytes";
                return Err(ErrorKind::Limit { what, limit });
            }
        }
        if self.is_packed {
            self.count_packed(read as u64)?;
        }
        Ok(read)
    }

    /// The failure that ended the data, if there was one.
    fn ended(&mut self) -> io::Result<()> {
        match &self.failure {
            Some(kind) => Err(io::Error::other(kind.clone())),
            None => {
                self.starved = true;
                Ok(())
            }
        }
    }

    /// Consumes `count` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] with `place` if there are fewer.
    pub(super) fn skip(&mut self, mut count: u64, place: &'static str) -> Result<(), ErrorKind> {
        while count > 0 {
            let available = self.ahead(1).map_err(|error| kind_of(&error))?.len();
            if available == 0 {
                return Err(ErrorKind::Truncated(place));
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(available);
            self.consume(step);
            count -= step as u64;
        }
        Ok(())
    }

    /// Reads the rest, so that the bytes of the whole file are counted and the check sums around them verified. Returns
    /// whether there is anything but NULs.
    ///
    /// # Errors
    /// The failure that ends the data, if one does.
    pub(super) fn drain(&mut self) -> Result<bool, ErrorKind> {
        let mut has_other = false;
        while let rest @ [_, ..] = self.ahead(1).map_err(|error| kind_of(&error))? {
            has_other |= rest.iter().any(|&byte| byte != 0);
            self.consume(usize::MAX);
        }
        Ok(has_other)
    }

    /// Consumes and returns the next `N` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`] with `place` if there are fewer.
    pub(super) fn take_bytes<const N: usize>(
        &mut self,
        place: &'static str,
    ) -> Result<[u8; N], ErrorKind> {
        let head = self.peek(N).map_err(|error| kind_of(&error))?;
        let Some(&bytes) = head.first_chunk::<N>() else {
            return Err(ErrorKind::Truncated(place));
        };
        self.consume(N);
        Ok(bytes)
    }

    /// The true cause of a decompressor's failure: the failure of this layer, its end, or the
    /// decompressor's own error.
    pub(super) fn blame(&self, place: &'static str, own: impl FnOnce() -> ErrorKind) -> ErrorKind {
        match &self.failure {
            Some(kind) if self.end == self.pos => kind.clone(),
            _ if self.starved => ErrorKind::Truncated(place),
            _ => own(),
        }
    }
}

impl Read for Layer<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.pos == self.end && !self.at_eof && out.len() >= LOOKAHEAD {
            // With an empty buffer, large reads bypass it.
            match read_some(&mut self.inner, out).and_then(|read| self.count(read)) {
                Ok(0) => self.at_eof = true,
                Ok(read) => return Ok(read),
                Err(kind) => {
                    self.failure = Some(kind);
                    self.at_eof = true;
                }
            }
        }
        let available = self.fill_buf()?;
        let count = available.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), available.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Layer<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.ahead(1)
    }

    fn consume(&mut self, count: usize) {
        self.pos = self.pos.saturating_add(count).min(self.end);
        if self.pos == self.end {
            self.pos = 0;
            self.end = 0;
        }
    }
}

/// Reads once, retrying after interrupts.
fn read_some(inner: &mut dyn Read, out: &mut [u8]) -> Result<usize, ErrorKind> {
    loop {
        match inner.read(out) {
            // A broken reader may claim to have read more than fits.
            Ok(read) => return Ok(read.min(out.len())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(kind_of(&error)),
        }
    }
}

/// The [`ErrorKind`] inside an `io::Error`, or else [`ErrorKind::Read`].
pub fn kind_of(error: &io::Error) -> ErrorKind {
    match error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<ErrorKind>())
    {
        Some(kind) => kind.clone(),
        None => ErrorKind::Read(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    /// One byte per read, every other read interrupted.
    struct Stutter<'a>(&'a [u8], bool);

    impl Read for Stutter<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.0.len().min(out.len()).min(1);
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn looks_ahead_without_losing_bytes() {
        let mut layer = Layer::new(Box::new(Stutter(b"abcdef", false)));
        assert_eq!(layer.peek(3).unwrap(), b"abc");
        assert_eq!(layer.peek(2).unwrap(), b"ab");
        assert_eq!(layer.take_bytes::<2>("here").unwrap(), *b"ab");
        assert_eq!(layer.peek(100).unwrap(), b"cdef");
        layer.skip(1, "here").unwrap();
        let mut rest = Vec::new();
        layer.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"def");
        assert_eq!(layer.skip(1, "there"), Err(ErrorKind::Truncated("there")));
    }

    #[test]
    fn refuses_more_than_the_limit() {
        let limits = Limits {
            free_bytes: 100_000,
            ..Limits::default()
        };
        let counters = Rc::new(Counters::new(limits));
        let mut layer = Layer::limited(Box::new(io::repeat(1)), counters);
        let error = io::copy(&mut layer, &mut io::sink()).unwrap_err();
        assert!(matches!(
            kind_of(&error),
            ErrorKind::Limit { limit: 100_000, .. }
        ));
    }
}
