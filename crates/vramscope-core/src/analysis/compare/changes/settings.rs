//! Allocator settings that differ between two files.
//!
//! Most settings are single values. A few are dicts, such as `roundup_power2_divisions`, and the variable
//! `PYTORCH_CUDA_ALLOC_CONF` is a list of `key:value`. Both are split, so that a difference names the part that
//! differs and not the whole list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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

/// A setting that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingChange {
    /// The setting's name. Parts of a dict or list follow after a dot: `roundup_power2_divisions.256`.
    pub name: String,
    /// The value on the first side; `None` if it is not set there.
    pub before: Option<String>,
    /// The value on the second side; `None` if it is not set there.
    pub after: Option<String>,
}

/// The settings that differ, sorted by name.
#[must_use]
pub fn compare_settings(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Vec<SettingChange> {
    let (before, after) = (flat(before), flat(after));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .filter(|&name| before.get(name) != after.get(name))
        .map(|name| SettingChange {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}

fn flat(settings: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    flatten("", settings, 0, &mut values);
    values
}

fn flatten(
    prefix: &str,
    settings: &Map<String, Value>,
    depth: usize,
    values: &mut BTreeMap<String, String>,
) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn map(json: &str) -> Map<String, Value> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn only_what_differs_and_by_its_own_name() {
        let before = map(
            r#"{"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,roundup_power2_divisions:[256:1,>:4]",
                "max_split_size": -1, "roundup": {"1": 0, "2": 4}, "gone": true}"#,
        );
        let after = map(
            r#"{"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False,roundup_power2_divisions:[256:1,>:4]",
                "max_split_size": -1, "roundup": {"1": 0, "2": 8}, "new": 0.5}"#,
        );
        let changes = compare_settings(&before, &after);
        let texts: Vec<_> = changes
            .iter()
            .map(|c| (c.name.as_str(), c.before.as_deref(), c.after.as_deref()))
            .collect();
        let expected = [
            (
                "PYTORCH_CUDA_ALLOC_CONF.expandable_segments",
                Some("True"),
                Some("False"),
            ),
            ("gone", Some("true"), None),
            ("new", None, Some("0.5")),
            ("roundup.2", Some("4"), Some("8")),
        ];
        assert_eq!(texts, expected);
        assert!(compare_settings(&after, &after).is_empty());
    }

    #[test]
    fn odd_lists_do_no_harm() {
        let unset = map(r#"{"PYTORCH_CUDA_ALLOC_CONF": ""}"#);
        assert!(
            compare_settings(&unset, &Map::new()).is_empty(),
            "empty is as good as none"
        );
        for list in ["]]:,,[", ":", "a", "a:b:c,", "[,:"] {
            let settings = map(&format!(r#"{{"PYTORCH_CUDA_ALLOC_CONF": "{list}"}}"#));
            assert!(compare_settings(&settings, &settings).is_empty());
        }
    }
}
