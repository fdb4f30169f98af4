//! The reader that serde_json reads from.

use std::cell::Cell;
use std::io::{self, BufRead, Read};

use super::not_numbers::NotNumbers;
use super::surrogates::Paired;
use crate::ErrorKind;

/// Most bytes taken from the input at once.
const TAKEN_BYTES: usize = 4096;

/// Counts the bytes read, and limits the length of a token, because serde_json buffers a whole string before it returns
/// the string.
pub(super) struct Tap<'a, 'c> {
    input: Paired<'c, Box<dyn BufRead + 'a>>,
    /// Bytes taken from the input, never beyond the next escape, so that a flag is not set long before its place.
    taken: Vec<u8>,
    /// Number of `taken` bytes already passed on.
    at: usize,
    words: NotNumbers<'c>,
    offset: &'c Cell<u64>,
    /// The offset at which the last token ended.
    token: &'c Cell<u64>,
    longest: u64,
}

impl<'a, 'c> Tap<'a, 'c> {
    /// `told` are set when a lone surrogate or a word for a number is replaced. `places` are the current offset and the one
    /// at which the last token ended. No token may be longer than `longest` bytes.
    pub(super) fn new(
        input: Box<dyn BufRead + 'a>,
        told: (&'c Cell<bool>, &'c Cell<Option<f64>>),
        places: (&'c Cell<u64>, &'c Cell<u64>),
        longest: u64,
    ) -> Self {
        Self {
            input: Paired::new(input, told.0),
            taken: Vec::with_capacity(TAKEN_BYTES),
            at: 0,
            words: NotNumbers::new(told.1),
            offset: places.0,
            token: places.1,
            longest,
        }
    }

    /// Reads to the end, so that a container can verify its check sums. Returns whether only white space was left.
    pub(super) fn read_rest(&mut self) -> io::Result<bool> {
        self.longest = u64::MAX;
        let mut is_blank = true;
        let mut rest = [0; TAKEN_BYTES];
        loop {
            let count = self.read(&mut rest)?;
            let Some(rest @ [_, ..]) = rest.get(..count) else {
                return Ok(is_blank);
            };
            is_blank &= rest
                .iter()
                .all(|byte| byte.is_ascii_whitespace() || *byte == 0);
        }
    }

    #[cold]
    fn take(&mut self) -> io::Result<()> {
        let available = self.input.fill_buf()?;
        let count = available.len().min(TAKEN_BYTES);
        self.taken.clear();
        self.taken.extend(available.iter().take(count));
        self.at = 0;
        self.input.consume(count);
        Ok(())
    }
}

impl Read for Tap<'_, '_> {
    /// Has a fast path for single bytes, which is how serde_json reads.
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.taken.len() {
            self.take()?;
        }
        let taken = self.taken.get(self.at..).unwrap_or_default();
        let count = taken.len().min(out.len());
        for (to, from) in out.iter_mut().zip(taken) {
            *to = self.words.pass(*from);
        }
        self.at += count;
        let offset = self.offset.get() + count as u64;
        self.offset.set(offset);
        if offset - self.token.get() > self.longest {
            let what = "the length of a string or number in bytes";
            return Err(io::Error::other(ErrorKind::Limit {
                what,
                limit: self.longest,
            }));
        }
        Ok(count)
    }
}
