//! Patterns of names that the user wants to keep.

/// A pattern for a whole name. `*` matches any text, every other character only itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == text;
        };
        let Some(mut left) = text.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        for part in middle.split('*') {
            let Some(at) = left.find(part) else {
                return false;
            };
            left = &left[at + part.len()..];
        }
        left.ends_with(last)
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, expected) in [
            ("train.py", "train.py", true),
            ("train.py", "/home/a/train.py", false),
            ("*/train.py", "/home/a/train.py", true),
            ("/repo/*", "/repo/a/b.py", true),
            ("/repo/*", "/repository/b.py", false),
            ("/repo/*.py", "/repo/a.c", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("*", "", true),
            ("", "", true),
            ("[a]?", "[a]?", true),
            ("[a]?", "ab", false),
        ] {
            assert_eq!(
                Pattern::from(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
