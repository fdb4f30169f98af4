//! Anonymises labels (annotations, metadata, settings) word by word, and formatted stacks line by line.

use super::{Anonymiser, numbers, public};
use crate::analysis::memory::settings::is_known;
use crate::transfer::Rename;

/// Words that occur as values of settings.
const VALUES: [&str; 5] = [
    "True",
    "False",
    "native",
    "cudaMallocAsync",
    "hipMallocAsync",
];

impl Anonymiser {
    /// A label given by the user or the allocator. Public words, numbers of steps and the like, and punctuation stay, so
    /// `train_step 12` is still a step with a number.
    pub(super) fn label(&self, text: &str) -> String {
        if self.keeps(text) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        // Whether the last word was a counting word.
        let (mut counts, mut place) = (false, 0);
        while let Some(first) = text[place..].chars().next() {
            let rest = &text[place..];
            if !is_part(first) {
                out.push(first);
                place += first.len_utf8();
                continue;
            }
            let word = &rest[..end_of(rest, |character| !is_part(character))];
            let (length, stays) =
                if public::is_namespace(word) && rest[word.len()..].starts_with("::") {
                    let length = signature_end(rest);
                    out.push_str(&self.signature(&rest[..length]));
                    (counts, place) = (false, place + length);
                    continue;
                } else if numbers::has_digit(word) {
                    let length = numbers::group_end(rest, is_part);
                    let (group, after) = rest.split_at(length);
                    let stays = counts && numbers::is_count(group)
                        || is_counted_word(group)
                        || numbers::is_small(group) && !numbers::is_joined(&text[..place], after);
                    counts = false;
                    (length, stays)
                } else {
                    counts = public::is_counting_word(word);
                    (word.len(), counts || public::is_label_word(word))
                };
            let part = &rest[..length];
            if stays {
                out.push_str(part);
            } else {
                out.push_str(&self.tag("name", part));
            }
            place += length;
        }
        out
    }

    /// The text of the allocator's environment variable: known keys and their possible values stay.
    pub(super) fn setting(&self, text: &str) -> String {
        if self.keeps(text) {
            return text.to_owned();
        }
        let (mut is_inside, hide) = (false, |text: &str| self.tag("name", text));
        let items = text.split(|character| {
            is_inside = character == '[' || is_inside && character != ']';
            character == ',' && !is_inside
        });
        let items = items.map(|item| {
            let content = item.trim_matches(' ');
            let (key, value) = content.split_once(':').unwrap_or((content, ""));
            match (is_known(key), value) {
                _ if content.is_empty() || VALUES.contains(&content) => item.to_owned(),
                (true, "") => item.to_owned(),
                (true, value) if is_value(value) => item.to_owned(),
                (true, value) => format!("{key}:{}", hide(value)),
                (false, "") => hide(content),
                (false, value) => format!("{}:{}", hide(key), hide(value)),
            }
        });
        items.collect::<Vec<_>>().join(",")
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
        if !numbers::is_line(line) {
            return None;
        }
        let path = self.path(file);
        let function = function.map(|function| {
            let [function, _] = self.frame(function, file);
            format!(", in {function}")
        });
        let function = function.unwrap_or_default();
        Some(format!("File \"{}\", line {line}{function}", path.text))
    }
}

/// Whether a character can be part of a word in a label. Everything outside ASCII can.
fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || !character.is_ascii()
}

fn end_of(text: &str, is_end: impl Fn(char) -> bool) -> usize {
    text.find(is_end).unwrap_or(text.len())
}

/// The length of the C++ name at the beginning of a text. A number at its end that begins a group of
/// numbers belongs to the group.
fn signature_end(text: &str) -> usize {
    let end = end_of(text, |character| " \t\n\"',;".contains(character));
    let is_of_name = |character| is_part(character) || character == '_';
    let last = text[..end].trim_end_matches(is_of_name).len();
    let is_number = text[last..].starts_with(|first: char| first.is_ascii_digit());
    match is_number && numbers::group_end(&text[last..], is_part) > end - last {
        true => last,
        false => end,
    }
}

/// Whether the text is a counting word with its number, such as `layer3`.
fn is_counted_word(text: &str) -> bool {
    let word = text.trim_end_matches(|character: char| character.is_ascii_digit());
    public::is_counting_word(word) && numbers::is_count(&text[word.len()..])
}

fn is_value(text: &str) -> bool {
    let is_power = |text: &str| text.parse().is_ok_and(u32::is_power_of_two);
    let is_division = |text: &str| {
        let parts = text.split_once(':');
        parts.is_some_and(|(size, parts)| (size == ">" || is_power(size)) && is_power(parts))
    };
    let list = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_fraction = || {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        matches!(whole, "0" | "1") && numbers::is_small(part)
    };
    VALUES.contains(&text)
        || numbers::is_line(text)
        || is_fraction()
        || list.is_some_and(|list| list.split(',').all(is_division))
}
