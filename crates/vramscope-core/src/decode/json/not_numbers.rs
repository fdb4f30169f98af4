//! `NaN`, `Infinity` and `-Infinity`, which Python writes into JSON although JSON has no such numbers. serde_json refuses
//! them, so it gets zeros, and the decoder gets the value of each.

use std::cell::Cell;

/// A byte that JSON never contains.
const INVALID: u8 = 1;

/// Passes JSON on byte by byte, and replaces these words by `0` and blanks where a value may begin.
pub(super) struct NotNumbers<'c> {
    is_in_string: bool,
    is_escaped: bool,
    /// The last two bytes outside of strings, the last one second.
    before: [u8; 2],
    /// The rest of a word that began.
    rest: &'static [u8],
    /// The number that a word means, set at its beginning.
    word: &'c Cell<Option<f64>>,
}

impl<'c> NotNumbers<'c> {
    pub(super) fn new(word: &'c Cell<Option<f64>>) -> Self {
        Self {
            is_in_string: false,
            is_escaped: false,
            before: [b' '; 2],
            rest: b"",
            word,
        }
    }

    /// The byte to pass on in place of `byte`.
    #[inline]
    pub(super) fn pass(&mut self, byte: u8) -> u8 {
        if self.is_in_string {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else {
                self.is_in_string = byte != b'"';
            }
            return byte;
        }
        if let Some((&expected, rest)) = self.rest.split_first() {
            self.rest = rest;
            return if byte == expected { b' ' } else { INVALID };
        }
        let passed = match byte {
            b'"' => {
                self.is_in_string = true;
                byte
            }
            b'N' | b'I' => self.begin(byte),
            _ => byte,
        };
        self.before = [self.before[1], passed];
        passed
    }

    /// Begins a word, if a value may begin here.
    #[cold]
    fn begin(&mut self, byte: u8) -> u8 {
        let (before, infinity) = match self.before {
            [before, b'-'] => (before, f64::NEG_INFINITY),
            [_, before] => (before, f64::INFINITY),
        };
        if !matches!(before, b':' | b',' | b'[' | b' ' | b'\n' | b'\r' | b'\t') {
            return INVALID;
        }
        let (rest, value): (&[u8], _) = match byte {
            b'N' => (b"aN", f64::NAN),
            _ => (b"nfinity", infinity),
        };
        self.rest = rest;
        self.word.set(Some(value));
        b'0'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that are passed on, and the value of the last word.
    fn passed(text: &str) -> (String, Option<f64>) {
        let word = Cell::new(None);
        let mut words = NotNumbers::new(&word);
        let bytes = text.bytes().map(|byte| words.pass(byte)).collect();
        (String::from_utf8(bytes).unwrap(), word.get())
    }

    #[test]
    fn only_words_in_place_of_values_are_replaced() {
        for text in [
            r#"{"NaN": "a: NaN, \"Infinity\\", "b": [null, -1.5e-3]}"#,
            r#"["\\", ": NaN"]"#,
            "",
        ] {
            assert_eq!(passed(text), (text.to_owned(), None));
        }
        for (text, mended, last) in [
            ("[NaN, Infinity]", "[0  , 0       ]", f64::INFINITY),
            ("[NaN,-Infinity]", "[0  ,-0       ]", f64::NEG_INFINITY),
            (r#"{"\"":Infinity}"#, r#"{"\"":0       }"#, f64::INFINITY),
        ] {
            assert_eq!(passed(text), (mended.to_owned(), Some(last)));
        }
        let (mended, value) = passed("NaN");
        assert_eq!(mended, "0  ");
        assert!(value.unwrap().is_nan());
        for text in [
            "[1NaN]",
            "[1e-Infinity]",
            "[NaX]",
            "[Inf]",
            "[N,1]",
            "[nuN]",
        ] {
            let (passed, _) = passed(text);
            assert!(passed.contains('\u{1}'), "{text}");
        }
    }
}
