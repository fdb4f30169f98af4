//! Anonymises paths: folder by folder, and the file name without its extension.

use super::{Anonymiser, numbers, public, words};

/// How public the functions in a file are, judged by its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The user's own.
    Own,
    /// Under a folder or file name of PyTorch or Python that somebody else may use too: names made of public words stay.
    Likely,
    /// In an installed package or in Python itself: every name stays.
    Public,
}

/// An anonymised path.
pub(super) struct Path {
    pub(super) text: String,
    pub(super) place: Place,
}

impl Anonymiser {
    pub(super) fn path(&self, path: &str) -> Path {
        let whole = |place| Path {
            text: path.to_owned(),
            place,
        };
        if self.keeps(path) {
            return whole(Place::Public);
        }
        if let Some(inside) = path.strip_prefix('<') {
            return self.no_file(path, inside);
        }
        if matches!(path, "" | "??" | "none") {
            return whole(Place::Own);
        }
        if public::is_libc_file(path) {
            return whole(Place::Public);
        }
        let parts: Vec<&str> = path.split_inclusive(['/', '\\']).collect();
        let names: Vec<&str> = parts.iter().map(|part| name_of(part)).collect();
        let (public_from, place) = public_from(&names)
            .filter(|&(from, _)| are_names(&names[from..]))
            .unwrap_or((names.len(), Place::Own));
        let mut text = String::with_capacity(path.len());
        for (at, (part, name)) in parts.iter().zip(&names).enumerate() {
            let is_file = part.len() == name.len();
            if at >= public_from || public::is_folder(name) && !is_file {
                text.push_str(part);
                continue;
            }
            text.push_str(&if is_file {
                self.file(name)
            } else {
                self.folder(name)
            });
            text.push_str(&part[name.len()..]);
        }
        Path { text, place }
    }

    /// A folder. The prefixes that identify caches and notebooks stay.
    fn folder(&self, name: &str) -> String {
        const BEGINNINGS: [&str; 4] = ["torchinductor_", "ipykernel_", "conda-", "python-split_"];
        let mut beginnings = BEGINNINGS.into_iter();
        let beginning = beginnings.find(|beginning| name.starts_with(beginning));
        format!("{}{}", beginning.unwrap_or_default(), self.tag("dir", name))
    }

    fn file(&self, name: &str) -> String {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        match (stem, public::is_ending(ending)) {
            ("__init__" | "__main__", true) => name.to_owned(),
            (stem, true) => format!("{}.{ending}", self.tag("file", stem)),
            (_, false) => self.tag("file", name),
        }
    }

    /// A placeholder for code without a file: `<string>`, `<frozen runpy>`, `<ipython-input-3-0a1b2c>`.
    fn no_file(&self, path: &str, inside: &str) -> Path {
        let generated = inside.strip_prefix("eval_with_key>");
        let number = generated.map(|rest| rest.strip_prefix('.').unwrap_or(rest));
        let is_generated = number
            .is_some_and(|number| number.is_empty() || numbers::is_small(number))
            || path == "<__array_function__ internals>";
        let frozen = inside
            .strip_prefix("frozen ")
            .and_then(|rest| rest.strip_suffix('>'));
        let (text, place) = if is_generated || frozen.is_some_and(public::is_frozen_module) {
            (path.to_owned(), Place::Likely)
        } else if matches!(path, "<string>" | "<stdin>" | "<unknown>") {
            (path.to_owned(), Place::Own)
        } else {
            let mut beginnings = ["frozen ", "ipython-input-"].into_iter();
            let beginning = beginnings.find(|beginning| inside.starts_with(beginning));
            let hash = self.tag("file", path);
            (
                format!("<{}{hash}>", beginning.unwrap_or_default()),
                Place::Own,
            )
        };
        Path { text, place }
    }
}

/// A part of a path without the separator after it.
fn name_of(part: &str) -> &str {
    part.strip_suffix(['/', '\\']).unwrap_or(part)
}

/// Whether the parts of a path look like those of installed files: no dots or escapes (`%2e%2e`) that lead elsewhere, no
/// characters that a file name cannot have (`?token=`), no folder with the extension of a source file, and a file with one.
fn are_names(parts: &[&str]) -> bool {
    let is_name = |part: &&str| {
        let mut letters = part.chars();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.+".contains(letter);
        let has_name = part.contains(|letter: char| letter.is_ascii_alphanumeric());
        matches!(*part, "" | ".") || has_name && letters.all(is_plain)
    };
    let Some((file, folders)) = parts.split_last() else {
        return false;
    };
    parts.iter().all(is_name) && is_source(file) && !folders.iter().any(|part| is_source(part))
}

/// Whether a part of a path has the extension of a source file or a library (`libtorch_cpu.so.2`).
fn is_source(part: &str) -> bool {
    let is_digit = |letter: char| letter == '.' || letter.is_ascii_digit();
    let unversioned = match part.split_once(".so.") {
        Some((name, version)) if version.chars().all(is_digit) && version.len() <= 8 => name,
        _ => part,
    };
    let ending = unversioned.rsplit_once('.').map(|(_, ending)| ending);
    unversioned.len() < part.len() || ending.is_some_and(public::is_ending)
}

/// Joins the parts of a path, leaving some out.
fn below(names: &[&str], without: &[&str]) -> String {
    let names = names.iter().copied();
    let names = names.filter(|name| !without.contains(name));
    names.collect::<Vec<_>>().join("/")
}

/// The index of the first public part of a path, and how public the path is from there on.
fn public_from(names: &[&str]) -> Option<(usize, Place)> {
    if names.contains(&"..") {
        return None;
    }
    if let [name] = names {
        let module = name.strip_suffix(".py")?;
        return public::is_lone_module(module).then_some((0, Place::Likely));
    }
    let at = |place: usize| names.get(place).copied().unwrap_or_default();
    // The last match counts, because one environment may lie in another one's folder. Installed packages lie below the
    // standard library, but do not belong to it.
    if let Some(site) = names.iter().rposition(|name| public::is_site(name)) {
        let is_folder = names.len() > site + 2;
        return public::is_package(at(site + 1), is_folder).then_some((site, Place::Public));
    }
    let is_library = |place: usize| {
        let (before, name) = (at(place), at(place + 1));
        matches!(before, "lib" | "lib64") && public::is_python(name)
            || public::is_python(before) && matches!(name, "lib" | "Lib")
    };
    if let Some(library) = (0..names.len()).rev().find(|&place| is_library(place)) {
        let is_standard = match at(library + 2) {
            "lib-dynload" => names.len() == library + 4 && public::is_standard(at(library + 3)),
            file if names.len() == library + 3 => public::is_standard(file),
            _ => public::is_standard_package_file(&below(&names[library + 2..], &["."])),
        };
        return is_standard.then_some((library + 1, Place::Public));
    }
    if let Some(source) = names
        .iter()
        .rposition(|name| public::is_python_source(name))
    {
        let file = below(&names[source + 1..], &[".", "work", "build-static"]);
        // Whatever conda's build appends to the name is hashed.
        let from = source + usize::from(at(source).contains('_'));
        return public::is_python_source_file(&file).then_some((from, Place::Public));
    }
    if let [.., "libstdc++-v3", "src", "c++11", "thread.cc"] = names {
        return Some((names.len() - 3, Place::Public));
    }
    let torch = names.iter().rposition(|name| *name == "pytorch");
    let inside = match torch {
        Some(torch) => torch + 1,
        None if names.first() == Some(&"torch") => 0,
        None => return None,
    };
    let (file, folders) = names.get(inside..)?.split_last()?;
    let (stem, ending) = file.rsplit_once('.')?;
    let is_torch = folders
        .first()
        .is_some_and(|name| public::is_torch_source(name))
        && folders.iter().all(|name| words::are_all_public(name))
        && words::are_all_public(stem)
        && public::is_ending(ending);
    is_torch.then_some((inside, Place::Likely))
}
