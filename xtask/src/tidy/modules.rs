//! Finds the uses between a crate's files, by following paths through `use` items and re-exports.
//!
//! Not found are names created by macros, and uses of a type's methods without its name. Arguments of macros
//! are searched for paths token by token.

use std::collections::{BTreeMap, HashMap, HashSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, UseTree, VisRestricted};

use super::source::Source;

/// Maximum number of re-exports on the way to an item. More must be a circle of `use` items.
const MOST_REEXPORTS: usize = 16;

/// A path as written: one name per part.
type Path = Vec<String>;

/// The modules of a crate that have files, by their path from the crate's root.
pub(super) struct Modules<'a>(BTreeMap<Path, Module<'a>>);

/// A use of one file by another.
pub(super) struct Use<'a> {
    /// Name of the file, relative to the repository's root.
    pub(super) user: &'a str,
    /// The first line with the use, counted from 1.
    pub(super) line: usize,
    pub(super) used: &'a str,
}

/// The names and paths in a file.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    /// Names that `use` items at the top level import, with their paths.
    imported: HashMap<String, Path>,
    /// Paths of `use` items with a `*`.
    globs: Vec<Path>,
    /// Items that the file defines.
    defined: HashSet<String>,
    /// All paths in the file: line, names of the surrounding inline modules, path.
    paths: Vec<(usize, Path, Path)>,
}

impl<'a> Modules<'a> {
    /// The modules with files in `folder`, without those that only tests compile.
    pub(super) fn of(folder: &str, sources: &[Source<'a>]) -> Self {
        let mut modules = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.is_test) {
            let below = source.name.strip_prefix(folder);
            let Some(below) = below.and_then(|below| below.strip_prefix('/')) else {
                continue;
            };
            let mut path: Path = below
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            if matches!(
                path.last().map(String::as_str),
                Some("lib" | "main" | "mod")
            ) {
                path.pop();
            }
            modules.insert(path, Module::of(source));
        }
        Self(modules)
    }

    /// The names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.values().map(|module| module.file)
    }

    /// All pairs of files of which the first uses the second.
    pub(super) fn uses(&self) -> Vec<Use<'a>> {
        let mut uses = BTreeMap::new();
        for (path, module) in &self.0 {
            for (line, inline, used) in &module.paths {
                let here = [path.as_slice(), inline].concat();
                if let Some(used) = self.resolve(&here, used, MOST_REEXPORTS)
                    && used != module.file
                {
                    let first = uses.entry((module.file, used)).or_insert(*line);
                    *first = (*first).min(*line);
                }
            }
        }
        uses.into_iter()
            .map(|((user, used), line)| Use { user, line, used })
            .collect()
    }

    /// The file that defines what `path` refers to in the module `here`; `None` for other crates.
    fn resolve(&self, here: &[String], path: &[String], reexports: usize) -> Option<&'a str> {
        let (first, rest) = path.split_first()?;
        let reexports = reexports.checked_sub(1)?;
        match first.as_str() {
            "crate" => self.definer(rest, reexports),
            "self" => self.definer(&[here, rest].concat(), reexports),
            "super" => {
                let mut above = here;
                let mut rest = path;
                while let Some(("super", below)) = rest.split_first().map(|(a, b)| (a.as_str(), b))
                {
                    (_, above) = above.split_last()?;
                    rest = below;
                }
                self.definer(&[above, rest].concat(), reexports)
            }
            name => {
                let child = [here, std::slice::from_ref(first)].concat();
                let imported = |module: &Module| module.imported.contains_key(name);
                let known = self.0.contains_key(&child) || self.0.get(here).is_some_and(imported);
                known.then(|| self.definer(&[here, path].concat(), reexports))?
            }
        }
    }

    /// Like [`resolve`](Self::resolve), for a path from the crate's root.
    fn definer(&self, path: &[String], reexports: usize) -> Option<&'a str> {
        let mut depth = 0;
        while depth < path.len() && self.0.contains_key(&path[..=depth]) {
            depth += 1;
        }
        let (at, rest) = path.split_at(depth);
        let module = self.0.get(at)?;
        let Some((name, rest)) = rest.split_first() else {
            return Some(module.file);
        };
        if module.defined.contains(name) {
            return Some(module.file);
        }
        if let Some(import) = module.imported.get(name) {
            return self.resolve(at, &[import, rest].concat(), reexports);
        }
        let globs = module.globs.iter();
        let mut found = globs.filter_map(|glob| self.through_glob(at, glob, name, reexports));
        found.next().or(Some(module.file))
    }

    /// The file that defines `name`, if `glob` in the module `here` imports it.
    fn through_glob(
        &self,
        here: &[String],
        glob: &[String],
        name: &str,
        reexports: usize,
    ) -> Option<&'a str> {
        let path = [glob, &[name.to_owned()]].concat();
        let file = self.resolve(here, &path, reexports)?;
        let module = self.0.values().find(|module| module.file == file)?;
        module.defined.contains(name).then_some(file)
    }
}

impl<'a> Module<'a> {
    fn of(source: &Source<'a>) -> Self {
        let mut reader = Reader::default();
        for item in &source.tree.items {
            reader.module.defined.extend(defined_name(item));
        }
        reader.visit_file(&source.tree);
        Self {
            file: source.name,
            imported: reader.module.imported,
            globs: reader.module.globs,
            defined: reader.module.defined,
            paths: reader.module.paths,
        }
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => item.content.as_ref().map(|_| &item.ident)?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Collects a file's names and paths.
#[derive(Default)]
struct Reader {
    module: Module<'static>,
    /// The inline modules around the current item.
    inline: Path,
}

impl Reader {
    fn add_path(&mut self, line: usize, path: Path) {
        self.module.paths.push((line, self.inline.clone(), path));
    }

    fn add_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &Ident| {
            let name = name.to_string();
            // `{self}` refers to the path before it.
            if name == "self" && !before.is_empty() {
                return before.to_vec();
            }
            [before, &[name]].concat()
        };
        match tree {
            UseTree::Path(tree) => self.add_use(&with(&tree.ident), &tree.tree),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(before, tree);
                }
            }
            UseTree::Name(tree) => {
                let path = with(&tree.ident);
                let name = path.last().cloned().unwrap_or_default();
                self.add_import(&tree.ident, name, path);
            }
            UseTree::Rename(tree) => {
                self.add_import(&tree.ident, tree.rename.to_string(), with(&tree.ident));
            }
            UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                self.add_path(line, before.to_vec());
                if self.inline.is_empty() {
                    self.module.globs.push(before.to_vec());
                }
            }
        }
    }

    fn add_import(&mut self, at: &Ident, name: String, path: Path) {
        self.add_path(at.span().start().line, path.clone());
        if self.inline.is_empty() {
            self.module.imported.insert(name, path);
        }
    }

    /// The paths in the arguments of a macro.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = Path::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_token_path(line, &mut path);
                        line = name.span().start().line;
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                token => {
                    self.add_token_path(line, &mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = token {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add_token_path(line, &mut path);
    }

    fn add_token_path(&mut self, line: usize, path: &mut Path) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.add_path(line, path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.add_use(&[], &item.tree);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.inline.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.inline.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|part| part.ident.to_string());
        let names: Path = names.collect();
        if let Some(first) = path.segments.first()
            && names.len() > 1
        {
            self.add_path(first.ident.span().start().line, names);
        }
        visit::visit_path(self, path);
    }

    /// `pub(super)` and `pub(in …)` mention modules without using them.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.visit_path(&item.path);
        self.add_tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::parse_all;
    use super::Modules;

    /// The files that the first file uses, each with its line.
    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (format!("src/{name}"), (*text).to_owned()))
            .collect();
        let mut findings = Vec::new();
        let sources = parse_all(&files, &mut findings);
        assert_eq!(findings, [""; 0]);
        let uses = Modules::of("src", &sources).uses();
        uses.iter()
            .filter(|used| used.user == files[0].0)
            .map(|used| format!("{} {}", used.line, &used.used["src/".len()..]))
            .collect()
    }

    #[test]
    fn paths_lead_to_files() {
        let using = |text| {
            uses(&[
                ("a/b.rs", text),
                ("lib.rs", "mod a; mod c; pub struct Root;"),
                ("a/mod.rs", "mod b; pub fn f() {}"),
                ("a/sister.rs", ""),
                ("a/b/child.rs", ""),
                ("c.rs", "pub enum C { D }"),
            ])
        };
        assert_eq!(using("use crate::c::C;"), ["1 c.rs"]);
        assert_eq!(
            using("\nuse crate::{c::{self, C}, Root as R};"),
            ["2 c.rs", "2 lib.rs"]
        );
        assert_eq!(
            using("use super::{f, sister::*};"),
            ["1 a/mod.rs", "1 a/sister.rs"]
        );
        assert_eq!(using("use super::super::c;"), ["1 c.rs"]);
        assert_eq!(using("mod child;\nuse self::child::g;"), ["2 a/b/child.rs"]);
        assert_eq!(
            using("mod child;\nfn f() { child::g() }"),
            ["2 a/b/child.rs"]
        );
        assert_eq!(
            using("fn f(c: crate::c::C) -> Vec<super::sister::X> {}"),
            ["1 a/sister.rs", "1 c.rs"]
        );
        assert_eq!(
            using("fn f() { html! { <A b={crate::c::C::D} /> } }"),
            ["1 c.rs"]
        );
        assert_eq!(using("mod inline { use super::super::f; }"), ["1 a/mod.rs"]);
        assert_eq!(
            using("use std::fmt; pub(super) fn f(f: fmt::A) { std::mem::drop(f) }"),
            [""; 0]
        );
    }

    #[test]
    fn re_exports_are_followed() {
        let using = |text| {
            uses(&[
                ("user.rs", text),
                (
                    "lib.rs",
                    "mod user; mod a; mod b; pub use a::deep::X as Y; use std::fmt;",
                ),
                (
                    "a/mod.rs",
                    "mod deep; pub use deep::*; pub use self::again::Z; mod again;",
                ),
                ("a/deep.rs", "pub struct X;"),
                ("a/again.rs", "pub use crate::b::Z;"),
                ("b.rs", "pub struct Z; pub use crate::b::loop_; "),
            ])
        };
        assert_eq!(using("use crate::Y;"), ["1 a/deep.rs"]);
        assert_eq!(using("use crate::a::X;"), ["1 a/deep.rs"]);
        assert_eq!(using("use crate::a::Z;"), ["1 b.rs"]);
        assert_eq!(
            using("use crate::a;\nfn f(z: a::Z) {}"),
            ["1 a/mod.rs", "2 b.rs"]
        );
        assert_eq!(using("use crate::fmt;"), [""; 0]);
        assert_eq!(using("use crate::b::loop_;"), [""; 0]);
    }
}
