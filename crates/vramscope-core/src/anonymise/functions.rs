//! Anonymises function names: Python's part by part, C++ signatures name by name.

use super::{Anonymiser, public};
use crate::analysis::code::frames::is_python_source;
use crate::transfer::Rename;

/// Whether a name is a C++ signature and not a plain identifier.
pub(super) fn is_signature(name: &str) -> bool {
    name.contains("::") || name.contains(['(', '<', ' '])
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
}

impl Anonymiser {
    /// A function whose file does not make it public.
    pub(super) fn function(&self, name: &str, file: &str) -> String {
        if public::is_function(name) || name.is_empty() {
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
        // Names of torch.fx targets.
        if file.is_empty() && name.starts_with("torch.") && name.bytes().all(is_path_byte) {
            return name.to_owned();
        }
        if !is_python_source(file) {
            if is_signature(name) {
                return self.signature(name);
            }
            if public::is_native_word(name) {
                return name.to_owned();
            }
        }
        let parts = name.split('.').map(|part| match part {
            "" => String::new(),
            part if public::is_function(part) => part.to_owned(),
            part if part.bytes().all(|byte| byte.is_ascii_digit()) => part.to_owned(),
            part => self.tag("fn", part),
        });
        parts.collect::<Vec<_>>().join(".")
    }

    /// A name with its file and line, as the profiler writes it: `torch/optim/adam.py(348): step`.
    fn placed(&self, name: &str) -> Option<String> {
        let (place, function) = name.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        let line: u32 = line.parse().ok()?;
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
        let address = owner.and_then(|(_, address)| address.strip_suffix('>'));
        let is_address =
            address.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let is_plain = name.bytes().all(is_path_byte);
        match owner {
            _ if object.is_empty() => format!("{kind} {}>", self.tag("fn", name)),
            Some((owner, _)) if is_address && is_plain && TYPES.contains(&owner) => {
                inside.to_owned()
            }
            _ => format!(
                "{kind} {} of {}>",
                self.tag("fn", name),
                self.tag("name", object)
            ),
        }
    }

    /// A C++ signature. Names in a public namespace stay, other names are hashed, and punctuation stays.
    fn signature(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        // Per open bracket: whether the name before it is public, because that name continues after the bracket.
        let mut open = Vec::new();
        let (mut is_public, mut rest) = (false, text);
        while let Some(first) = rest.chars().next() {
            let is_part = |character: char| {
                character.is_alphanumeric() || character == '_' || !character.is_ascii()
            };
            if is_part(first) {
                let end = rest
                    .find(|character| !is_part(character))
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                let goes_on = out.ends_with("::");
                is_public = if goes_on {
                    is_public
                } else {
                    public::is_namespace(word) && after.starts_with("::")
                };
                if is_public || is_number(word) || public::is_native_word(word) {
                    out.push_str(word);
                } else {
                    out.push_str(&self.tag("fn", word));
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

/// Whether it is a short number as in C++: `128`, `0x7f`, `16ul`. Longer ones could carry information.
fn is_number(word: &str) -> bool {
    let digits = word.trim_end_matches(['u', 'l', 'U', 'L']);
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    word.len() <= 12
        && word.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
