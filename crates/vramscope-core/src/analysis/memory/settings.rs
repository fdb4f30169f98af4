//! The allocator's settings, key by key: what each is, what it means, and what it does in this file.
//!
//! A snapshot holds the settings twice: as values (`allocator_settings`) and as the text of the
//! environment variable they came from. Values come first; what only the variable names follows.

mod known;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::allocator_rules::max_split_bytes;
use super::capture::AllocatorKind;
use crate::Snapshot;
use crate::analysis::code::frames::clip;
use crate::model::Action;
use crate::units::{Bytes, Count};

/// Bounds on what a hostile file can make of its settings.
const SETTINGS_KEPT: usize = 256;
const VALUE_BYTES: usize = 4096;

/// One setting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, as the file has it.
    pub key: String,
    /// Its value, for reading.
    pub value: String,
    /// What the environment variable says of it; `None` where it says nothing.
    pub in_variable: Option<String>,
    /// What it means; empty for a key that is not known.
    pub meaning: String,
    /// Its value when nobody sets it; empty for a key that is not known.
    pub default: String,
    /// Whether it differs from that; `None` for a key that is not known.
    pub changed: Option<bool>,
    /// What it does in this file, as far as can be seen; often empty.
    pub effect: String,
}

/// The settings that findings weigh. `None` = the file does not say.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AllocatorConfig {
    /// Whether segments may grow.
    pub expandable_segments: Option<bool>,
    /// Larger blocks are not split; `None` also where unlimited.
    pub max_split_bytes: Option<u64>,
    /// Share of the allowed memory from which cached segments are given back; 0 = never.
    pub garbage_collection_threshold: Option<f64>,
    /// Whether requests are rounded up to fractions of powers of two.
    pub rounds_to_power2: Option<bool>,
    /// The share of the device that this process may take, where the variable names it.
    pub memory_fraction: Option<f64>,
    /// `native` or `cudaMallocAsync`, where the variable names it.
    pub backend: Option<String>,
    /// Whose allocations the file shows.
    pub allocator: AllocatorKind,
}

impl AllocatorConfig {
    /// What the file says.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let settings = &snapshot.settings;
        let variable = variable_pairs(snapshot);
        let named = |key: &str| {
            let found = variable.iter().find(|(name, _)| name == key);
            found.map(|(_, value)| value.as_str())
        };
        Self {
            expandable_segments: settings.get("expandable_segments").and_then(Value::as_bool),
            max_split_bytes: max_split_bytes(settings),
            garbage_collection_threshold: settings
                .get("garbage_collection_threshold")
                .and_then(Value::as_f64),
            rounds_to_power2: settings
                .get("roundup_power2_divisions")
                .and_then(Value::as_object)
                .map(|divisions| divisions.values().any(|value| value.as_u64() > Some(1))),
            memory_fraction: named("per_process_memory_fraction")
                .and_then(|value| value.parse().ok()),
            backend: named("backend").map(str::to_owned),
            allocator: AllocatorKind::of(snapshot),
        }
    }
}

/// Whether some torch up to 2.15 has a setting of this name, by any of its spellings.
pub fn is_known(key: &str) -> bool {
    known::find(key).is_some()
}

/// All settings of a file, in its order; empty for a file without any.
#[must_use]
pub fn settings(snapshot: &Snapshot) -> Vec<Setting> {
    let variable = variable_pairs(snapshot);
    let seen = Seen::of(snapshot);
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
            effect: seen.effect(known::canonical(key), value),
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
            effect: seen.effect(known::canonical(&key), &Value::String(value.clone())),
            in_variable: Some(value.clone()),
            value,
            key,
        });
    }
    list
}

/// The keys and values that the environment variable sets: `key:value,key:[a:1,b:2]`.
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

/// Keys and values, separated by the first `:` or `=`; commas within brackets separate nothing.
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

/// A value for reading: sizes with units, -1 as what it means.
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

/// What of the file tells the effect of settings.
struct Seen {
    segments: u64,
    expandable: u64,
    largest_segment_bytes: u64,
    segment_sizes: Vec<u64>,
    segment_frees: u64,
    events: u64,
    host_bytes: u64,
    fraction_ooms: u64,
}

impl Seen {
    fn of(snapshot: &Snapshot) -> Self {
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
        let ooms = (0..events.len()).filter(|&row| events.action[row] == Action::Oom);
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
            fraction_ooms: ooms
                .filter(|&row| events.addr[row] >= events.size[row])
                .count() as u64,
        }
    }

    /// What the setting `key` (in its plainest spelling) does in this file.
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
                // The variable counts in MiB, the value in bytes.
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
                "{} segments were given back to CUDA while recording, for whatever reason.",
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
    use crate::decode;

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
    fn values_and_what_the_variable_adds() {
        let list = settings(&of(
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
        // What torch 2.3 development builds wrote for "unlimited".
        let odd = AllocatorConfig::of(&of(r#"{"max_split_size": 18446744073709551615}"#));
        assert_eq!(odd.max_split_bytes, None);
    }

    #[test]
    fn no_settings_no_rows() {
        let snapshot = decode(&br#"{"segments": [], "device_traces": []}"#[..]).unwrap();
        assert_eq!(settings(&snapshot), []);
        assert_eq!(AllocatorConfig::of(&snapshot), AllocatorConfig::default());
    }

    #[test]
    fn odd_variables_are_read_as_far_as_they_go() {
        for text in ["", ",,,", ":", "a", "a:[", "a:[b,c", "]]]a:1", "a:1,,b"] {
            let list = settings(&of(&format!(r#"{{"PYTORCH_CUDA_ALLOC_CONF": "{text}"}}"#)));
            assert!(list.len() <= 3, "{text}: {list:?}");
        }
    }
}
