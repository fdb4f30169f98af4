//! Lone surrogates in JSON, such as `"\ud800"`: halves of characters. Python writes them for file names that are not
//! UTF-8. serde_json refuses them, so they are replaced before it sees them.

use std::cell::Cell;
use std::io::{self, BufRead, Read};

/// The longest escape: two surrogates that make one character.
const PAIR_BYTES: usize = 12;
/// An escape such as `\u20ac`.
const ESCAPE_BYTES: usize = 6;

/// Passes JSON on, with U+FFFD instead of lone surrogates. The number of bytes stays the same.
pub(super) struct Paired<'c, R> {
    input: R,
    /// Bytes that were read ahead to examine an escape.
    ahead: Vec<u8>,
    /// Length of the bytes known to be valid, at the front of `ahead` or, if that is empty, of the input.
    sound: usize,
    /// Set when a surrogate is replaced.
    was_lone: &'c Cell<bool>,
}

impl<'c, R: BufRead> Paired<'c, R> {
    pub(super) fn new(input: R, was_lone: &'c Cell<bool>) -> Self {
        Self {
            input,
            ahead: Vec::with_capacity(PAIR_BYTES),
            sound: 0,
            was_lone,
        }
    }

    /// Finds the next valid bytes: those before an escape, or else the escape.
    fn look(&mut self) -> io::Result<()> {
        let next = match self.ahead.is_empty() {
            true => self.input.fill_buf()?,
            false => &self.ahead,
        };
        self.sound = match memchr::memchr(b'\\', next) {
            Some(0) => self.escape()?,
            Some(before) => before,
            None => next.len(),
        };
        Ok(())
    }

    /// Reads the escape at the front, repairs it, and returns its length.
    fn escape(&mut self) -> io::Result<usize> {
        self.read_ahead(ESCAPE_BYTES)?;
        let Some(unit) = self.unit_at(0) else {
            return Ok(self.ahead.len().min(2));
        };
        let is_pair = match unit {
            0xd800..=0xdbff => {
                self.read_ahead(PAIR_BYTES)?;
                matches!(self.unit_at(ESCAPE_BYTES), Some(0xdc00..=0xdfff))
            }
            0xdc00..=0xdfff => false,
            _ => return Ok(ESCAPE_BYTES),
        };
        if is_pair {
            return Ok(PAIR_BYTES);
        }
        if let Some(digits) = self.ahead.get_mut(2..ESCAPE_BYTES) {
            digits.copy_from_slice(b"fffd");
        }
        self.was_lone.set(true);
        Ok(ESCAPE_BYTES)
    }

    /// Reads until `length` bytes are available, or to the end.
    fn read_ahead(&mut self, length: usize) -> io::Result<()> {
        let missing = length.saturating_sub(self.ahead.len());
        let limited = &mut self.input;
        limited.take(missing as u64).read_to_end(&mut self.ahead)?;
        Ok(())
    }

    /// The UTF-16 unit of the escape at `place`.
    fn unit_at(&self, place: usize) -> Option<u16> {
        let digits = self.ahead.get(place..)?.strip_prefix(b"\\u")?.get(..4)?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = str::from_utf8(digits).ok().filter(|_| is_hex)?;
        u16::from_str_radix(digits, 16).ok()
    }
}

impl<R: BufRead> Read for Paired<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Paired<'_, R> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.sound == 0 {
            self.look()?;
        }
        let next = match self.ahead.is_empty() {
            true => self.input.fill_buf()?,
            false => &self.ahead,
        };
        Ok(next.get(..self.sound).unwrap_or(next))
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.sound = self.sound.saturating_sub(count);
        match self.ahead.is_empty() {
            true => self.input.consume(count),
            false => drop(self.ahead.drain(..count.min(self.ahead.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    /// The output when reading through a buffer of each size, and whether a surrogate was lone.
    fn passed(text: &str) -> (String, bool) {
        let mut answers = (1..20).map(|size| {
            let was_lone = Cell::new(false);
            let mut passed = String::new();
            Paired::new(BufReader::with_capacity(size, text.as_bytes()), &was_lone)
                .read_to_string(&mut passed)
                .unwrap();
            (passed, was_lone.get())
        });
        let first = answers.next().unwrap();
        assert!(answers.all(|answer| answer == first), "{text}");
        first
    }

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for text in [
            r#"{"a": "plain"}"#,
            r#""\ud83d\ude00 \u20ac \n \\ud800 \\\\udc00 \"""#,
            r#""\uD83D\uDE00\uD83D\uDE00""#,
            r#""\ud83"#,
            r#""\ud8x0" "\"#,
            "",
        ] {
            assert_eq!(passed(text), (text.to_owned(), false));
        }
        for (text, mended) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\udC00x""#, r#""\ufffdx""#),
            (r#""\ud800\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud800\ud800\\\udfff""#, r#""\ufffd\ufffd\\\ufffd""#),
            (r#""\ud800\n\u20ac""#, r#""\ufffd\n\u20ac""#),
            (r#""\ud800"#, r#""\ufffd"#),
        ] {
            assert_eq!(passed(text), (mended.to_owned(), true), "{text}");
        }
    }
}
