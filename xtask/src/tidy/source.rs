//! A Rust file without its tests: its syntax tree, which other checks visit, and its lines.
//!
//! `syn` parses the file, because a text search does not know where an item ends: after a leading `#[cfg(test)]
//! mod tests;` it took the whole file for tests.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use syn::spanned::Spanned;
use syn::{Attribute, File, ImplItem, Item, Meta};

/// A parsed file. Items under `#[cfg(test)]` are removed from its tree and its lines.
pub(super) struct Source<'a> {
    /// Path relative to the repository's root, with `/`.
    pub(super) name: &'a str,
    text: &'a str,
    pub(super) tree: File,
    /// The lines of each removed item, counted from 1, including attributes.
    test_lines: Vec<RangeInclusive<usize>>,
    /// Whether only tests compile the file.
    pub(super) is_test: bool,
}

/// Parses the Rust files among `files`, given as names and texts.
///
/// A file that is not Rust becomes a finding.
pub(super) fn parse_all<'a>(
    files: &'a [(String, String)],
    findings: &mut Vec<String>,
) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    let mut test_modules = HashSet::new();
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".rs")) {
        match syn::parse_file(text) {
            Ok(tree) => sources.push(Source::new(name, text, tree, &mut test_modules)),
            Err(error) => findings.push(format!("{name} cannot be parsed: {error}")),
        }
    }
    for source in &mut sources {
        source.is_test = is_test(source.name, &test_modules);
    }
    sources
}

impl<'a> Source<'a> {
    /// Takes the tests out of `tree`; adds the modules in other files that only tests compile.
    fn new(
        name: &'a str,
        text: &'a str,
        mut tree: File,
        test_modules: &mut HashSet<String>,
    ) -> Self {
        let mut removed = Removed::default();
        if is_for_tests(&tree.attrs) {
            removed.lines.push(1..=text.lines().count());
            tree.items.clear();
        }
        removed.take_from(&mut tree.items);
        let folder = module_folder(name);
        for (module, path) in removed.modules {
            test_modules.insert(match path {
                Some(path) => {
                    let beside = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                    format!("{beside}/{}", path.trim_end_matches(".rs"))
                }
                None => format!("{folder}/{module}"),
            });
        }
        Self {
            name,
            text,
            tree,
            test_lines: removed.lines,
            is_test: false,
        }
    }

    pub(super) fn opens_with_docs(&self) -> bool {
        self.text.starts_with("//!")
    }

    /// The lines without tests.
    pub(super) fn lines(&self) -> impl Iterator<Item = &'a str> {
        let text = self.text.lines().zip(1..);
        text.filter(|(_, number)| !self.test_lines.iter().any(|lines| lines.contains(number)))
            .map(|(line, _)| line)
    }
}

/// The parts of a file that only tests compile.
#[derive(Default)]
struct Removed {
    lines: Vec<RangeInclusive<usize>>,
    /// Declared modules whose text is in another file, each with its `#[path]`.
    modules: Vec<(String, Option<String>)>,
}

impl Removed {
    fn take_from(&mut self, items: &mut Vec<Item>) {
        items.retain(|item| {
            let for_tests = is_for_tests(attributes(item));
            if for_tests {
                self.lines.push(lines_of(item));
                if let Item::Mod(module) = item
                    && module.content.is_none()
                {
                    let path = path_attribute(&module.attrs);
                    self.modules.push((module.ident.to_string(), path));
                }
            }
            !for_tests
        });
        for item in items {
            match item {
                Item::Mod(module) => {
                    if let Some((_, items)) = &mut module.content {
                        self.take_from(items);
                    }
                }
                Item::Impl(block) => self.take_from_impl(&mut block.items),
                _ => {}
            }
        }
    }

    fn take_from_impl(&mut self, items: &mut Vec<ImplItem>) {
        items.retain(|item| {
            let attributes = match item {
                ImplItem::Const(item) => &item.attrs,
                ImplItem::Fn(item) => &item.attrs,
                ImplItem::Type(item) => &item.attrs,
                ImplItem::Macro(item) => &item.attrs,
                _ => return true,
            };
            let for_tests = is_for_tests(attributes);
            if for_tests {
                self.lines.push(lines_of(item));
            }
            !for_tests
        });
    }
}

fn lines_of(item: &impl Spanned) -> RangeInclusive<usize> {
    let span = item.span();
    span.start().line..=span.end().line
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether `#[cfg(test)]` or `#[test]` is among them.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// The file that `#[path = "…"]` names, relative to the file with the attribute.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let path = attributes
        .iter()
        .find(|item| item.path().is_ident("path"))?;
    match &path.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(path),
            ..
        }) => Some(path.value()),
        _ => None,
    }
}

/// The folder in which the modules of the file `name` are searched for.
fn module_folder(name: &str) -> &str {
    let stem = name.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((folder, "mod" | "lib" | "main")) => folder,
        _ => stem,
    }
}

/// Whether a file is an integration test, or a module that only tests compile.
fn is_test(name: &str, test_modules: &HashSet<String>) -> bool {
    if name.contains("/tests/") {
        return true;
    }
    let mut module = name.trim_end_matches(".rs");
    loop {
        if test_modules.contains(module) {
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
    use super::parse_all;

    fn lines(text: &str) -> usize {
        let files = [("crates/a/src/mod.rs".to_owned(), text.to_owned())];
        let mut findings = Vec::new();
        let sources = parse_all(&files, &mut findings);
        assert_eq!(findings, [""; 0]);
        sources[0].lines().count()
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
            lines("fn f() {}\n/// Doc.\n#[cfg(test)]\nfn g() {\n}\nfn h() {}\n"),
            2
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
        let sources = parse_all(&files, &mut Vec::new());
        let tests: Vec<_> = sources.iter().map(|source| source.is_test).collect();
        assert_eq!(tests, [false, false, true, true, true, false, true]);
    }

    #[test]
    fn a_file_that_is_not_rust_is_a_finding() {
        let mut findings = Vec::new();
        parse_all(&[("a.rs".to_owned(), "fn {".to_owned())], &mut findings);
        assert_eq!(findings.len(), 1);
    }
}
