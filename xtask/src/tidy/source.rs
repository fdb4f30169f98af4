//! A Rust file without its tests. Files are formatted by rustfmt, so an item ends where a line of the same indentation
//! ends with `}` or `;`.

use std::collections::HashSet;

/// A file and its lines.
pub(super) struct Source<'a> {
    /// Path relative to the repository's root, with `/`.
    pub(super) name: &'a str,
    text: &'a str,
    /// The lines without tests, each with its number, counted from 1.
    pub(super) lines: Vec<(usize, &'a str)>,
    /// Whether only tests compile the file.
    pub(super) is_test: bool,
}

/// Reads the Rust files among `files`, given as names and texts.
pub(super) fn read_all(files: &[(String, String)]) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    let mut test_modules = HashSet::new();
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".rs")) {
        sources.push(Source::new(name, text, &mut test_modules));
    }
    for source in &mut sources {
        source.is_test = is_test(source.name, &test_modules);
    }
    sources
}

impl<'a> Source<'a> {
    /// Takes the tests out; adds the modules in other files that only tests compile.
    fn new(name: &'a str, text: &'a str, test_modules: &mut HashSet<String>) -> Self {
        let mut lines = Vec::new();
        let mut rest = (1..).zip(text.lines());
        while let Some((number, line)) = rest.next() {
            let attribute = line.trim_start();
            if attribute != "#[cfg(test)]" && attribute != "#[test]" {
                lines.push((number, line));
                continue;
            }
            let indent = &line[..line.len() - attribute.len()];
            let mut path = None;
            for (_, line) in rest.by_ref() {
                let Some(item) = line.strip_prefix(indent) else {
                    continue;
                };
                if let Some(file) = item.strip_prefix("#[path = \"") {
                    path = file.split('"').next();
                }
                if let Some(module) = item.strip_prefix("mod ")
                    && let Some(module) = module.strip_suffix(';')
                {
                    test_modules.insert(module_file(name, module, path));
                }
                if item.ends_with(['}', ';']) && !item.starts_with(' ') {
                    break;
                }
            }
        }
        Self {
            name,
            text,
            lines,
            is_test: false,
        }
    }

    pub(super) fn opens_with_docs(&self) -> bool {
        self.text.starts_with("//!")
    }

    /// The lines without tests and comments.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let lines = self.lines.iter().copied();
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// The file of a declared module, without `.rs`. `path` is its attribute, relative to the file that declares it.
fn module_file(name: &str, module: &str, path: Option<&str>) -> String {
    let stem = name.trim_end_matches(".rs");
    let (folder, file) = stem.rsplit_once('/').unwrap_or(("", stem));
    match (path, file) {
        (Some(path), _) => format!("{folder}/{}", path.trim_end_matches(".rs")),
        (None, "mod" | "lib" | "main") => format!("{folder}/{module}"),
        (None, _) => format!("{stem}/{module}"),
    }
}

/// Whether a file is an integration test, or a module that only tests compile.
fn is_test(name: &str, test_modules: &HashSet<String>) -> bool {
    let mut module = name.trim_end_matches(".rs");
    loop {
        if name.contains("/tests/") || test_modules.contains(module) {
            return true;
        }
        match module.rsplit_once('/') {
            Some((folder, _)) => module = folder,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read_all;

    fn lines(text: &str) -> usize {
        let files = [("crates/a/src/mod.rs".to_owned(), text.to_owned())];
        read_all(&files)[0].lines.len()
    }

    #[test]
    fn only_the_tests_own_lines_are_left_out() {
        assert_eq!(
            lines("#[cfg(test)]\nmod tests;\n\nfn f() {}\nfn g() {}\n"),
            3
        );
        assert_eq!(
            lines("fn f() {}\n\n#[cfg(test)]\nmod tests {\n  fn g() {}\n}\n"),
            2
        );
        assert_eq!(
            lines("#[test]\nfn f(\n  a: A,\n) {\n  b();\n}\nfn g() {}\n"),
            1
        );
        assert_eq!(
            lines("impl A {\n  #[cfg(test)]\n  fn g() {}\n  fn h() {}\n}\n"),
            3
        );
        assert_eq!(lines("mod a {\n  #[cfg(test)]\n  mod tests {\n  }\n}\n"), 2);
        assert_eq!(lines("#[cfg(not(test))]\nfn f() {}\n"), 2);
    }

    #[test]
    fn modules_that_only_tests_compile_are_tests() {
        let files = [
            ("crates/a/src/lib.rs", "mod b;"),
            (
                "crates/a/src/b.rs",
                "#[cfg(test)]\nmod naive;\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;",
            ),
            ("crates/a/src/b/naive.rs", "mod deep;"),
            ("crates/a/src/b/naive/deep.rs", ""),
            ("crates/a/src/b_tests.rs", ""),
            ("crates/a/src/naive.rs", ""),
            ("crates/a/tests/it/main.rs", ""),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let tests: Vec<_> = read_all(&files).iter().map(|it| it.is_test).collect();
        assert_eq!(tests, [false, false, true, true, true, false, true]);
    }
}
