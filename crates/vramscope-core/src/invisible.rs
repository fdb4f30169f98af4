//! Invisible characters: bidirectional controls, which reorder the text around them, zero-width characters, which make
//! different names look the same, and line and paragraph separators, at which some programs break a line. Names in a file
//! may contain any character, so wherever a name is shown these are escaped. Files for programs keep them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is invisible: those of Unicode's category `Cf` without a shape of their own, the separators `Zl`
/// and `Zp`, fillers, grapheme joiners and variation selectors.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Escapes each of these characters as in JSON, such as `\u202e`; beyond U+FFFF as two surrogates.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    escaped_where(text, is_invisible)
}

/// Like [`escaped`], for a text that must stay on one line: escapes control characters too.
#[must_use]
pub fn escaped_line(text: &str) -> Cow<'_, str> {
    escaped_where(text, |character| {
        character.is_control() || is_invisible(character)
    })
}

fn escaped_where(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_bad(character) {
            for half in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{half:04x}");
            }
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invisible_character_is_an_escape_and_nothing_else_is() {
        let found: Vec<char> = ('\0'..=char::MAX).filter(|&c| is_invisible(c)).collect();
        assert_eq!(found.len(), 4_170);
        for character in found {
            let shown = escaped(&format!("é{character}x")).into_owned();
            let read: String = serde_json::from_str(&format!("\"{shown}\"")).unwrap();
            assert!(shown.starts_with("é\\u") && !shown.contains(character));
            assert_eq!(read, format!("é{character}x"));
        }
        for plain in ["", "train.py", "Größe › שלום", "a\tb\n\u{1b}"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn a_line_stays_one() {
        assert_eq!(
            escaped_line("f\nrm -rf\u{1b}\u{9b}\u{200b}é"),
            "f\\u000arm -rf\\u001b\\u009b\\u200bé"
        );
    }
}
