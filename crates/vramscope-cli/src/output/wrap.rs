//! Texts broken into lines of a given width.

use std::iter;

/// Maximum line length of sentences, in characters.
pub(crate) const PROSE_WIDTH: usize = 95;

/// Breaks a text between words into lines of at most `room` characters; a longer word has its own line. Consecutive
/// white space counts as one blank.
pub(crate) fn words(text: &str, room: usize) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    filled(words.join(" ").split_inclusive(' '), room)
}

/// The lines of a paragraph, at most `width` characters long. The first begins with `first`, the others at the same
/// column.
pub(crate) fn paragraph(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(first.len());
    let wrapped = words(text, width - first.len());
    let starts = iter::once(first).chain(iter::repeat(&*indent));
    let lines = starts.zip(wrapped.lines());
    lines
        .map(|(start, line)| format!("{start}{line}").trim_end().to_owned())
        .collect()
}

/// Breaks a text after blanks, slashes and `::`, or else anywhere, into lines of at most `room` characters.
pub(crate) fn label(text: &str, room: usize) -> String {
    let mut rest = text;
    let next = || {
        let ends = rest.match_indices([' ', '/', '\n']).map(|(at, _)| at + 1);
        let colons = rest.match_indices("::").map(|(at, _)| at + 2);
        let end = ends.take(1).chain(colons.take(1)).min();
        let end = end.unwrap_or(rest.len());
        let cut = rest[..end].char_indices().nth(room);
        let (piece, others) = rest.split_at(cut.map_or(end, |(at, _)| at));
        rest = others;
        (!piece.is_empty()).then_some(piece)
    };
    filled(iter::from_fn(next), room)
}

/// Puts as many pieces into each line as fit. Blanks at the end of a line take no room.
fn filled<'a>(pieces: impl Iterator<Item = &'a str>, room: usize) -> String {
    let (mut lines, mut taken) = (String::new(), 0);
    for piece in pieces {
        if taken > 0 && taken + piece.trim_end().chars().count() > room {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            taken = 0;
        }
        taken = match piece.ends_with('\n') {
            true => 0,
            false => taken + piece.chars().count(),
        };
        lines.push_str(piece);
    }
    lines
}
