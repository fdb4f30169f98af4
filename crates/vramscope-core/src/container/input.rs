//! A buffered reader over the unwrapped bytes.

use std::io::{BufRead, ErrorKind as IoErrorKind, Read};

use crate::ErrorKind;

/// Most bytes of an opcode with its fixed-size argument, rounded up.
pub(crate) const WINDOW: usize = 16;

/// Bytes requested from the reader at once.
const CHUNK: usize = 256 << 10;

/// Bytes of a text beyond the end of a chunk that fit without growing the buffer.
const LEFT_OVER: usize = 4 << 10;

/// A buffered reader. Opcodes are read from windows, so that not every byte needs a bounds check.
pub(crate) struct Input<'a> {
    reader: Box<dyn BufRead + 'a>,
    buffer: Vec<u8>,
    /// Read position in `buffer`.
    pos: usize,
    end: usize,
    base: u64,
    at_eof: bool,
    /// The reader's failure. It is reported once all bytes before it have been used.
    failure: Option<ErrorKind>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(reader: Box<dyn BufRead + 'a>) -> Self {
        Self {
            reader,
            buffer: vec![0; CHUNK + LEFT_OVER],
            pos: 0,
            end: 0,
            base: 0,
            at_eof: false,
            failure: None,
        }
    }

    /// Offset of the next byte in the unwrapped data.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// Bytes taken from the reader so far.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.base + self.end as u64
    }

    /// Whether everything has been read and used.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.at_eof && self.pos == self.end
    }

    pub(crate) fn buffered(&self) -> &[u8] {
        self.buffer.get(self.pos..self.end).unwrap_or(&[])
    }

    /// The next bytes, if that many are buffered. [`advance`](Self::advance) then consumes as many as were used.
    #[inline]
    pub(crate) fn window(&self) -> Option<[u8; WINDOW]> {
        self.buffer.get(self.pos..self.end)?.first_chunk().copied()
    }

    /// Reads more and returns the next bytes, with zeros after the end of the data.
    #[cold]
    pub(crate) fn refilled_window(&mut self) -> Result<[u8; WINDOW], ErrorKind> {
        self.fill(WINDOW)?;
        let mut window = [0; WINDOW];
        let rest = &self.buffer[self.pos..self.end];
        let count = rest.len().min(WINDOW);
        window[..count].copy_from_slice(&rest[..count]);
        Ok(window)
    }

    /// Consumes `count` bytes of the last window.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) -> Result<(), ErrorKind> {
        if self.end - self.pos < count {
            return Err(self.short("in the middle of an opcode or number"));
        }
        self.pos += count;
        Ok(())
    }

    /// Consumes and returns the next `count` bytes.
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&[u8], ErrorKind> {
        if self.end - self.pos < count {
            self.fill(count)?;
            if self.end - self.pos < count {
                return Err(self.short("in the middle of a string or number"));
            }
        }
        let start = self.pos;
        self.pos += count;
        Ok(&self.buffer[start..self.pos])
    }

    /// Consumes a line of at most `max` bytes and returns it without its newline; for protocol 0.
    pub(crate) fn take_line(&mut self, max: usize) -> Result<&[u8], ErrorKind> {
        let mut wanted = 256;
        loop {
            self.fill(wanted)?;
            // How much is buffered depends on how the bytes arrive, so bytes beyond the longest line must not count.
            let looked_at = self.end.min(self.pos.saturating_add(max).saturating_add(1));
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.pos..looked_at]) {
                let start = self.pos;
                self.pos += length + 1;
                return Ok(&self.buffer[start..start + length]);
            }
            let available = self.end - self.pos;
            if available > max {
                return Err(ErrorKind::Limit {
                    what: "the length of a string in bytes",
                    limit: max as u64,
                });
            }
            if available < wanted {
                return Err(self.short("in the middle of a line"));
            }
            wanted = (available * 2).min(max.saturating_add(1));
        }
    }

    /// Drops the buffered bytes, after reading more if there are none. Returns their number, and whether any is not NUL.
    fn take_rest(&mut self) -> Result<(usize, bool), ErrorKind> {
        if self.pos == self.end {
            self.fill(1)?;
        }
        let rest = &self.buffer[self.pos..self.end];
        let result = (rest.len(), rest.iter().any(|&byte| byte != 0));
        self.pos = self.end;
        Ok(result)
    }

    /// Reads to the end, so that a container can verify its check sums and count further files. Returns whether there
    /// was anything but NULs.
    ///
    /// # Errors
    /// If the rest of the container is damaged.
    pub(crate) fn drain(&mut self) -> Result<bool, ErrorKind> {
        let mut has_other = false;
        loop {
            let (count, is_other) = self.take_rest()?;
            has_other |= is_other;
            if count == 0 {
                return Ok(has_other);
            }
        }
    }

    /// The error for fewer bytes than an opcode needs.
    #[cold]
    fn short(&self, place: &'static str) -> ErrorKind {
        self.failure.clone().unwrap_or(ErrorKind::Truncated(place))
    }

    /// Buffers at least `wanted` bytes if the data has as many. Memory grows only with bytes read.
    /// A failure is reported only after all bytes before it have been used: the last opcodes of a snapshot
    /// may be complete although the container's check sum after them is cut off.
    fn fill(&mut self, wanted: usize) -> Result<(), ErrorKind> {
        while self.end - self.pos < wanted && !self.at_eof {
            if self.buffer.len() - self.end < CHUNK {
                self.make_room()?;
            }
            let read = match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(read) => read,
                Err(error) if error.kind() == IoErrorKind::Interrupted => continue,
                Err(error) => {
                    self.failure = Some(read_error(&error));
                    0
                }
            };
            self.at_eof = read == 0;
            self.end += read;
        }
        match &self.failure {
            Some(kind) if self.pos == self.end => Err(kind.clone()),
            _ => Ok(()),
        }
    }

    /// Drops consumed bytes, and grows the buffer only if that leaves too little room.
    fn make_room(&mut self) -> Result<(), ErrorKind> {
        self.buffer.copy_within(self.pos..self.end, 0);
        self.base += self.pos as u64;
        self.end -= self.pos;
        self.pos = 0;
        if self.buffer.len() - self.end < CHUNK {
            let length = (self.end + CHUNK).max(self.buffer.len() * 2);
            let more = length - self.buffer.len();
            self.buffer
                .try_reserve_exact(more)
                .map_err(|_full| ErrorKind::NoMemory(length as u64))?;
            self.buffer.resize(length, 0);
        }
        Ok(())
    }
}

/// Takes a container's own error out of the `io::Error` that carries it.
fn read_error(error: &std::io::Error) -> ErrorKind {
    if error.kind() == IoErrorKind::UnexpectedEof {
        return ErrorKind::Truncated("in the middle of compressed data");
    }
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
    use std::io::{BufReader, Read};

    /// Returns at most so many bytes per read.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let some = self.0.len().min(self.1).min(out.len());
            let (now, rest) = self.0.split_at(some);
            out[..some].copy_from_slice(now);
            self.0 = rest;
            Ok(some)
        }
    }

    #[test]
    fn a_line_is_the_same_however_its_bytes_come_in() {
        const MAX: usize = 1000;
        let tail = vec![b'x'; 3 * MAX];
        for (length, is_ended) in [
            (MAX, true),
            (MAX + 1, true),
            (MAX, false),
            (MAX + 1, false),
            (2 * MAX, false),
        ] {
            let mut bytes = tail[..length].to_vec();
            if is_ended {
                bytes.push(b'\n');
                bytes.extend(&tail);
            }
            for step in [1, 3, 64, 255, 257, 600, 4 * MAX] {
                let reader = BufReader::with_capacity(1, Slow(&bytes, step));
                let mut input = Input::new(Box::new(reader));
                let line = input.take_line(MAX).map(<[u8]>::len);
                let expected = match (length, is_ended) {
                    (MAX, true) => Ok(MAX),
                    (MAX, false) => Err(ErrorKind::Truncated("in the middle of a line")),
                    _ => Err(ErrorKind::Limit {
                        what: "the length of a string in bytes",
                        limit: MAX as u64,
                    }),
                };
                assert_eq!(line, expected, "{length} bytes, {step} at a time");
            }
        }
    }
}
