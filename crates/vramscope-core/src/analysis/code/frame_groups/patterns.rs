//! Patterns of frames that the user hides: `torch/nn/*, einops, *_call_impl`.
//!
//! A pattern without `*` and `?` matches anywhere in a function's name or file. A pattern with them must match the
//! whole text, either as in the file or as shown (`torch/nn/modules/linear.py`, a C++ name without arguments). ASCII
//! case is ignored. There are no character classes, because `[` occurs in C++ names.

use thiserror::Error;

use crate::Snapshot;
use crate::analysis::code::call_sites::{short_function, short_path};
use crate::analysis::code::frames::clip;
use crate::ids::StringId;
use crate::model::Frame;

const MAX_PATTERNS: usize = 64;
const MAX_PATTERN_BYTES: usize = 256;
/// Longest text that is examined, in bytes.
const TEXT_LIMIT_BYTES: usize = 2048;

/// The error in a list of patterns.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PatternError {
    /// A pattern consists only of wildcards.
    #[error("\u{201c}{0}\u{201d} would fold every frame")]
    MatchesAll(String),
    /// A pattern is too long.
    #[error("a pattern has more than {MAX_PATTERN_BYTES} bytes: \u{201c}{0}\u{2026}\u{201d}")]
    TooLong(String),
    /// There are too many patterns.
    #[error("more than {MAX_PATTERNS} patterns")]
    TooMany,
}

/// Patterns of names and files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoldPatterns {
    /// In lower case, none empty.
    patterns: Vec<String>,
}

impl FoldPatterns {
    /// Reads patterns separated by commas or line breaks.
    ///
    /// # Errors
    /// If a pattern would match every frame or is too long, or if there are too many.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let mut patterns = Vec::new();
        for pattern in text.split([',', '\n']).map(str::trim) {
            if pattern.is_empty() {
                continue;
            }
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(PatternError::TooLong(clip(pattern, 24).to_owned()));
            }
            if pattern.chars().all(|c| c == '*') {
                return Err(PatternError::MatchesAll(pattern.to_owned()));
            }
            if patterns.len() == MAX_PATTERNS {
                return Err(PatternError::TooMany);
            }
            patterns.push(pattern.replace('\\', "/").to_ascii_lowercase());
        }
        Ok(Self { patterns })
    }

    /// Whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    fn matches(&self, text: &str, short: impl FnOnce(&str) -> String) -> bool {
        let lower = |text: &str| text.replace('\\', "/").to_ascii_lowercase();
        let text = clip(text, TEXT_LIMIT_BYTES);
        let (whole, short) = (lower(text), lower(&short(text)));
        self.patterns.iter().any(|pattern| {
            if pattern.contains(['*', '?']) {
                matches_glob(pattern, &whole) || matches_glob(pattern, &short)
            } else {
                whole.contains(pattern.as_str())
            }
        })
    }
}

/// Whether the whole `text` matches `pattern`. Backtracks only to the last `*`, so the time is bounded by the product
/// of the lengths.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut last_star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                last_star = Some((p, t));
                p += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star, from)) = last_star else {
                    return false;
                };
                last_star = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&rest| rest == b'*')
}

/// Matches frames. Each text is examined once, because many frames share a file or a name.
pub(super) struct Matches<'a> {
    snapshot: &'a Snapshot,
    patterns: &'a FoldPatterns,
    names: Vec<Option<bool>>,
    files: Vec<Option<bool>>,
}

impl<'a> Matches<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, patterns: &'a FoldPatterns) -> Self {
        let strings = if patterns.is_empty() {
            0
        } else {
            snapshot.strings.len()
        };
        Self {
            snapshot,
            patterns,
            names: vec![None; strings],
            files: vec![None; strings],
        }
    }

    /// Whether a frame's function or file matches.
    pub(super) fn hides(&mut self, frame: &Frame) -> bool {
        if self.patterns.is_empty() {
            return false;
        }
        let (patterns, strings) = (self.patterns, &self.snapshot.strings);
        let known = |cache: &mut Vec<Option<bool>>, id: StringId, short: fn(&str) -> String| {
            let find = || patterns.matches(strings.get(id), short);
            match cache.get_mut(id.index()) {
                Some(known) => *known.get_or_insert_with(find),
                None => find(),
            }
        };
        known(&mut self.names, frame.name, short_function)
            || known(&mut self.files, frame.filename, short_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_names_and_files_as_written_and_as_shown() {
        let matches = |patterns: &str, text: &str| {
            let patterns = FoldPatterns::parse(patterns).unwrap();
            patterns.matches(text, short_path)
        };
        let linear = "/v/Site-Packages/torch/nn/modules/linear.py";
        assert!(matches("nn/modules", linear) && matches("LINEAR", linear));
        assert!(matches("nn\\modules", linear), "Windows' separator");
        assert!(matches("modules/linear.*", linear), "as shown");
        assert!(matches("*/torch/n?/*", linear), "as written");
        assert!(!matches("torch/nn/*", linear), "not all of it");
        assert!(!matches(" , \n,", linear), "no pattern at all");
        let patterns = FoldPatterns::parse("at::native::empty*").unwrap();
        let signature = "at::Tensor at::native::empty<int>(c10::ArrayRef<long>)";
        assert!(patterns.matches(signature, short_function));
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused() {
        let error = |text: &str| FoldPatterns::parse(text).unwrap_err().to_string();
        assert_eq!(
            error("torch, **"),
            "\u{201c}**\u{201d} would fold every frame"
        );
        assert!(error(&"\u{e9}".repeat(200)).starts_with("a pattern has more than 256"));
        assert_eq!(error(&"a,".repeat(65)), "more than 64 patterns");
    }

    /// The definition of a glob, in exponential time.
    fn slow_glob(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.first(), text.first()) {
            (None, _) => text.is_empty(),
            (Some(b'*'), _) => (0..=text.len()).any(|skip| slow_glob(&pattern[1..], &text[skip..])),
            (Some(&p), Some(&t)) => (p == b'?' || p == t) && slow_glob(&pattern[1..], &text[1..]),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn globs_match_as_defined(pattern in "[ab*?]{0,6}", text in "[ab]{0,8}") {
            let slow = slow_glob(pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(matches_glob(&pattern, &text), slow);
        }
    }
}
