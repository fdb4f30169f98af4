//! Text patterns with the wildcard `*`. Matching ignores case.

use std::fmt;

use memchr::memmem::Finder;

use super::parser;
use super::term::{Expression, Term};
use crate::invisible;

/// A text to search for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The text as the user wrote it, without quotes. Bidirectional controls match their escapes, which is what a user
    /// sees.
    pub text: String,
    /// Whether `*` matches only an asterisk, as it does in quotes.
    pub is_literal: bool,
    /// Whether the pattern must match the whole text instead of a part of it.
    pub is_whole: bool,
}

impl Pattern {
    /// Writes `before` and the pattern. Adds quotes unless the unquoted text parses to a term for which `reads_back` is
    /// true.
    pub(super) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        before: &str,
        reads_back: impl Fn(&Term) -> bool,
    ) -> fmt::Result {
        let text = invisible::escaped(&self.text);
        let plain = format!("{before}{text}");
        if let Ok(Expression::Term(term)) = parser::parse(&plain)
            && reads_back(&term)
        {
            return f.write_str(&plain);
        }
        write!(f, "{before}\"")?;
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                f.write_str("\\")?;
            }
            write!(f, "{character}")?;
        }
        f.write_str("\"")
    }
}

/// Where in a text a pattern must match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    /// Anywhere.
    Part,
    /// At the end of the text.
    End,
    /// From the beginning to the end of the text.
    Whole,
}

/// A pattern prepared for searching many texts.
pub struct Matcher {
    /// The texts between wildcards, in lower case and in order; none is empty.
    pieces: Vec<Finder<'static>>,
    from_start: bool,
    to_end: bool,
    scratch: String,
}

impl Matcher {
    /// Prepares a pattern.
    #[must_use]
    pub fn new(pattern: &Pattern) -> Self {
        let anchor = if pattern.is_whole {
            Anchor::Whole
        } else {
            Anchor::Part
        };
        Self::of_text(&pattern.text, pattern.is_literal, anchor)
    }

    /// Prepares a text with an explicit anchor.
    pub(super) fn of_text(text: &str, is_literal: bool, anchor: Anchor) -> Self {
        let mut folded = String::new();
        fold(text, &mut folded);
        let stars = !is_literal;
        let pieces: Vec<&str> = if is_literal {
            vec![&folded]
        } else {
            folded.split('*').collect()
        };
        let open_start = stars && folded.starts_with('*');
        let open_end = stars && folded.ends_with('*');
        Self {
            pieces: pieces
                .into_iter()
                .filter(|piece| !piece.is_empty())
                .map(|piece| Finder::new(piece).into_owned())
                .collect(),
            from_start: anchor == Anchor::Whole && !open_start,
            to_end: anchor != Anchor::Part && !open_end,
            scratch: String::new(),
        }
    }

    /// Whether the pattern matches `text`.
    pub fn matches(&mut self, text: &str) -> bool {
        fold(text, &mut self.scratch);
        let mut rest = self.scratch.as_bytes();
        if self.pieces.is_empty() {
            // `*` alone matches every text. An empty pattern matches every text as a part, and only the empty text as a
            // whole.
            return !(self.from_start && self.to_end) || rest.is_empty();
        }
        let last = self.pieces.len() - 1;
        for (place, piece) in self.pieces.iter().enumerate() {
            let needle = piece.needle();
            let starts = place == 0 && self.from_start;
            if place == last && self.to_end {
                // The last piece is anchored at the end, so other places need not be tried.
                return rest.ends_with(needle) && (!starts || rest.len() == needle.len());
            }
            let Some(at) = piece.find(rest).filter(|&at| !starts || at == 0) else {
                return false;
            };
            rest = &rest[at + needle.len()..];
        }
        true
    }
}

/// Writes `text` to `out` in lower case, with escapes for invisible characters.
fn fold(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
    } else {
        let text = invisible::escaped(text);
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pattern: &str, anchor: Anchor, text: &str) -> bool {
        Matcher::of_text(pattern, false, anchor).matches(text)
    }

    #[test]
    fn stars_and_case() {
        for (pattern, anchor, text, expected) in [
            ("WARD", Anchor::Part, "forward", true),
            ("f*d", Anchor::Part, "xforwardx", true),
            ("f*d", Anchor::Whole, "forward", true),
            ("f*d", Anchor::Whole, "forwards", false),
            ("f", Anchor::Whole, "ff", false),
            ("ab", Anchor::Whole, "ab", true),
            ("a*a", Anchor::Whole, "a", false),
            ("*.py", Anchor::Whole, "model.py", true),
            ("model.py", Anchor::End, "/x/model.py", true),
            ("model.py", Anchor::End, "/x/model.pyc", false),
            ("*", Anchor::Whole, "", true),
            ("straße", Anchor::Part, "STRAßE", true),
            ("a\\u202Eb", Anchor::Part, "xa\u{202e}bx", true),
            ("a\u{202e}b", Anchor::Part, "xa\u{202e}bx", true),
        ] {
            assert_eq!(
                found(pattern, anchor, text),
                expected,
                "{pattern} in {text}"
            );
        }
        assert!(!Matcher::of_text("f*d", true, Anchor::Part).matches("forward"));
        assert!(Matcher::of_text("f*d", true, Anchor::Part).matches("xF*dx"));
    }

    /// Reference for whole texts: tries every length for each wildcard.
    fn slow(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|skip| slow(rest, &text[skip..])),
            Some((first, rest)) => text
                .split_first()
                .is_some_and(|(c, tail)| c.eq_ignore_ascii_case(first) && slow(rest, tail)),
        }
    }

    proptest! {
        #[test]
        fn as_the_slow_one(pattern in "[abA*]{1,5}", text in "[abB]{0,7}") {
            let whole = slow(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(found(&pattern, Anchor::Whole, &text), whole);
            let part = slow(format!("*{pattern}*").as_bytes(), text.as_bytes());
            prop_assert_eq!(found(&pattern, Anchor::Part, &text), part);
            let end = slow(format!("*{pattern}").as_bytes(), text.as_bytes());
            prop_assert_eq!(found(&pattern, Anchor::End, &text), end);
        }
    }
}
