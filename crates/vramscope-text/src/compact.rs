//! A part of a text without anything that logs, terminals and forums insert: white space and line breaks, colours, and the
//! prefix of each log line.
//!
//! Messages are broken anywhere, even within a word. Without white space the position of a break does not matter.

/// A part of a text without white space.
#[derive(Default)]
pub(crate) struct Compact {
    pub(crate) bytes: Vec<u8>,
    /// The position of each byte in the text.
    places: Vec<u32>,
}

/// The longest prefix of a line that is skipped, in bytes.
const LONGEST_PREFIX: usize = 200;
/// The longest group in brackets within a prefix.
const LONGEST_GROUP: usize = 100;

impl Compact {
    /// For a text that begins at the beginning of a line. Its own prefix is kept, because it may be more than a prefix.
    pub(crate) fn of(text: &[u8]) -> Self {
        let mut compact = Self::default();
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            match byte {
                0x1b => at += escape(&text[at..]),
                b'\n' => {
                    at += 1;
                    at += prefix(&text[at..]);
                }
                // An escaped line break, from a text inside a text.
                b'\\' if text.get(at + 1) == Some(&b'n') => at += 2,
                0..=b' ' => at += 1,
                _ => {
                    compact.bytes.push(byte);
                    compact.places.push(u32::try_from(at).unwrap_or(u32::MAX));
                    at += 1;
                }
            }
        }
        compact
    }

    /// The end in the text of the byte before `at`.
    pub(crate) fn end(&self, at: usize) -> usize {
        at.checked_sub(1)
            .and_then(|last| self.places.get(last))
            .map_or(0, |&place| place as usize + 1)
    }

    /// The position in the text of the byte at `at`.
    pub(crate) fn start(&self, at: usize) -> usize {
        self.places
            .get(at)
            .map_or_else(|| self.end(at), |&place| place as usize)
    }
}

/// The length of a terminal escape sequence.
fn escape(text: &[u8]) -> usize {
    if text.get(1) != Some(&b'[') {
        return 1;
    }
    let rest = text[2..].iter().take(32);
    match rest.clone().position(|byte| (0x40..=0x7e).contains(byte)) {
        Some(last) => 3 + last,
        None => 1,
    }
}

/// The length of the prefix that a log puts before a line: quotes, ranks, processes, times, levels.
pub(crate) fn prefix(line: &[u8]) -> usize {
    let line = &line[..line.len().min(LONGEST_PREFIX)];
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let step = match rest[0] {
            b' ' | b'\t' | b'\r' | b'>' => 1,
            0x1b => escape(rest),
            // Bars of containers, and marks of comments.
            b'|' | b'#' if rest.get(1) == Some(&b' ') => 2,
            b'[' => group(rest, b']', |_| true),
            b'(' => group(rest, b')', |inside| {
                [&b"pid="[..], b"Worker", b"EngineCore"]
                    .iter()
                    .any(|word| memchr::memmem::find(inside, word).is_some())
            }),
            b'0'..=b'9' => time(rest),
            b'A'..=b'Z' | b'a'..=b'z' => level(rest).max(container(rest)),
            _ => 0,
        };
        if step == 0 {
            break;
        }
        at += step;
    }
    at
}

/// The length of a group in brackets, including a colon after it. Sizes do not belong to a prefix.
fn group(text: &[u8], end: u8, fits: impl Fn(&[u8]) -> bool) -> usize {
    let text = &text[..text.len().min(LONGEST_GROUP)];
    let Some(last) = memchr::memchr(end, text) else {
        return 0;
    };
    let inside = &text[1..last];
    if !fits(inside) || memchr::memmem::find(inside, b"iB").is_some() {
        return 0;
    }
    last + 1 + usize::from(text.get(last + 1) == Some(&b':'))
}

/// The length of a date or time of day. A number alone may be a part of a broken text.
fn time(text: &[u8]) -> usize {
    let is_of_time = |byte: &&u8| {
        matches!(
            byte,
            b'0'..=b'9' | b':' | b'-' | b'.' | b',' | b'T' | b'Z' | b'+' | b'/'
        )
    };
    let length = text.iter().take_while(is_of_time).count();
    let word = &text[..length];
    let count = |wanted: u8| word.iter().filter(|&&byte| byte == wanted).count();
    let is_time = count(b':') >= 2 || count(b'-') >= 2 || count(b'/') >= 2;
    let is_day = length == 5 && word[2] == b'-' && text.get(8) == Some(&b':');
    match is_time || is_day {
        true => length,
        false => 0,
    }
}

fn level(text: &[u8]) -> usize {
    const LEVELS: [&str; 9] = [
        "INFO", "WARNING", "WARN", "ERROR", "DEBUG", "CRITICAL", "stderr", "stdout", "Error",
    ];
    let fits = |level: &&&str| {
        let rest = text.strip_prefix(level.as_bytes());
        rest.is_some_and(|rest| matches!(rest.first(), Some(b' ' | b':' | b'|')))
    };
    LEVELS.iter().find(fits).map_or(0, |level| level.len() + 1)
}

/// The length of a container's name before a bar.
fn container(text: &[u8]) -> usize {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = text.iter().take_while(is_of_name).count();
    let spaces = text[name..]
        .iter()
        .take_while(|&&byte| byte == b' ')
        .count();
    match text[name + spaces..].starts_with(b"| ") {
        true => name + spaces + 2,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compact(text: &str) -> String {
        String::from_utf8(Compact::of(text.as_bytes()).bytes).unwrap()
    }

    #[test]
    fn breaks_colours_and_prefixes_go() {
        let whole = "CUDAoutofmemory.Triedtoallocate20.00MiB.GPU0";
        for text in [
            "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0",
            "CUDA out of mem\nory. Tried to allocate 2\n0.00 MiB. GPU 0",
            "CUDA out of memory.\n[rank3]: Tried to allocate \x1b[31m20.00\x1b[0m MiB. GPU 0",
            "CUDA out of memory. Tried to\n(Worker_TP2 pid=99) ERROR 04-09 20:31:10 [multiproc.py:949] allocate 20.00 MiB. GPU 0",
            "CUDA out of memory. Tried to allocate\n2025-11-14T08:52:38.37Z 20.00 MiB. GPU 0",
            "CUDA out of memory. Tried\ndeep-seek-1  | to allocate 20.00 MiB.\n> GPU 0",
            "CUDA out of memory. Tried\n # to allocate 20.00 MiB.\n# GPU 0",
            "CUDA out of memory.\\nTried to allocate 20.00 MiB. GPU 0",
        ] {
            assert_eq!(compact(text), whole, "{text}");
        }
        // The rest of a broken number is not a time.
        assert_eq!(compact("of\n22.26 GiB"), "of22.26GiB");
        assert_eq!(compact("1\n2 GiB"), "12GiB");
    }
}
