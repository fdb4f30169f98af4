//! Checks the order of rooms: which modules may use which others.
//!
//! A room is a module that is declared below the comment [`IN_ORDER`], in a crate's root or a `mod.rs`. Rooms have
//! floors, lowest first: declarations without a blank line between them are one floor, in which rustfmt sorts them. A
//! room may use the rooms on floors below. The file that declares them may use everything.
//!
//! Uses are found in the text: paths that begin with `crate` or `super`. Re-exports are not followed.

use std::collections::HashMap;

use super::source::Source;

/// The comment above the declarations of ordered rooms.
const IN_ORDER: &str = "// Lowest first: a module uses those of groups above its own.";

/// The order of the rooms that one file declares.
struct Order<'a> {
    /// The folder of that file.
    folder: &'a str,
    /// Room → its floor.
    floors: HashMap<&'a str, usize>,
}

/// Checks all orders.
pub(super) fn check(sources: &[Source], findings: &mut Vec<String>) {
    for order in sources.iter().filter_map(Order::declared_in) {
        order.check(sources, findings);
    }
}

impl<'a> Order<'a> {
    fn declared_in(source: &Source<'a>) -> Option<Self> {
        let lines = source.lines.iter().map(|(_, line)| *line);
        let mut floor = 0;
        let mut floors = HashMap::new();
        for line in lines.skip_while(|line| *line != IN_ORDER) {
            if line.is_empty() {
                floor += 1;
            }
            if let Some((before, room)) = line.split_once("mod ")
                && (before.is_empty() || before.starts_with("pub"))
            {
                floors.insert(room.trim_end_matches(';'), floor);
            }
        }
        let (folder, _) = source.name.rsplit_once('/')?;
        (!floors.is_empty()).then_some(Self { folder, floors })
    }

    fn check(&self, sources: &[Source], findings: &mut Vec<String>) {
        for source in sources.iter().filter(|source| !source.is_test) {
            let Some((from, floor)) = self.room(source.name) else {
                continue;
            };
            for (line, to) in self.used_rooms(source) {
                if to != from && self.floors.get(to).is_some_and(|above| *above >= floor) {
                    findings.push(format!(
                        "{}:{line} uses {to}: the room `{from}` does not stand above `{to}`",
                        source.name
                    ));
                }
            }
        }
    }

    /// The room of a file, and its floor; `None` for files in other folders and for those above the rooms.
    fn room<'f>(&self, name: &'f str) -> Option<(&'f str, usize)> {
        let below = name.strip_prefix(self.folder)?.strip_prefix('/')?;
        let room = below.split(['/', '.']).next()?;
        Some((room, *self.floors.get(room)?))
    }

    /// The names in this folder that a file uses, each with the line.
    fn used_rooms<'f>(&self, source: &Source<'f>) -> Vec<(usize, &'f str)> {
        let Some((_, folder)) = self.folder.split_once("/src") else {
            return Vec::new();
        };
        let folder: Vec<_> = folder.split('/').skip(1).collect();
        let rooms = paths(source).into_iter().filter_map(|(line, path)| {
            let (room, around) = path.split_last()?;
            (around == folder).then_some((line, *room))
        });
        rooms.collect()
    }
}

/// The paths in a file that begin with `crate` or `super`, relative to the crate's root, and which of the two each
/// begins with.
fn paths<'a>(source: &Source<'a>) -> Vec<(usize, Vec<&'a str>)> {
    let (_, below) = source.name.split_once("/src/").unwrap_or_default();
    let mut module: Vec<_> = below.trim_end_matches(".rs").split('/').collect();
    module.pop_if(|last| ["lib", "main", "mod"].contains(last));
    let mut found = Vec::new();
    // For each open brace, the path before it, if that continues inside.
    let mut open: Vec<Option<Vec<&str>>> = Vec::new();
    let (mut path, mut before) = (None, "");
    for (line, text) in source.code() {
        for word in words(text.trim_start()) {
            path = match (path, word) {
                (path, "::") => path,
                (path, "{") => {
                    open.push(path.filter(|_| before == "::"));
                    None
                }
                (_, "}") => open.pop().and(None),
                (Some(path), "super") if before == "::" => Some(parent(path)),
                (Some(path), name) if before == "::" => Some([&path[..], &[name]].concat()),
                (_, "crate") => Some(Vec::new()),
                (_, "super") => Some(parent(module.clone())),
                (_, name) if ["{", ","].contains(&before) => {
                    let around = open.last().and_then(Option::as_ref);
                    around.map(|path| [&path[..], &[name]].concat())
                }
                _ => None,
            };
            if word != "::" {
                found.extend(path.clone().map(|path| (line, path)));
            }
            before = word;
        }
    }
    found
}

fn parent(mut path: Vec<&str>) -> Vec<&str> {
    path.pop();
    path
}

/// Names, `::`, and other single characters.
fn words(mut text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    while let Some(first) = text.chars().next() {
        let end = match first {
            ':' if text.starts_with("::") => 2,
            _ if first.is_alphanumeric() || first == '_' => text
                .find(|sign: char| !sign.is_alphanumeric() && sign != '_')
                .unwrap_or(text.len()),
            _ => first.len_utf8(),
        };
        words.push(&text[..end]);
        text = text[end..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{IN_ORDER, Source, check};

    /// The findings in a crate whose root declares rooms by floor.
    fn findings(floors: &[&[&str]], files: &[(&str, &str)]) -> Vec<String> {
        let declare = |floor: &&[&str]| floor.iter().map(|room| format!("mod {room};\n")).collect();
        let declared: Vec<String> = floors.iter().map(declare).collect();
        let root = format!("//! Doc.\n\n{IN_ORDER}\n\n{}", declared.join("\n"));
        let files: Vec<_> = [("lib.rs", root.as_str())]
            .iter()
            .chain(files)
            .map(|(name, text)| (format!("crates/a/src/{name}"), (*text).to_owned()))
            .collect();
        let mut findings = Vec::new();
        let sources = files.iter().map(|(name, text)| Source::new(name, text));
        check(&sources.collect::<Vec<_>>(), &mut findings);
        findings
    }

    #[test]
    fn an_arrow_up_or_aside_is_a_finding() {
        for text in [
            "\nuse crate::high::f;",
            "\nfn f() { crate::high::f() }",
            "\nuse super::{high::f, low::g};",
            "use crate::{\n    high::{f, g}, low};",
        ] {
            let files = [("low.rs", text), ("high/mod.rs", "pub fn f() {}")];
            let up = "crates/a/src/low.rs:2 uses high: the room `low` does not stand above `high`";
            assert_eq!(findings(&[&["low"], &["high"]], &files), [up], "{text}");
            assert_eq!(findings(&[&["high", "low"]], &files), [up], "{text}");
            assert_eq!(findings(&[&["high"], &["low"]], &files), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_file_deep_in_a_room_reaches_others_by_its_ancestors() {
        let files = [
            ("low/deep/er.rs", "use super::super::super::high::f;"),
            ("low/deep/fine.rs", "use super::super::high::f;"),
            ("high.rs", "pub fn f() {}"),
        ];
        assert_eq!(findings(&[&["low"], &["high"]], &files).len(), 1);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let files = [
            (
                "low.rs",
                "//! [`crate::high`]\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nuse crate::high::f;",
            ),
            ("low/tests.rs", "use crate::high::f;"),
            ("high.rs", "pub fn f() {}"),
        ];
        assert_eq!(findings(&[&["low"], &["high"]], &files), [""; 0]);
    }

    #[test]
    fn declarations_without_the_comment_have_no_order() {
        let root = "mod low;\nmod high;\n";
        let files = [("a/mod.rs", root), ("a/low.rs", "use super::high::f;")];
        assert_eq!(findings(&[&["low"], &["high"]], &files), [""; 0]);
    }
}
