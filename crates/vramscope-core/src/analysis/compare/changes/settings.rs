//! Allocator settings that differ between two files.

use serde::{Deserialize, Serialize};

use crate::analysis::compare::flat_settings::FlatSettings;
use crate::sorting::SortFew;

/// A setting that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SettingChange {
    /// The setting's name, as in [`FlatSettings`].
    pub name: String,
    /// The value on the first side; `None` if it is not set there.
    pub before: Option<String>,
    /// The value on the second side; `None` if it is not set there.
    pub after: Option<String>,
}

/// The settings that differ, sorted by name.
#[must_use]
pub fn compare_settings(before: &FlatSettings, after: &FlatSettings) -> Vec<SettingChange> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_few_by(Ord::cmp);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::flat_settings::flat_settings;

    fn map(json: &str) -> FlatSettings {
        flat_settings(&serde_json::from_str(json).unwrap())
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
            compare_settings(&unset, &FlatSettings::new()).is_empty(),
            "empty is as good as none"
        );
        for list in ["]]:,,[", ":", "a", "a:b:c,", "[,:"] {
            let settings = map(&format!(r#"{{"PYTORCH_CUDA_ALLOC_CONF": "{list}"}}"#));
            assert!(compare_settings(&settings, &settings).is_empty());
        }
    }
}
