//! Allocator settings by name.
//!
//! Most settings are single values. A few are dicts, such as `roundup_power2_divisions`, and the variable
//! `PYTORCH_CUDA_ALLOC_CONF` is a list of `key:value`. Both are split, so that a difference names the entry that
//! differs and not the whole list.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Settings by name. Entries of a dict or list follow after a dot: `roundup_power2_divisions.256`.
pub type FlatSettings = BTreeMap<String, String>;

/// Maximum length of a value, in bytes of UTF-8; longer ones are cut.
const VALUE_MAX_BYTES: usize = 400;
/// Maximum depth of nested dicts that are split; files from torch have one level.
const DEPTH_MAX: usize = 4;
/// Variables that contain a list of `key:value`.
const LISTS: [&str; 3] = [
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
];

/// The `allocator_settings` of a file, by name.
#[must_use]
pub fn flat_settings(settings: &Map<String, Value>) -> FlatSettings {
    let mut values = FlatSettings::new();
    flatten("", settings, 0, &mut values);
    values
}

fn flatten(prefix: &str, settings: &Map<String, Value>, depth: usize, values: &mut FlatSettings) {
    for (key, value) in settings {
        let name = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Object(inner) if depth < DEPTH_MAX && !inner.is_empty() => {
                flatten(&name, inner, depth + 1, values);
            }
            Value::String(list)
                if LISTS.contains(&key.as_str()) && (list.contains(':') || list.is_empty()) =>
            {
                for (part, value) in items(list) {
                    values.insert(format!("{name}.{part}"), clip(value));
                }
            }
            Value::String(text) => {
                values.insert(name, clip(text));
            }
            other => {
                values.insert(name, clip(&other.to_string()));
            }
        }
    }
}

/// Splits `a:1,b:[x:1,y:2]` into (`a`, `1`), (`b`, `[x:1,y:2]`). An item without a colon has an empty value.
fn items(list: &str) -> Vec<(&str, &str)> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in list.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    let items = parts
        .into_iter()
        .map(|part| part.split_once(':').unwrap_or((part, "")));
    items
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

fn clip(text: &str) -> String {
    crate::analysis::code::frames::clip(text, VALUE_MAX_BYTES).to_owned()
}
