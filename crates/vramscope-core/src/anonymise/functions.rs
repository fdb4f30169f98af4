//! Anonymises function names: Python's part by part, C++ signatures name by name.

use super::{Anonymiser, numbers, public, words};
use crate::analysis::code::frames::is_python_source;
use crate::transfer::Rename;

/// Whether a name is a C++ signature and not a plain identifier.
pub(super) fn is_signature(name: &str) -> bool {
    name.contains("::") || name.contains(['(', '<', ' '])
}

/// Splits off what a compiler appends to the name of a copy of a function (`.isra.0`).
fn split_clone(name: &str) -> Option<(&str, &str)> {
    let (rest, number) = name.rsplit_once('.')?;
    let (function, kind) = rest.rsplit_once('.')?;
    let is_clone = public::is_clone(kind) && numbers::is_small(number);
    (is_clone && !function.is_empty()).then(|| name.split_at(function.len()))
}

impl Anonymiser {
    /// A function in a file that is not public. In PyTorch's files (`is_torch`), names made of public words stay.
    pub(super) fn function(&self, name: &str, file: &str, is_torch: bool) -> String {
        if self.keeps(name) || public::is_function(name) || name.is_empty() {
            return name.to_owned();
        }
        if let Some(placed) = self.placed(name) {
            return placed;
        }
        if let Some(class) = name.strip_prefix("nn.Module: ") {
            return format!("nn.Module: {}", self.label(class));
        }
        if let Some(inside) = name.strip_prefix("<built-in ") {
            return format!("<built-in {}", self.built_in(inside));
        }
        if !is_python_source(file) {
            if is_signature(name) {
                return self.signature(name);
            }
            if public::is_keyword(name) || public::c_beginning(name).is_some() {
                return self.identifier(name);
            }
        }
        // Names of torch.fx targets: `torch.nn.functional.softmax`.
        let is_target =
            file.is_empty() && (name.starts_with("torch.") || name.starts_with("aten."));
        self.parts(name, is_torch || is_target)
    }

    /// A dotted name. With `is_torch`, parts made of public words stay, up to the first part that is hashed.
    fn parts(&self, name: &str, mut is_torch: bool) -> String {
        let (name, clone) = split_clone(name).unwrap_or((name, ""));
        let parts = name.split('.').map(|part| {
            let stays = part.is_empty() || public::is_function(part);
            if stays || is_torch && words::are_all_public(part) {
                return part.to_owned();
            }
            is_torch = false;
            self.tag("fn", part)
        });
        parts.collect::<Vec<_>>().join(".") + clone
    }

    /// A word of C or C++ that is in no public namespace. A beginning that identifies its library stays.
    fn identifier(&self, word: &str) -> String {
        match public::c_beginning(word) {
            _ if public::is_keyword(word) => word.to_owned(),
            Some(_) if words::are_all_public(word) => word.to_owned(),
            Some(beginning) => {
                let joint = if beginning == "Py" { "_" } else { "" };
                format!("{beginning}{joint}{}", self.tag("fn", word))
            }
            None => self.tag("fn", word),
        }
    }

    /// A name with its file and line, as the profiler writes it: `torch/optim/adam.py(348): step`.
    fn placed(&self, name: &str) -> Option<String> {
        let (place, function) = name.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        if !numbers::is_line(line) {
            return None;
        }
        let [function, file] = self.frame(function, file);
        Some(format!("{file}({line}): {function}"))
    }

    /// `method add_ of Tensor object at 0x7f0000000000>`: methods of torch's own types are public.
    fn built_in(&self, inside: &str) -> String {
        const TYPES: [&str; 4] = [
            "type",
            "Tensor",
            "torch._C._EngineBase",
            "torch._C.Generator",
        ];
        let parts = inside.split_once(' ').and_then(|(kind, rest)| {
            let (name, object) = rest
                .split_once(" of ")
                .unwrap_or((rest.strip_suffix('>')?, ""));
            matches!(kind, "method" | "function").then_some((kind, name, object))
        });
        let Some((kind, name, object)) = parts else {
            return format!("{}>", self.tag("fn", inside));
        };
        let owner = object.split_once(" object at 0x");
        match owner {
            _ if object.is_empty() => format!("{kind} {}>", self.tag("fn", name)),
            Some((owner, address)) if TYPES.contains(&owner) && words::are_all_public(name) => {
                format!(
                    "{kind} {name} of {owner} object at 0x{}>",
                    self.tag("name", address)
                )
            }
            _ => format!(
                "{kind} {} of {}>",
                self.tag("fn", name),
                self.tag("name", object)
            ),
        }
    }

    /// A C++ signature. Names made of public words stay in public namespaces, other names are hashed, punctuation stays.
    pub(super) fn signature(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // For each open bracket: whether the name before it is public, because that name continues after the bracket.
        let mut open = Vec::new();
        let (mut is_public, mut rest) = (false, text);
        while let Some(first) = rest.chars().next() {
            if first.is_ascii_digit() {
                let (number, after) = rest.split_at(numbers::group_end(rest, is_part));
                // No C++ name begins with a digit.
                if numbers::is_literal(number) && !out.ends_with("::") {
                    out.push_str(number);
                } else {
                    out.push_str(&self.tag("fn", number));
                }
                (is_public, rest) = (false, after);
                continue;
            }
            if is_part(first) {
                let end = rest.find(|character| !is_part(character));
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                let is_scope = after.starts_with("::") && public::is_namespace(word);
                is_public = if out.ends_with("::") || out.ends_with("::~") {
                    is_public && (is_scope || words::are_all_public(word))
                } else {
                    is_scope
                };
                if is_public {
                    out.push_str(word);
                } else {
                    out.push_str(&self.identifier(word));
                }
                rest = after;
                continue;
            }
            match first {
                '<' | '(' => open.push(is_public),
                '>' | ')' => is_public = open.pop().unwrap_or(false),
                _ => {}
            }
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
        out
    }
}

/// Whether a character can be part of a C++ word. Everything outside ASCII can.
fn is_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}
