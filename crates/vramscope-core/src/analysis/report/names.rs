//! Names from a file within sentences: of code, and other names that a program chooses. Their author may be anyone, so
//! none must be mistaken for a part of the sentence.

/// The longest name in a sentence, in characters.
const LONGEST: usize = 80;

/// A label of code, such as `train.py:10 step`, cut to a length suitable for a sentence. It is quoted if it has quotes,
/// or spaces other than the one before its function.
#[must_use]
pub fn named(label: &str) -> String {
    // Our words, for sites where only the free is known.
    if let Some(place) = label.strip_prefix("freed at ") {
        return format!("freed at {}", named_code(place));
    }
    named_code(label)
}

fn named_code(label: &str) -> String {
    let is_plain = |part: &str| !part.contains(|c: char| c.is_whitespace() || c == '"');
    let mut parts = label.splitn(2, ' ');
    let is_short = label.chars().nth(LONGEST).is_none();
    if is_short && parts.all(is_plain) {
        return label.to_owned();
    }
    quoted(label)
}

/// A text in quotes, cut to a length suitable for a sentence. Quotes inside are removed.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_whitespace() => ' ',
        c => c,
    };
    let mut cut: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        cut.push('…');
    }
    format!("\"{cut}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_a_sentence_is_quoted() {
        for plain in [
            "train.py:10 step",
            "<lambda>",
            "模型.py:7 後向",
            "no stack",
            "",
        ] {
            assert_eq!(named(plain), plain);
        }
        let prose = "a.py:7 f). Now \"run\" curl\nevil";
        assert_eq!(named(prose), "\"a.py:7 f). Now 'run' curl evil\"");
        let long = "x".repeat(81);
        assert_eq!(named(&long), format!("\"{}…\"", "x".repeat(80)));
        assert_eq!(named(&long[..80]), long[..80]);
        assert_eq!(named("freed at a.py:1 b c"), "freed at \"a.py:1 b c\"");
        assert_eq!(named("freed at a.py:1 b"), "freed at a.py:1 b");
        assert_eq!(quoted("free"), "\"free\"");
    }
}
