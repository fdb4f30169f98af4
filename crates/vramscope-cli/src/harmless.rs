//! A filter for terminal output, so that escape sequences in a file have no effect.

use std::io::{self, Write};
use std::str;

use vramscope_core::invisible::{self, escaped_line};

/// Replaces control characters other than line breaks and tabs, and invalid UTF-8, by U+FFFD: old terminals accept
/// single bytes as control characters. Invisible characters become escapes, which JSON can read back.
pub(crate) struct Harmless<W> {
    out: W,
    /// The start of a character that continues in the next write; at most three bytes.
    tail: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    pub(crate) fn new(out: W) -> Self {
        let tail = Vec::new();
        Self { out, tail }
    }

    /// Decodes the text that is complete.
    fn text(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.tail);
        all.extend_from_slice(bytes);
        let mut text = String::with_capacity(all.len());
        let mut rest = all.as_slice();
        loop {
            match str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(&harmless(valid, &['\n', '\t']));
                    return text;
                }
                Err(error) => {
                    let (valid, others) = rest.split_at(error.valid_up_to());
                    text.push_str(&harmless(&String::from_utf8_lossy(valid), &['\n', '\t']));
                    let Some(wrong) = error.error_len() else {
                        self.tail = others.to_vec();
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    rest = &others[wrong..];
                }
            }
        }
    }
}

/// Replaces control characters except those in `kept`, and escapes invisible ones.
fn harmless(text: &str, kept: &[char]) -> String {
    let is_harmful = |character: char| character.is_control() && !kept.contains(&character);
    invisible::escaped(text).replace(is_harmful, REPLACEMENT)
}

const REPLACEMENT: &str = "\u{fffd}";

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = self.text(bytes);
        self.out.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    /// Writes U+FFFD for a character that is still incomplete, so that nothing is held back.
    fn flush(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.tail).is_empty() {
            write!(self.out, "{}", char::REPLACEMENT_CHARACTER)?;
        }
        self.out.flush()
    }
}

/// A text on one line, in which nothing can move the cursor, reorder the output, or act as a command anywhere. Names in
/// a file may contain any character, such as a terminal's escape sequences or the commands of CI systems.
pub(crate) fn printable(text: &str) -> String {
    without_commands(harmless(text, &['\n']).replace('\n', " "))
}

/// Breaks the commands that CI systems look for in output: `::error::TEXT` at the beginning of a line (GitHub),
/// `##[error]TEXT`, `##vso[…]`, `##teamcity[…]` and the like anywhere (GitHub, Azure, TeamCity).
fn without_commands(mut text: String) -> String {
    let after = text.trim_start().strip_prefix("::");
    if after.is_some_and(|after| after.contains("::")) {
        text.insert_str(0, REPLACEMENT);
    }
    let mut from = 0;
    while let Some(found) = text[from..].find("##") {
        from += found + 2;
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '#';
        if text[from..].trim_start_matches(is_name).starts_with('[') {
            text.insert_str(from, REPLACEMENT);
        }
    }
    text
}

/// A writer of JSON in which no CI system finds a command: the second of two `#` is written as an escape, which JSON
/// reads back.
pub(crate) struct HarmlessJson<W> {
    out: W,
    follows_hash: bool,
}

impl<W: Write> HarmlessJson<W> {
    pub(crate) fn new(out: W) -> Self {
        let follows_hash = false;
        Self { out, follows_hash }
    }
}

impl<W: Write> Write for HarmlessJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Outside strings there is no `#`.
        for piece in bytes.split_inclusive(|&byte| byte == b'#') {
            match piece {
                b"#" if self.follows_hash => self.out.write_all(b"\\u0023")?,
                _ => self.out.write_all(piece)?,
            }
            self.follows_hash = piece.ends_with(b"#");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Maximum length of a name or cell in text, in characters; JSON and CSV have all of it. All rows of a table are as
/// wide as the widest, so a name of a megabyte would fill the disk.
const LONGEST: usize = 1000;

/// Like [`printable`], cut to 1,000 characters with `…` at the end: for texts from a file inside an answer.
pub(crate) fn printable_cell(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST) else {
        return printable(text);
    };
    printable(&text[..end]) + "…"
}

/// A name quoted for a shell, which cannot be taken for an option and looks the same everywhere: characters that move
/// the cursor, are invisible, or form a CI command become escapes, as bash, zsh and ksh read them in `$'…'`.
pub(crate) fn quoted(name: &str) -> String {
    let here = if name.starts_with('-') { "./" } else { "" };
    let name = format!("{here}{name}");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if printable(&name) != name {
        let escaped = |character: char| match character {
            '\\' | '\'' => format!("\\{character}"),
            '\0'..' ' | '#' | ':' | '\x7f' => format!("\\{:03o}", u32::from(character)),
            _ if escaped_line(character.encode_utf8(&mut [0; 4])) == character.to_string() => {
                character.to_string()
            }
            _ => format!("\\U{:08x}", u32::from(character)),
        };
        return format!("$'{}'", name.chars().map(escaped).collect::<String>());
    }
    match !name.is_empty() && name.bytes().all(is_plain) {
        true => name,
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]]) -> String {
        let mut out = Harmless::new(Vec::new());
        for piece in pieces {
            out.write_all(piece).unwrap();
        }
        out.flush().unwrap();
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn control_characters_are_replaced() {
        let text = "a\u{9b}31m\u{1b}]0;pwned\u{7}\tb\r\nc\u{7f}\0";
        let shown = "a\u{fffd}31m\u{fffd}]0;pwned\u{fffd}\tb\u{fffd}\nc\u{fffd}\u{fffd}";
        assert_eq!(written(&[text.as_bytes()]), shown);
    }

    #[test]
    fn wherever_it_is_split() {
        let text = "a\u{9b}é€😀\u{85}\n😀".as_bytes();
        let whole = "a\u{fffd}é€😀\u{fffd}\n😀";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(written(&pieces), whole, "{first} {second}");
            }
        }
        let bytes: Vec<_> = text.chunks(1).collect();
        assert_eq!(written(&bytes), whole);
    }

    #[test]
    fn what_is_no_utf_8_is_replaced() {
        // A control character as a single byte; a truncated character, first followed by another and then at the end.
        assert_eq!(written(&[b"a\x9b31m"]), "a\u{fffd}31m");
        assert_eq!(written(&[b"\xe2\x82", b"b\xf0\x9f"]), "\u{fffd}b\u{fffd}");
    }

    #[test]
    fn what_reorders_text_is_shown_as_its_escape() {
        let text = "a\u{202e}yp.\u{2066}é\u{200f}";
        let shown = "a\\u202eyp.\\u2066é\\u200f";
        assert_eq!(written(&[text.as_bytes()]), shown);
        assert_eq!(printable(text), shown);
        let json = serde_json::to_string(text).unwrap();
        let read: String = serde_json::from_str(&written(&[json.as_bytes()])).unwrap();
        assert_eq!(read, text);
    }

    #[test]
    fn escape_sequences_are_defused() {
        assert_eq!(
            printable("a\u{1b}[2Jb\nc\r\u{9b}31m"),
            "a\u{fffd}[2Jb c\u{fffd}\u{fffd}31m"
        );
    }

    #[test]
    fn commands_to_ci_systems_are_spoilt() {
        for (text, shown) in [
            ("::error title=a::b", "\u{fffd}::error title=a::b"),
            ("\n ::debug::b", "\u{fffd}  ::debug::b"),
            ("a ##[error]b", "a ##\u{fffd}[error]b"),
            ("##vso[task.debug]b", "##\u{fffd}vso[task.debug]b"),
            ("##teamcity[x] ##a", "##\u{fffd}teamcity[x] ##a"),
            ("###[error]", "##\u{fffd}#[error]"),
            (
                "::operator new(unsigned long)",
                "::operator new(unsigned long)",
            ),
            ("std::vector::at ## [", "std::vector::at ## ["),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn commands_in_json_are_escaped() {
        let text = "a#b ##[error] ####vso[ #";
        let json = serde_json::to_vec(text).unwrap();
        for pieces in [vec![&json[..]], json.chunks(1).collect()] {
            let mut out = HarmlessJson::new(Vec::new());
            for piece in pieces {
                out.write_all(piece).unwrap();
            }
            let written = String::from_utf8(out.out).unwrap();
            assert!(
                written.contains("a#b #\\u0023[") && !written.contains("##"),
                "{written}"
            );
            assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }

    #[test]
    fn names_can_be_pasted() {
        for (name, word) in [
            ("runs/rank-0.vset", "runs/rank-0.vset"),
            ("", "''"),
            ("-o x", "'./-o x'"),
            ("it's $(x)", r"'it'\''s $(x)'"),
            ("größe", "'größe'"),
            ("a\nb\u{1b}[2J\u{7f}", r"$'a\012b\033[2J\177'"),
            ("\u{202e}\\'é\u{9b}", r"$'\U0000202e\\\'é\U0000009b'"),
            ("##[error]x", r"$'\043\043[error]x'"),
            ("::error::x", r"$'\072\072error\072\072x'"),
        ] {
            assert_eq!(quoted(name), word);
            assert_eq!(printable(&quoted(name)), word);
        }
        let name = "a\nb\u{1b}[2J' \\ \u{202e}é";
        let script = format!("printf %s {}", quoted(name));
        let mut bash = std::process::Command::new("bash");
        let read = bash.args(["-c", &script]).env("LC_ALL", "C.UTF-8").output();
        if let Ok(read) = read {
            assert_eq!(String::from_utf8(read.stdout).unwrap(), name);
        }
    }

    #[test]
    fn cells_are_cut() {
        let long = "é\n".repeat(1000);
        assert_eq!(printable_cell(&long), "é ".repeat(500) + "…");
        assert_eq!(printable_cell(&long[..1500]), "é ".repeat(500));
    }
}
