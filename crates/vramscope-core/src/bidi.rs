//! Bidirectional controls: characters that nobody sees and that reorder the text around them. With them the separators
//! of lines and paragraphs, at which some programs break a line. Names in a file may hold any character, so wherever
//! such a name is shown they stand as escapes. Files that programs read keep them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether Unicode counts a character among the bidirectional controls (`Bidi_Control`), or it is the separator of
/// lines or of paragraphs.
#[must_use]
pub fn is_control(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// The text with each of these controls as an escape such as `\u202e`, as Python and JSON write it.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_control(character) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
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
    fn every_control_is_an_escape_and_nothing_else_is() {
        let controls: Vec<char> = ('\0'..=char::MAX).filter(|&c| is_control(c)).collect();
        assert_eq!(controls.len(), 14);
        for control in controls {
            let shown = escaped(&format!("é{control}x")).into_owned();
            assert_eq!(shown, format!("é\\u{:04x}x", u32::from(control)));
        }
        for plain in ["", "train.py", "Größe › שלום", "a\tb\n\u{1b}"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
        }
    }
}
