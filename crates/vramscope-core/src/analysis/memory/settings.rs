//! The allocator's settings: the value of each, its meaning, and its effect in this file.
//!
//! A snapshot contains settings twice: as values (`allocator_settings`), and as the text of the environment variable.
//! Settings with a value come first, then those that are only in the variable.

mod known;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::allocator_rules::max_split_bytes;
use super::capture::AllocatorKind;
use crate::Snapshot;
use crate::analysis::code::frames::clip;
use crate::ids::EventId;
use crate::model::Action;
use crate::units::{Bytes, Count};

/// Limits for damaged or hostile files: settings, and bytes of a value.
const SETTINGS_KEPT: usize = 256;
const VALUE_BYTES: usize = 4096;

/// One setting, for display.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Its key, as in the file.
    pub key: String,
    /// Its value as text.
    pub value: String,
    /// Its value in the environment variable; `None` if it is not set there.
    pub in_variable: Option<String>,
    /// What the setting does, in a sentence or two; empty if the key is unknown.
    pub meaning: String,
    /// The default value as text; empty if the key is unknown.
    pub default: String,
    /// Whether the value differs from the default; `None` if the key is unknown.
    pub changed: Option<bool>,
    /// Its effect in this file, as a sentence; empty if it has none.
    pub effect: String,
}

/// The settings that findings depend on. `None` = the file does not say.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AllocatorConfig {
    /// Whether segments are expandable: from the setting, else from the state's segments if they are all alike.
    pub expandable_segments: Option<bool>,
    /// Blocks larger than this are not split; `None` also if there is no limit.
    pub max_split_bytes: Option<u64>,
    /// The share of the allowed memory above which cached segments are released; 0 = never.
    pub garbage_collection_threshold: Option<f64>,
    /// Whether requests are rounded up to fractions of powers of two.
    pub rounds_to_power2: Option<bool>,
    /// The share of the device that this process may use; `None` if the variable does not set it.
    pub memory_fraction: Option<f64>,
    /// `native` or `cudaMallocAsync`; `None` if the variable does not set it.
    pub backend: Option<String>,
    /// The allocator whose allocations the file contains.
    pub allocator: AllocatorKind,
}

impl AllocatorConfig {
    /// Reads the settings of a file.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let settings = &snapshot.settings;
        let variable = variable_pairs(snapshot);
        let named = |key: &str| {
            let found = variable.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        Self {
            expandable_segments: settings
                .get("expandable_segments")
                .and_then(Value::as_bool)
                .or_else(|| all_expandable(snapshot)),
            max_split_bytes: max_split_bytes(settings),
            garbage_collection_threshold: settings
                .get("garbage_collection_threshold")
                .and_then(Value::as_f64)
                .and_then(share),
            rounds_to_power2: settings
                .get("roundup_power2_divisions")
                .and_then(Value::as_object)
                .map(|divisions| divisions.values().any(|value| value.as_u64() > Some(1))),
            memory_fraction: named("per_process_memory_fraction")
                .and_then(|text| text.parse().ok())
                .and_then(share),
            backend: named("backend").map(str::to_owned),
            allocator: AllocatorKind::of(snapshot),
        }
    }
}

/// A share of memory, rounded to six digits: a hostile file may have hundreds, and sentences quote it.
fn share(value: f64) -> Option<f64> {
    let is_share = (0.0..=1.0).contains(&value);
    is_share.then(|| (value * 1e6).round() / 1e6)
}

/// Whether all segments of the state are expandable; `None` if they differ, or there are none.
fn all_expandable(snapshot: &Snapshot) -> Option<bool> {
    let segments = snapshot.segments.rows.iter();
    let mut kinds = segments.map(|segment| segment.is_expandable);
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// Whether any torch up to 2.15 has a setting with this key, in any of its spellings.
pub fn is_known(key: &str) -> bool {
    known::find(key).is_some()
}

/// All settings of a file, in file order; empty if there are none. `failed` are the events that are failed requests.
pub(crate) fn settings(snapshot: &Snapshot, failed: impl Iterator<Item = EventId>) -> Vec<Setting> {
    let variable = variable_pairs(snapshot);
    let evidence = SettingEvidence::of(snapshot, failed);
    let mut list: Vec<Setting> = Vec::new();
    for (key, value) in snapshot.settings.iter().take(SETTINGS_KEPT) {
        let known = known::find(key);
        let in_variable = variable
            .iter()
            .find(|(name, _)| known::same(name, key))
            .map(|(_, value)| value.clone());
        list.push(Setting {
            key: clip(key, VALUE_BYTES).to_owned(),
            value: value_text(key, value),
            in_variable,
            meaning: known.map_or("", |known| known.meaning).to_owned(),
            default: known.map_or("", |known| known.default).to_owned(),
            changed: known.map(|known| !known.is_default(value)),
            effect: evidence.effect(known::canonical(key), value),
        });
    }
    for (key, value) in variable {
        let has_value = list.iter().any(|setting| known::same(&key, &setting.key));
        if has_value || list.len() >= SETTINGS_KEPT {
            continue;
        }
        let known = known::find(&key);
        list.push(Setting {
            meaning: known.map_or("", |known| known.meaning).to_owned(),
            default: known.map_or("", |known| known.default).to_owned(),
            changed: known.map(|known| known.default != value),
            effect: evidence.effect(known::canonical(&key), &Value::String(value.clone())),
            in_variable: Some(value.clone()),
            value,
            key,
        });
    }
    list
}

/// The keys and values in the environment variable, `key:value,key:[a:1,b:2]`. Empty if it is not set.
pub fn variable_pairs(snapshot: &Snapshot) -> Vec<(String, String)> {
    let text = [
        "PYTORCH_CUDA_ALLOC_CONF",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_HIP_ALLOC_CONF",
    ]
    .iter()
    .filter_map(|key| snapshot.settings.get(*key)?.as_str())
    .find(|text| !text.is_empty());
    text.map(split_pairs).unwrap_or_default()
}

/// Splits a text into keys and values, separated by the first `:` or `=`. Commas in brackets do not separate pairs.
pub fn split_pairs(text: &str) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let (mut start, mut depth) = (0, 0_u32);
    for (at, character) in text.char_indices().chain([(text.len(), ',')]) {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                let pair = &text[start..at];
                start = at + 1;
                let (key, value) = pair.split_once([':', '=']).unwrap_or((pair, ""));
                if !key.trim().is_empty() && pairs.len() < SETTINGS_KEPT {
                    let clipped = |text: &str| clip(text.trim(), VALUE_BYTES).to_owned();
                    pairs.push((clipped(key), clipped(value)));
                }
            }
            _ => {}
        }
    }
    pairs
}

/// A value as text: sizes with units, -1 as `unlimited`.
fn value_text(key: &str, value: &Value) -> String {
    let is_size = ["max_split_size", "max_round_threshold", "max_cached_size"].contains(&key);
    match value {
        Value::Number(number) if is_size => match number.as_u64() {
            Some(bytes) if bytes < i64::MAX as u64 => Bytes(bytes).to_string(),
            _ => "unlimited".to_owned(),
        },
        Value::String(text) if text.is_empty() => "not set".to_owned(),
        Value::String(text) => clip(text, VALUE_BYTES).to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Object(divisions) if key == "roundup_power2_divisions" => {
            let set = divisions
                .iter()
                .filter(|(_, value)| value.as_u64() != Some(0))
                .take(64)
                .map(|(from, value)| format!("from {from} MiB: {value}"));
            let text = set.collect::<Vec<_>>().join(", ");
            if text.is_empty() {
                "off".to_owned()
            } else {
                text
            }
        }
        other => clip(&other.to_string(), VALUE_BYTES).to_owned(),
    }
}

/// Figures of a file that show the effects of settings.
struct SettingEvidence {
    segments: u64,
    expandable: u64,
    largest_segment_bytes: u64,
    segment_sizes: Vec<u64>,
    segment_frees: u64,
    events: u64,
    host_bytes: u64,
    fraction_ooms: u64,
}

impl SettingEvidence {
    fn of(snapshot: &Snapshot, failed: impl Iterator<Item = EventId>) -> Self {
        let segments = &snapshot.segments.rows;
        let events = &snapshot.events;
        let sizes: Vec<u64> = segments.iter().map(|segment| segment.total_size).collect();
        let count = |wanted| {
            events
                .action
                .iter()
                .filter(|&&action| action == wanted)
                .count() as u64
        };
        Self {
            segments: segments.len() as u64,
            expandable: segments
                .iter()
                .filter(|segment| segment.is_expandable == Some(true))
                .count() as u64,
            largest_segment_bytes: sizes.iter().copied().max().unwrap_or(0),
            segment_sizes: sizes,
            segment_frees: count(Action::SegmentFree),
            events: events.len() as u64,
            host_bytes: snapshot
                .host_segments
                .rows
                .iter()
                .fold(0, |sum, segment| sum.saturating_add(segment.total_size)),
            // `addr` of an `oom` event is the free memory of the device.
            fraction_ooms: failed
                .filter(|event| events.addr[event.index()] >= events.size[event.index()])
                .count() as u64,
        }
    }

    /// The effect in this file of the setting `key`, in its canonical spelling; empty if it has none.
    fn effect(&self, key: &str, value: &Value) -> String {
        let number = value
            .as_f64()
            .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
            .unwrap_or(0.0);
        let is_on = value.as_bool() == Some(true) || value.as_str() == Some("True");
        match key {
            "expandable_segments" if self.segments > 0 => format!(
                "{} of {} segments of this file are expandable.",
                Count(self.expandable),
                Count(self.segments)
            ),
            "max_split_size" if number > 0.0 && number < 9e18 && self.segments > 0 => {
                // The variable is in MiB, the value in bytes.
                let limit = if value.is_string() {
                    number * 1_048_576.0
                } else {
                    number
                } as u64;
                let larger = self
                    .segment_sizes
                    .iter()
                    .filter(|&&bytes| bytes > limit)
                    .count();
                format!(
                    "{} of {} segments are larger than that; the largest has {}.",
                    Count(larger as u64),
                    Count(self.segments),
                    Bytes(self.largest_segment_bytes)
                )
            }
            "garbage_collection_threshold" if number > 0.0 => format!(
                "{} segments were given back to the device while recording, for whatever reason.",
                Count(self.segment_frees)
            ),
            "per_process_memory_fraction" if self.fraction_ooms > 0 => format!(
                "{} requests failed while the device had enough free memory for them.",
                Count(self.fraction_ooms)
            ),
            "trace_alloc_max_entries" => format!("{} events were recorded.", Count(self.events)),
            "pinned_use_cuda_host_register" | "pinned_num_register_threads"
                if self.host_bytes > 0 && (is_on || number > 1.0) =>
            {
                format!(
                    "{} of pinned host memory were held at the end.",
                    Bytes(self.host_bytes)
                )
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    fn settings(snapshot: Snapshot) -> Vec<Setting> {
        Recording::of(snapshot).settings()
    }

    fn of(settings: &str) -> Snapshot {
        let json = format!(
            r#"{{"segments": [{{"device": 0, "address": 4096, "total_size": 1048576, "is_expandable": true, "blocks": []}}],
            "device_traces": [], "allocator_settings": {settings}}}"#
        );
        decode(json.as_bytes()).unwrap()
    }

    fn get<'a>(list: &'a [Setting], key: &str) -> &'a Setting {
        list.iter().find(|setting| setting.key == key).unwrap()
    }

    #[test]
    fn segments_tell_what_is_not_set() {
        let expandable = |kinds: &[&str], set: &str| {
            let segment = |kind: &&str| {
                format!(
                    r#"{{"device": 0, "address": 4096, "total_size": 4096, "is_expandable": {kind}, "blocks": []}}"#
                )
            };
            let segments: Vec<String> = kinds.iter().map(segment).collect();
            let json = format!(
                r#"{{"segments": [{}], "device_traces": [], "allocator_settings": {{{set}}}}}"#,
                segments.join(",")
            );
            AllocatorConfig::of(&decode(json.as_bytes()).unwrap()).expandable_segments
        };
        assert_eq!(expandable(&["true", "true"], ""), Some(true));
        assert_eq!(expandable(&["false"], ""), Some(false));
        assert_eq!(expandable(&["true", "false"], ""), None);
        assert_eq!(expandable(&[], ""), None);
        assert_eq!(
            expandable(&["true"], r#""expandable_segments": false"#),
            Some(false)
        );
    }

    #[test]
    fn values_and_what_the_variable_adds() {
        let list = settings(of(
            r#"{"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True, roundup_power2_divisions:[256:1,>:4],per_process_memory_fraction:0.5,new_thing:7",
            "max_split_size": -1, "expandable_segments": true, "garbage_collection_threshold": 0.0,
            "roundup_power2_divisions": {"1": 0, "256": 1, "512": 4}, "from_the_future": [1, 2]}"#,
        ));
        let expandable = get(&list, "expandable_segments");
        assert_eq!(expandable.value, "True");
        assert_eq!(expandable.in_variable.as_deref(), Some("True"));
        assert_eq!(
            (expandable.changed, expandable.default.as_str()),
            (Some(true), "False")
        );
        assert_eq!(
            expandable.effect,
            "1 of 1 segments of this file are expandable."
        );
        let split = get(&list, "max_split_size");
        assert_eq!(
            (split.value.as_str(), split.changed),
            ("unlimited", Some(false))
        );
        assert_eq!(
            get(&list, "roundup_power2_divisions").value,
            "from 256 MiB: 1, from 512 MiB: 4"
        );
        let fraction = get(&list, "per_process_memory_fraction");
        assert_eq!(
            (fraction.value.as_str(), fraction.changed),
            ("0.5", Some(true))
        );
        let unknown = get(&list, "from_the_future");
        assert_eq!((unknown.value.as_str(), unknown.changed), ("[1,2]", None));
        assert!(unknown.meaning.is_empty());
        assert_eq!(get(&list, "new_thing").value, "7");
        assert_eq!(
            list.iter().filter(|s| s.key.starts_with("roundup")).count(),
            1
        );
    }

    #[test]
    fn the_configuration_that_findings_weigh() {
        let config = AllocatorConfig::of(&of(
            r#"{"PYTORCH_CUDA_ALLOC_CONF": "backend:native,per_process_memory_fraction:0.25", "max_split_size": 134217728,
            "expandable_segments": false, "garbage_collection_threshold": 0.8, "roundup_power2_divisions": {"1": 0}}"#,
        ));
        assert_eq!(config.max_split_bytes, Some(128 << 20));
        assert_eq!(config.expandable_segments, Some(false));
        assert_eq!(config.garbage_collection_threshold, Some(0.8));
        assert_eq!(config.rounds_to_power2, Some(false));
        assert_eq!(
            (config.memory_fraction, config.backend.as_deref()),
            (Some(0.25), Some("native"))
        );
        let shares = |variable: &str, threshold: &str| {
            let config = AllocatorConfig::of(&of(&format!(
                r#"{{"PYTORCH_CUDA_ALLOC_CONF": "per_process_memory_fraction:{variable}", "garbage_collection_threshold": {threshold}}}"#
            )));
            [config.memory_fraction, config.garbage_collection_threshold]
        };
        assert_eq!(shares("5e300", "5e300"), [None; 2]);
        assert_eq!(shares("-5e300", "-1"), [None; 2]);
        assert_eq!(shares("5e-300", "5e-300"), [Some(0.0); 2]);
        assert_eq!(shares("0.95", "0.123456"), [Some(0.95), Some(0.123456)]);
        // Development builds of torch 2.3 wrote this for "unlimited".
        let odd = AllocatorConfig::of(&of(r#"{"max_split_size": 18446744073709551615}"#));
        assert_eq!(odd.max_split_bytes, None);
    }

    #[test]
    fn no_settings_no_rows() {
        let snapshot = decode(&br#"{"segments": [], "device_traces": []}"#[..]).unwrap();
        assert_eq!(AllocatorConfig::of(&snapshot), AllocatorConfig::default());
        assert_eq!(settings(snapshot), []);
    }

    #[test]
    fn odd_variables_are_read_as_far_as_they_go() {
        for text in ["", ",,,", ":", "a", "a:[", "a:[b,c", "]]]a:1", "a:1,,b"] {
            let list = settings(of(&format!(r#"{{"PYTORCH_CUDA_ALLOC_CONF": "{text}"}}"#)));
            assert!(list.len() <= 3, "{text}: {list:?}");
        }
    }
}
