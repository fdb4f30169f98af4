//! A Rust file without its tests. Files are formatted by rustfmt, so an item ends where a line of the same indentation
//! ends with `}` or `;`.

/// A file and its lines.
pub(super) struct Source<'a> {
    /// Path relative to the repository's root, with `/`.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// The lines without tests, each with its number, counted from 1.
    pub(super) lines: Vec<(usize, &'a str)>,
    /// Whether its name shows that only tests compile it.
    pub(super) is_test: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut rest = (1..).zip(text.lines());
        while let Some((number, line)) = rest.next() {
            let attribute = line.trim_start();
            if attribute != "#[cfg(test)]" && attribute != "#[test]" {
                lines.push((number, line));
                continue;
            }
            let indent = &line[..line.len() - attribute.len()];
            rest.by_ref().find(|(_, line)| {
                let item = line.strip_prefix(indent).unwrap_or_default();
                item.ends_with(['}', ';']) && !item.starts_with(' ')
            });
        }
        Self {
            name,
            text,
            lines,
            is_test: name.contains("/tests/") || name.ends_with("tests.rs"),
        }
    }

    /// The lines without tests and comments.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let lines = self.lines.iter().copied();
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn only_the_tests_own_lines_are_left_out() {
        for (lines, text) in [
            (3, "#[cfg(test)]\nmod tests;\n\nfn f() {}\nfn g() {}\n"),
            (
                2,
                "fn f() {}\n\n#[cfg(test)]\nmod tests {\n  fn g() {}\n}\n",
            ),
            (1, "#[test]\nfn f(\n  a: A,\n) {\n  b();\n}\nfn g() {}\n"),
            (3, "impl A {\n  #[cfg(test)]\n  fn g() {}\n  fn h() {}\n}\n"),
            (2, "mod a {\n  #[cfg(test)]\n  mod tests {\n  }\n}\n"),
            (2, "#[cfg(not(test))]\nfn f() {}\n"),
        ] {
            assert_eq!(Source::new("a.rs", text).lines.len(), lines, "{text}");
        }
    }

    #[test]
    fn files_of_tests_are_told_by_their_names() {
        for (name, is_test) in [
            ("crates/a/src/lib.rs", false),
            ("crates/a/src/b/tests.rs", true),
            ("crates/a/src/b/tests/c.rs", true),
            ("crates/a/src/b_tests.rs", true),
            ("crates/a/tests/it/main.rs", true),
        ] {
            assert_eq!(Source::new(name, "").is_test, is_test, "{name}");
        }
    }
}
