//! The worker's messages as JSON. All texts of files come to the page this way, so here they are made harmless.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use vramscope_core::invisible;

/// A message to the page as JSON, in whose texts invisible characters stand as escapes.
///
/// # Errors
/// Never for the types of this module, whose maps all have text as keys.
pub fn reply_text<T: Serialize>(message: &T) -> Result<String, serde_json::Error> {
    let mut json = Vec::new();
    message.serialize(&mut Serializer::with_formatter(&mut json, Harmless))?;
    String::from_utf8(json).map_err(serde::ser::Error::custom)
}

/// JSON without spaces.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        match invisible::escaped(fragment) {
            Cow::Borrowed(plain) => writer.write_all(plain.as_bytes()),
            // Fragments hold no backslash of their own. A single one would be read back as the control itself.
            Cow::Owned(shown) => writer.write_all(shown.replace('\\', "\\\\").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Failure, Reply, from_text};

    fn arrived(message: &str) -> String {
        let reply = Reply::Failed(Box::new(Failure {
            message: message.to_owned(),
            ..Failure::default()
        }));
        match from_text(&reply_text(&reply).unwrap()).unwrap() {
            Reply::Failed(failure) => failure.message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_reorders_text_arrives_as_its_escape() {
        assert_eq!(arrived("a\u{202e}yp.\u{2066}é\\"), "a\\u202eyp.\\u2066é\\");
        for plain in ["", "Größe › \"x\" \\u202e", "a\tb\n\u{1b}\u{9b}"] {
            assert_eq!(arrived(plain), plain);
        }
    }
}
