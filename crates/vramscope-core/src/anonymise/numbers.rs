//! Decides which numbers in texts stay.

const ALONE: usize = 4;

/// Most digits of a number, or of two, after a counting word (`step 120000`, `step 12/100`).
const COUNTED: usize = 7;

/// Whether the text is a number of at most `most` digits.
fn is_short(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a number may stay anywhere: one of up to 4 digits.
pub(super) fn is_small(text: &str) -> bool {
    is_short(text, ALONE)
}

/// Whether a number may stay as a line number: one of up to 6 digits.
pub(super) fn is_line(text: &str) -> bool {
    is_short(text, 6)
}

/// Whether the text can follow a counting word: `12` or `12/100`.
pub(super) fn is_count(text: &str) -> bool {
    match text.split_once('/') {
        Some((count, of)) => {
            is_short(count, COUNTED) && is_short(of, COUNTED.saturating_sub(count.len()))
        }
        None => is_short(text, COUNTED),
    }
}

/// Whether the text is a number in a C++ name: `128`, `0x7f`, `16ul`.
pub(super) fn is_literal(text: &str) -> bool {
    let digits = text.trim_end_matches(['u', 'l', 'U', 'L']);
    match digits.strip_prefix("0x") {
        Some(hex) => {
            (1..=ALONE).contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        None => is_small(digits) && text.len() <= digits.len() + 3,
    }
}

/// The length of the group of numbers at the beginning of a text: an address, a date, a card number, a phone number.
/// Each part but the first begins with a digit, and only punctuation is between parts. `is_part` says which characters
/// make up a part.
pub(super) fn group_end(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    let end_of = |from: usize| {
        text[from..]
            .find(|character| !is_part(character))
            .map_or(text.len(), |at| from + at)
    };
    let mut end = end_of(0);
    loop {
        let next = text[end..].find(&is_part).map_or(text.len(), |at| end + at);
        let next_end = end_of(next);
        if next == end || !text[next..].starts_with(|first: char| first.is_ascii_digit()) {
            return end;
        }
        end = next_end;
    }
}

pub(super) fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a number is joined to a word, as in `acct:1234` and `12-alice`.
pub(super) fn is_joined(before: &str, after: &str) -> bool {
    let is_joint = |character: char| "-.:+/@\\".contains(character);
    let is_text = |character: char| character.is_alphanumeric() || !character.is_ascii();
    let joins = |mut characters: Box<dyn Iterator<Item = char> + '_>| {
        characters.next().is_some_and(is_joint) && characters.next().is_some_and(is_text)
    };
    joins(Box::new(before.chars().rev())) || joins(Box::new(after.chars()))
}
