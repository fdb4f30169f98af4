//! Anonymises paths: folder by folder, and the file without its ending.

use super::{Anonymiser, public};

/// A path to show.
pub(super) struct Path {
    pub(super) text: String,
    /// Whether the file belongs to Python, PyTorch or a public package, so that its functions are public too.
    pub(super) is_public: bool,
}

impl Anonymiser {
    pub(super) fn path(&self, path: &str) -> Path {
        if let Some(inside) = path.strip_prefix('<') {
            return self.no_file(path, inside);
        }
        if matches!(path, "" | "??" | "none") {
            return Path {
                text: path.to_owned(),
                is_public: false,
            };
        }
        let parts: Vec<&str> = path.split_inclusive(['/', '\\']).collect();
        let names: Vec<&str> = parts.iter().map(|part| name_of(part)).collect();
        let public_from = public_from(&names);
        let mut text = String::with_capacity(path.len());
        for (place, (part, name)) in parts.iter().zip(&names).enumerate() {
            let is_file = part.len() == name.len();
            if public_from.is_some_and(|from| place >= from) || public::is_folder(name) && !is_file
            {
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
        let is_public = public_from.is_some();
        Path { text, is_public }
    }

    /// A folder. Prefixes by which caches and notebooks are recognised stay.
    fn folder(&self, name: &str) -> String {
        const BEGINNINGS: [&str; 3] = ["torchinductor_", "ipykernel_", "conda-"];
        let beginning = BEGINNINGS
            .iter()
            .find(|beginning| name.starts_with(**beginning));
        match (beginning, name) {
            (_, ".triton" | "cache") => name.to_owned(),
            (Some(beginning), _) => format!("{beginning}{}", self.tag("dir", name)),
            (None, _) => self.tag("dir", name),
        }
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
        let is_generated = generated.is_some_and(|rest| {
            rest.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        }) || path == "<__array_function__ internals>";
        let frozen = inside
            .strip_prefix("frozen ")
            .and_then(|rest| rest.strip_suffix('>'));
        let is_public = is_generated || frozen.is_some_and(public::is_standard_module);
        let text = if is_public || matches!(path, "<string>" | "<stdin>" | "<unknown>") {
            path.to_owned()
        } else {
            let beginning = ["frozen ", "ipython-input-"].into_iter();
            let mut beginning = beginning.filter(|beginning| inside.starts_with(beginning));
            let beginning = beginning.next().unwrap_or_default();
            format!("<{beginning}{}>", self.tag("file", path))
        };
        Path { text, is_public }
    }
}

/// A part of a path without the separator after it.
fn name_of(part: &str) -> &str {
    part.strip_suffix(['/', '\\']).unwrap_or(part)
}

/// The index of the first public part of a path.
fn public_from(names: &[&str]) -> Option<usize> {
    if let [name] = names {
        let module = name.strip_suffix(".py")?;
        return public::is_standard_module(module).then_some(0);
    }
    let is_libc = matches!(names, ["." | "..", folder, ..] if public::is_libc_source(folder));
    if is_libc || matches!(names, ["torch", ..]) {
        return Some(0);
    }
    let at = |place: usize| names.get(place).copied().unwrap_or_default();
    // The last one counts, because an environment may lie in another one's folder.
    (0..names.len() - 1).rev().find(|&place| {
        let (name, next) = (at(place), at(place + 1));
        let before = place.checked_sub(1).map_or("", at);
        let is_library = matches!(before, "lib" | "lib64" | "Lib") && public::is_python(name)
            || matches!(name, "lib" | "Lib")
                && public::is_python(before)
                && !public::is_python(next);
        match name {
            _ if public::is_site(name) => public::is_package(next),
            "pytorch" => public::is_torch_source(next),
            "libstdc++-v3" => true,
            // Installed packages lie below the standard library, but do not belong to it.
            _ if is_library => !names[place..].iter().any(|name| public::is_site(name)),
            _ => public::is_python_source(name),
        }
    })
}
