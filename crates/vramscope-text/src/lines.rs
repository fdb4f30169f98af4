//! Lines of a text, and what shows that a line is not a report of its own.

use memchr::{memchr, memrchr};

use crate::compact::{Compact, prefix};

/// How much text after a line may belong to it: longer than the first words of any message, even if broken.
pub(crate) const HEAD: usize = 200;

/// How far from a failure the text may say that it is none.
const NEAR: usize = 1 << 10;

/// Whether a line is source code, as in tracebacks: its message was not printed.
pub(crate) fn is_source(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 16] = [
        b"print(",
        b"raise ",
        b"except ",
        b"except(",
        b"logger.",
        b"logging.",
        b"warnings.",
        b"throw ",
        b"catch ",
        b"} catch",
        b"if ",
        b"elif ",
        b"assert ",
        b"printf(",
        b"fprintf(",
        b"std::cerr",
    ];
    let line = &line[prefix(line).min(line.len())..];
    BEGINNINGS
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// Whether the text around a position says that a time limit was reached, which gets jobs killed as well.
pub(crate) fn is_of_time_limit(window: &[u8], at: usize) -> bool {
    const WORDS: [&[u8]; 4] = [b"TIME LIMIT", b"time limit", b"TIMEOUT", b"walltime"];
    let near = &window[at.saturating_sub(NEAR)..window.len().min(at + NEAR)];
    WORDS
        .iter()
        .any(|word| memchr::memmem::find(near, word).is_some())
}

/// The text after a line, without white space. If only the line's end follows, that remains: the line is whole.
pub(crate) fn after(window: &[u8], end: usize) -> Vec<u8> {
    let rest = &window[end..window.len().min(end + HEAD)];
    let compact = Compact::of(rest).bytes;
    match compact.is_empty() && rest.contains(&b'\n') {
        true => b"\n".to_vec(),
        false => compact,
    }
}

/// The line around a position, and its beginning; of a long line only so many bytes on each side.
pub(crate) fn line_around(window: &[u8], at: usize, near: usize) -> (usize, &[u8]) {
    let least = at.saturating_sub(near);
    let start = memrchr(b'\n', &window[least..at]).map_or(least, |end| least + end + 1);
    let rest = &window[at..window.len().min(at + near)];
    let end = at + memchr(b'\n', rest).unwrap_or(rest.len());
    (start, &window[start..end])
}
