//! The text of the search box: the caret's places, completions from the list, and sentences on the matches.

use std::ops::Range;

use vramscope_core::analysis::search::filter::{Candidate, CandidateKind};
use vramscope_protocol::views::filter::SearchResult;
use vramscope_view::display;

use super::sentences::count_of;

/// The byte of `text` after a number of UTF-16 units, in which browsers count.
#[must_use]
pub fn byte_at(text: &str, units: u32) -> usize {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= units {
            return at;
        }
        passed += character.len_utf16() as u32;
    }
    text.len()
}

/// The number of UTF-16 units before a byte of `text`.
#[must_use]
pub fn units_at(text: &str, byte: usize) -> u32 {
    let before = &text[..text.floor_char_boundary(byte)];
    before.encode_utf16().count() as u32
}

/// The text with a completion in place of `span`, and the caret after it. A whole term gets a space, so that the next
/// one can follow.
#[must_use]
pub fn accept(text: &str, span: Range<usize>, candidate: &Candidate) -> (String, usize) {
    let (Some(before), Some(after)) = (text.get(..span.start), text.get(span.end..)) else {
        return (text.to_owned(), text.len());
    };
    let ends_term = candidate.kind == CandidateKind::Term && !after.starts_with([' ', ')', '|']);
    let space = if ends_term { " " } else { "" };
    let begun = format!("{before}{}{space}", candidate.text);
    let caret = begun.len();
    (begun + after, caret)
}

/// The parts of `text` before, within and after `span`.
#[must_use]
pub fn split(text: &str, span: &Range<usize>) -> (String, String, String) {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default().to_owned();
    let end = span.end.min(text.len());
    let start = span.start.min(end);
    (part(0..start), part(start..end), part(end..text.len()))
}

/// `12 matches, at most 3.10 GiB`: the most bytes of them at one time.
#[must_use]
pub fn found_text(found: &SearchResult) -> String {
    let matches = &found.matches;
    match matches.count {
        0 => "no matches".to_owned(),
        count => format!(
            "{}, at most {}",
            count_of(count, "match", "matches"),
            display::bytes(matches.highest_bytes)
        ),
    }
}

/// An explanation of the numbers of [`found_text`].
#[must_use]
pub fn found_title(found: &SearchResult) -> String {
    let matches = &found.matches;
    format!(
        "{} of {}. At most {} of them live at one time (after event {}), {} live at event {}; {} requested over time.",
        count_of(matches.count, "allocation", "allocations"),
        display::count(found.all_count),
        display::bytes(matches.highest_bytes),
        display::count(u64::from(matches.highest_moment)),
        display::bytes(matches.live_bytes),
        display::count(u64::from(found.moment)),
        display::bytes(matches.bytes),
    )
}

/// `showing 1,204 of 50,000 allocations, 2.10 of 31.2 GiB at the peak`; within memory pools
/// `showing 1,204 of 9,000 allocations of pool:1,0, …`. `when` is the moment in words, see
/// [`sentences::live_when`](super::sentences::live_when).
#[must_use]
pub fn showing(found: &SearchResult, when: &str, pools: Option<&str>) -> String {
    let (some, all) = (
        display::bytes(found.matches.live_bytes),
        display::bytes(found.all_live_bytes),
    );
    // A common unit is written once.
    let some = match (some.rsplit_once(' '), all.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => number,
        _ => &some,
    };
    let of_pools = pools.map_or_else(String::new, |pools| format!(" of {pools}"));
    format!(
        "showing {} of {}{of_pools}, {some} of {all} {when}",
        display::count(found.matches.count),
        count_of(found.all_count, "allocation", "allocations"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::search::filter::Totals;

    #[test]
    fn carets_are_counted_as_browsers_do() {
        let text = "aé𝄞b";
        for (byte, units) in [(0, 0), (1, 1), (3, 2), (7, 4), (8, 5)] {
            assert_eq!(byte_at(text, units), byte);
            assert_eq!(units_at(text, byte), units);
        }
        assert_eq!(byte_at(text, 99), 8);
    }

    #[test]
    fn words_are_taken() {
        let candidate = |text: &str, kind| Candidate {
            text: text.to_owned(),
            help: String::new(),
            kind,
        };
        let key = candidate("size>", CandidateKind::Key);
        assert_eq!(accept("a si b", 2..4, &key), ("a size> b".to_owned(), 7));
        let term = candidate("freed", CandidateKind::Term);
        assert_eq!(accept("a fr", 2..4, &term), ("a freed ".to_owned(), 8));
        assert_eq!(accept("(fr)", 1..3, &term), ("(freed)".to_owned(), 6));
        assert_eq!(accept("é", 1..1, &term).0, "é");
    }

    #[test]
    fn what_is_found_is_said() {
        let found = SearchResult {
            matches: Totals {
                count: 1204,
                live_bytes: (21 << 30) / 10,
                highest_bytes: 3 << 30,
                ..Totals::default()
            },
            all_count: 50_000,
            all_live_bytes: 33_554_432_000,
            moment: 7,
            notes: Vec::new(),
        };
        assert_eq!(found_text(&found), "1,204 matches, at most 3.00 GiB");
        assert_eq!(
            showing(&found, "at the peak", None),
            "showing 1,204 of 50,000 allocations, 2.10 of 31.3 GiB at the peak"
        );
    }
}
