//! Anonymises labels (annotations, metadata, settings) word by word, and formatted stacks line by line.

use super::{Anonymiser, public};
use crate::analysis::memory::settings::is_known;
use crate::transfer::Rename;

/// Longest number kept. Longer ones may identify somebody.
const LONGEST_NUMBER: usize = 9;

impl Anonymiser {
    /// A label given by the user or the allocator. Public words, short numbers and
    /// punctuation stay, so `train_step 12` is still a step with a number.
    pub(super) fn label(&self, text: &str) -> String {
        self.words(text, char::is_alphabetic, public::is_label_word)
    }

    /// The text of the allocator's environment variable.
    pub(super) fn setting(&self, text: &str) -> String {
        const VALUES: [&str; 5] = [
            "True",
            "False",
            "native",
            "cudaMallocAsync",
            "hipMallocAsync",
        ];
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        self.words(text, is_part, |word| {
            is_known(word) || VALUES.contains(&word)
        })
    }

    /// Hashes the words for which `is_public` does not hold. Words do not begin with a digit, and may contain
    /// characters beyond ASCII.
    fn words(
        &self,
        text: &str,
        is_part: impl Fn(char) -> bool,
        is_public: impl Fn(&str) -> bool,
    ) -> String {
        let is_part = |character: char| is_part(character) || !character.is_ascii();
        let is_digit = |character: char| character.is_ascii_digit();
        let is_other = |character: char| !is_part(character) && !is_digit(character);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = match first {
                _ if is_digit(first) => rest.find(|character| !is_digit(character)),
                _ if is_part(first) => rest.find(|character| !is_part(character)),
                _ => rest.find(|character| !is_other(character)),
            };
            let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_kept = match first {
                _ if is_digit(first) => run.len() <= LONGEST_NUMBER,
                _ if is_part(first) => is_public(run),
                _ => true,
            };
            if is_kept {
                out.push_str(run);
            } else {
                out.push_str(&self.tag("name", run));
            }
            rest = after;
        }
        out
    }

    /// Lines of a stack formatted by Python. `File "train.py", line 3, in main` keeps its form; code is hashed.
    pub(super) fn trace(&self, text: &str) -> String {
        text.split_inclusive('\n')
            .map(|line| self.line(line))
            .collect()
    }

    fn line(&self, line: &str) -> String {
        let content = line.trim();
        if content.is_empty() {
            return line.to_owned();
        }
        let start = line.len() - line.trim_start().len();
        let (indent, end) = (&line[..start], &line[start + content.len()..]);
        let content = self
            .place(content)
            .unwrap_or_else(|| self.tag("code", content));
        format!("{indent}{content}{end}")
    }

    /// `File "train.py", line 3, in main`, with or without quotes and function.
    fn place(&self, content: &str) -> Option<String> {
        let rest = content.strip_prefix("File ")?;
        let (file, place) = rest.split_once(" line ")?;
        let file = file.trim_end_matches(',').trim_matches('"');
        let (line, function) = match place.split_once(", in ") {
            Some((line, function)) => (line, Some(function)),
            None => (place, None),
        };
        let line: u32 = line.parse().ok()?;
        let path = self.path(file);
        let function = function.map(|function| {
            let [function, _] = self.frame(function, file);
            format!(", in {function}")
        });
        let function = function.unwrap_or_default();
        Some(format!("File \"{}\", line {line}{function}", path.text))
    }
}
