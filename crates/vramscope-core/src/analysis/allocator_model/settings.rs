//! What the allocator is told, read from a file or from what a user types, and written as torch reads it.
//!
//! What torch 2.15 refuses is refused here too, in torch's sense: a what-if with settings that nobody can set
//! helps nobody.

use serde_json::Value;

use crate::Snapshot;
use crate::analysis::allocator_state::Recording;
use crate::analysis::capacity::capacity;
use crate::analysis::capture::AllocatorKind;
use crate::analysis::filter::parse_bytes;
use crate::analysis::settings::{is_known, split_pairs, variable_pairs};
use crate::model::Action;
use crate::units::Bytes;

const MIB: u64 = 1 << 20;

/// Requests from here on get a segment of their own size; `large_segment_size_mb` must be above it.
pub(super) const OWN_SEGMENT_BYTES: u64 = 10 * MIB;

/// Steps of `roundup_power2_divisions`: 1 MiB, 2 MiB, … 32 GiB and more.
const INTERVALS: usize = 16;

/// What the allocator is told, in its own words (`PYTORCH_CUDA_ALLOC_CONF`).
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// `expandable_segments`: segments grow page by page.
    pub expandable_segments: bool,
    /// `max_split_size`: larger blocks are not split; `None` = no limit.
    pub max_split_bytes: Option<u64>,
    /// `max_non_split_rounding_mb`, in bytes: how much larger than a request an unsplittable block may be.
    pub max_non_split_rounding_bytes: u64,
    /// `roundup_power2_divisions` per power of two from 1 MiB to 32 GiB; below 2 = off.
    pub roundup_power2_divisions: [u64; INTERVALS],
    /// `garbage_collection_threshold`, a share of `allowed_bytes`; 0 = never.
    pub garbage_collection_threshold: f64,
    /// `large_segment_size_mb`, in bytes: what is asked of CUDA for requests between 1 and 10 MiB, and the page
    /// of expandable segments for large requests.
    pub large_segment_bytes: u64,
    /// Bytes that CUDA has for this process; `None` = no limit.
    pub capacity_bytes: Option<u64>,
    /// Bytes that the allocator lets itself take, from `per_process_memory_fraction`; `None` = no such limit.
    /// Garbage is only collected where there is one.
    pub allowed_bytes: Option<u64>,
    /// `per_process_memory_fraction` as it was set; `None` = not set.
    pub memory_fraction: Option<f64>,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            expandable_segments: false,
            max_split_bytes: None,
            max_non_split_rounding_bytes: 20 * MIB,
            roundup_power2_divisions: [0; INTERVALS],
            garbage_collection_threshold: 0.0,
            large_segment_bytes: 20 * MIB,
            capacity_bytes: None,
            allowed_bytes: None,
            memory_fraction: None,
        }
    }
}

impl ModelSettings {
    /// The settings that a file says it was recorded with, as far as the model knows them. What is absent or odd
    /// counts as not set; whether segments were expandable is seen in the file where it does not say.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut settings = Self::default();
        for (key, value) in variable_pairs(snapshot) {
            let mut changed = settings.clone();
            if changed.set(&key, &value).is_ok() {
                settings = changed;
            } else if key == "per_process_memory_fraction" {
                // Of how much is not in the file.
                settings.memory_fraction = fraction(&value);
            }
        }
        if !settings.has_large_segments() {
            settings.large_segment_bytes = Self::default().large_segment_bytes;
        }
        let recorded = &snapshot.settings;
        let flag = recorded.get("expandable_segments").and_then(Value::as_bool);
        settings.expandable_segments = flag.unwrap_or_else(|| has_expandable_segments(snapshot));
        // -1, or 2^64 - 1 from some builds, stands for no bound.
        if let Some(value) = recorded.get("max_split_size") {
            settings.max_split_bytes = value.as_u64().filter(|&bytes| bytes < i64::MAX as u64);
        }
        if let Some(share) = recorded.get("garbage_collection_threshold") {
            let share = share.as_f64().filter(|share| (0.0..1.0).contains(share));
            settings.garbage_collection_threshold = share.unwrap_or(0.0);
        }
        if let Some(Value::Object(divisions)) = recorded.get("roundup_power2_divisions") {
            for (interval, count) in settings.roundup_power2_divisions.iter_mut().enumerate() {
                let value = divisions.get(&(1_u64 << interval).to_string());
                *count = value.and_then(Value::as_u64).unwrap_or(0);
            }
        }
        settings
    }

    /// The same for one device, with its limits as far as the file or a failed request shows them: how much there
    /// was to have, and, where that would have been enough, what the process did not let itself take.
    #[must_use]
    pub fn of_device(recording: Recording<'_>) -> Self {
        let Recording {
            snapshot, history, ..
        } = recording;
        let mut settings = Self::of(snapshot);
        let steps = history.reserved_steps.iter();
        let peak = steps.map(|&(_, bytes)| bytes).max().unwrap_or(0);
        let known = capacity(snapshot, history);
        settings.capacity_bytes = known.map(|capacity| capacity.bytes.max(peak));
        let rows = (history.first_event as usize..).take(history.event_count as usize);
        for (row, moment) in rows.zip(1..) {
            if snapshot.events.action[row] != Action::Oom {
                continue;
            }
            let bytes = snapshot.events.size[row];
            if snapshot.events.addr[row] >= settings.most_mapped(bytes) {
                let reserved = history.reserved_bytes(moment);
                // torch compares with what an ordinary segment would take, also where it maps pages.
                let wanted = settings.segment_bytes(bytes.min(1 << 60));
                let allowed = reserved.saturating_add(wanted - 1).max(peak);
                let least = settings.allowed_bytes.unwrap_or(u64::MAX);
                settings.allowed_bytes = Some(allowed.min(least));
            }
        }
        settings
    }

    /// Why there is no model of what a file shows; `None` where there is one.
    #[must_use]
    pub fn refusal(snapshot: &Snapshot) -> Option<&'static str> {
        if AllocatorKind::of(snapshot) == AllocatorKind::Driver {
            return Some(
                "This file shows the CUDA driver's own allocations, not PyTorch's: the driver's rules are not published.",
            );
        }
        if snapshot
            .contexts
            .rows()
            .iter()
            .any(|context| context.category.is_some())
        {
            return Some(
                "This file was made from a profile (_profile_to_snapshot): no allocator placed what it shows.",
            );
        }
        let pairs = variable_pairs(snapshot);
        let backend = pairs.iter().find(|(key, _)| key == "backend");
        backend.filter(|(_, value)| value != "native").map(|_| {
            "The program used cudaMallocAsync: CUDA's allocator served it, which records nothing of what it does."
        })
    }

    /// What bears on memory and the model does not follow, as sentences; empty if it knows all there is.
    #[must_use]
    pub fn not_modelled(snapshot: &Snapshot) -> Vec<String> {
        let mut notes = Vec::new();
        if snapshot.settings.get("max_split_size").is_none() {
            notes.push("The file does not say which settings it was recorded with (torch before 2.3): defaults are assumed.".to_owned());
        }
        for (key, value) in variable_pairs(snapshot) {
            let note = match &*key {
                "per_process_memory_fraction" if value.parse() != Ok(1.0) => {
                    "how much memory the device has is not in the file, so the limit is only known where a request failed"
                }
                "graph_capture_record_stream_reuse" if value == "True" => {
                    "which blocks a CUDA graph may reuse is taken from the recording"
                }
                "expandable_segments_reserve" | "expandable_segments_reserve_by_class" => {
                    "address space is taken as unlimited"
                }
                "throw_on_cudamalloc_oom" if value == "True" => {
                    "requests are refused after cached memory was given back, as without it"
                }
                _ => continue,
            };
            notes.push(format!("{key}:{value}: {note}."));
        }
        notes
    }

    /// These settings with others on top: `expandable_segments:True,max_split_size_mb:128` as the environment
    /// variable has it, or `max_split_size=128MiB`. Beside torch's keys, `capacity` is what CUDA has for the process, and
    /// `allowed` what the process lets itself take.
    ///
    /// # Errors
    /// When a key is not known, or torch would refuse its value: a sentence that says what to write.
    pub fn with_changes(&self, text: &str) -> Result<Self, String> {
        let mut settings = self.clone();
        for (key, value) in split_pairs(text) {
            settings.set(&key, &value)?;
        }
        settings.check()?;
        Ok(settings)
    }

    /// Sets one of them.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "expandable_segments" => self.expandable_segments = flag(key, value)?,
            "max_split_size_mb" | "max_split_size" => {
                self.max_split_bytes = match value {
                    "unlimited" | "none" | "-1" => None,
                    _ => Some(size(key, value)?),
                };
            }
            "max_non_split_rounding_mb" | "max_non_split_rounding_size" => {
                self.max_non_split_rounding_bytes = size(key, value)?;
            }
            "large_segment_size_mb" | "large_segment_size" => {
                self.large_segment_bytes = size(key, value)?;
            }
            "garbage_collection_threshold" => {
                let share = value.parse().ok();
                let share = share.filter(|share| (0.0..1.0).contains(share));
                self.garbage_collection_threshold = share.ok_or_else(|| {
                    format!("{key} is a share between 0 (never) and 1, not “{value}”.")
                })?;
            }
            "roundup_power2_divisions" => self.roundup_power2_divisions = divisions(value)?,
            "capacity" => self.capacity_bytes = limit(key, value)?,
            "allowed" => {
                self.allowed_bytes = limit(key, value)?;
                self.memory_fraction = None;
            }
            "per_process_memory_fraction" => self.set_fraction(value)?,
            "backend" if value == "native" => {}
            _ => return Err(no_such(key)),
        }
        Ok(())
    }

    fn set_fraction(&mut self, value: &str) -> Result<(), String> {
        let share = fraction(value).ok_or_else(|| {
            format!("per_process_memory_fraction is a share between 0 and 1, not “{value}”.")
        })?;
        self.memory_fraction = Some(share).filter(|&share| share < 1.0);
        self.allowed_bytes = match self.capacity_bytes {
            _ if share >= 1.0 => None,
            Some(capacity) => Some((share * capacity as f64) as u64),
            None => return Err("per_process_memory_fraction needs the device's size before it: capacity=24GiB,per_process_memory_fraction:0.5.".to_owned()),
        };
        Ok(())
    }

    /// What torch refuses when it has read all of them.
    fn check(&self) -> Result<(), String> {
        if !self.has_large_segments() {
            return Err(
                "large_segment_size_mb must be more than 10, and less than a million.".to_owned(),
            );
        }
        let least = self.large_segment_bytes;
        if self.max_split_bytes.is_some_and(|bytes| bytes < least) {
            return Err(format!(
                "max_split_size must not be less than a large segment, {}.",
                Bytes(least)
            ));
        }
        // Where it is set, whether or not `max_split_size` is.
        let rounding = self.max_non_split_rounding_bytes;
        if rounding < least && rounding != Self::default().max_non_split_rounding_bytes {
            return Err(format!(
                "max_non_split_rounding_mb must not be less than a large segment, {}.",
                Bytes(least)
            ));
        }
        Ok(())
    }

    fn has_large_segments(&self) -> bool {
        self.large_segment_bytes > OWN_SEGMENT_BYTES && self.large_segment_bytes < (MIB << 20)
    }

    /// As torch reads it in `PYTORCH_ALLOC_CONF`: what differs from the defaults; empty where nothing does. What torch
    /// has no setting for (`capacity_bytes`, and `allowed_bytes` other than by a fraction) is not in it.
    #[must_use]
    pub fn conf(&self) -> String {
        let default = Self::default();
        let mut parts = Vec::new();
        let mut set = |key: &str, value: String| parts.push(format!("{key}:{value}"));
        if self.expandable_segments {
            set("expandable_segments", "True".to_owned());
        }
        if let Some(bytes) = self.max_split_bytes {
            set("max_split_size_mb", (bytes / MIB).to_string());
        }
        if self.max_non_split_rounding_bytes != default.max_non_split_rounding_bytes {
            let mib = self.max_non_split_rounding_bytes / MIB;
            set("max_non_split_rounding_mb", mib.to_string());
        }
        if let Some(text) = divisions_text(&self.roundup_power2_divisions) {
            set("roundup_power2_divisions", text);
        }
        if self.garbage_collection_threshold > 0.0 {
            let share = self.garbage_collection_threshold;
            set("garbage_collection_threshold", share.to_string());
        }
        if self.large_segment_bytes != default.large_segment_bytes {
            let mib = self.large_segment_bytes / MIB;
            set("large_segment_size_mb", mib.to_string());
        }
        if let Some(share) = self.memory_fraction {
            set("per_process_memory_fraction", share.to_string());
        }
        parts.join(",")
    }

    /// Whether garbage is to be collected, but never is, because torch does so only where the process is told
    /// how much it may take.
    #[must_use]
    pub fn collects_nothing(&self) -> bool {
        self.garbage_collection_threshold > 0.0 && self.allowed_bytes.is_none()
    }

    /// `max_split_size`, as a number to compare with.
    pub(super) fn max_split(&self) -> u64 {
        self.max_split_bytes.unwrap_or(u64::MAX)
    }
}

/// A share of memory, 0 to 1.
fn fraction(value: &str) -> Option<f64> {
    let share = value.parse::<f64>().ok();
    share.filter(|share| (0.0..=1.0).contains(share))
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "on" => Ok(true),
        "false" | "0" | "off" => Ok(false),
        _ => Err(format!("{key} is True or False, not “{value}”.")),
    }
}

fn limit(key: &str, value: &str) -> Result<Option<u64>, String> {
    if matches!(value, "unlimited" | "none") {
        return Ok(None);
    }
    let bytes = parse_bytes(value);
    bytes
        .map(Some)
        .map_err(|instead| format!("{key} is {instead}, not “{value}”."))
}

/// Why there is no such setting here.
fn no_such(key: &str) -> String {
    if key == "backend" {
        return "There is no model of cudaMallocAsync: CUDA does not publish its rules.".to_owned();
    }
    if is_known(key) {
        return format!(
            "The model does not know {key}: it has no bearing on device memory, or not one that could be foretold."
        );
    }
    format!(
        "“{key}” is no setting of the allocator. There are expandable_segments, max_split_size_mb, \
         max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold, \
         large_segment_size_mb, per_process_memory_fraction, capacity (what CUDA has, as 24GiB) and allowed."
    )
}

/// A size in whole MiB: with a unit as it says, without one in MiB if the key ends so, else in bytes.
fn size(key: &str, value: &str) -> Result<u64, String> {
    let is_bare = value.bytes().all(|byte| byte.is_ascii_digit());
    if is_bare && key.ends_with("_mb") {
        let count: Option<u64> = value.parse().ok();
        return count
            .and_then(|count| count.checked_mul(MIB))
            .ok_or_else(|| format!("{key} is a number of MiB, not “{value}”."));
    }
    let bytes =
        parse_bytes(value).map_err(|instead| format!("{key} is {instead}, not “{value}”."))?;
    if bytes.is_multiple_of(MIB) {
        return Ok(bytes);
    }
    Err(format!("{key}: torch takes whole MiB, not “{value}”."))
}

/// `8`, or `[256:1,512:2,>:4]`: below the first boundary its value holds, `>` fills up from behind the last one.
fn divisions(text: &str) -> Result<[u64; INTERVALS], String> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let wrong = || {
        format!(
            "roundup_power2_divisions is a power of two, as 8, or a list by MiB, as [256:1,512:2,>:4], not “{text}”."
        )
    };
    let Some(list) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    else {
        let value = number(text).filter(|&value| value == 0 || value.is_power_of_two());
        return value.map(|value| [value; INTERVALS]).ok_or_else(wrong);
    };
    let mut steps = [0; INTERVALS];
    let mut last = None;
    for entry in list.split(',') {
        let (boundary, value) = entry.split_once(':').ok_or_else(wrong)?;
        let value = number(value).filter(|&value| value == 0 || value.is_power_of_two());
        let value = value.ok_or_else(wrong)?;
        if boundary.trim() == ">" {
            let from = last.map_or(1, |last: usize| last + 1);
            steps[from..].fill(value);
            continue;
        }
        let boundary = number(boundary).filter(|boundary| boundary.is_power_of_two());
        let index = boundary.ok_or_else(wrong)?.trailing_zeros() as usize;
        let index = index.min(INTERVALS - 1);
        if last.is_none() {
            steps[..index].fill(value);
        }
        steps[index] = value;
        last = Some(index);
    }
    Ok(steps)
}

/// The same back; `None` where nothing is set.
fn divisions_text(steps: &[u64; INTERVALS]) -> Option<String> {
    let first = steps[0];
    if steps.iter().all(|&value| value == first) {
        return (first > 0).then(|| first.to_string());
    }
    let entries = steps.iter().enumerate();
    let entries = entries.map(|(index, value)| format!("{}:{value}", 1_u64 << index));
    Some(format!("[{}]", entries.collect::<Vec<_>>().join(",")))
}

fn has_expandable_segments(snapshot: &Snapshot) -> bool {
    let mapped = snapshot.events.action.iter();
    let mut segments = snapshot.segments.rows.iter();
    mapped.clone().any(|&action| action == Action::SegmentMap)
        || segments.any(|segment| segment.is_expandable == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> Result<ModelSettings, String> {
        ModelSettings::default().with_changes(text)
    }

    #[test]
    fn as_torch_writes_them_and_as_users_do() {
        let settings = changed(
            "expandable_segments:True, max_split_size=128MiB,garbage_collection_threshold:0.8,large_segment_size_mb:64",
        )
        .unwrap();
        assert!(settings.expandable_segments);
        assert_eq!(settings.max_split_bytes, Some(128 << 20));
        assert_eq!(settings.large_segment_bytes, 64 << 20);
        let text = "expandable_segments:True,max_split_size_mb:128,garbage_collection_threshold:0.8,large_segment_size_mb:64";
        assert_eq!(settings.conf(), text);
        assert_eq!(changed(text).unwrap(), settings);
        assert_eq!(ModelSettings::default().conf(), "");
        assert_eq!(changed("").unwrap(), ModelSettings::default());
    }

    #[test]
    fn limits() {
        let settings = changed("capacity=10GiB,per_process_memory_fraction:0.5").unwrap();
        assert_eq!(
            (settings.capacity_bytes, settings.allowed_bytes),
            (Some(10 << 30), Some(5 << 30))
        );
        assert_eq!(settings.conf(), "per_process_memory_fraction:0.5");
        assert!(
            changed("per_process_memory_fraction:0.5")
                .unwrap_err()
                .contains("capacity")
        );
        assert_eq!(
            settings
                .with_changes("capacity=unlimited")
                .unwrap()
                .capacity_bytes,
            None
        );
    }

    /// Lists as torch 2.15 understood them, run.
    #[test]
    fn divisions_by_size() {
        let steps = |text: &str| {
            changed(&format!("roundup_power2_divisions:{text}"))
                .unwrap()
                .roundup_power2_divisions
        };
        assert_eq!(steps("8"), [8; 16]);
        assert_eq!(steps("[131072:8]"), [8; 16]);
        let mut from_second = [8; 16];
        from_second[0] = 0;
        assert_eq!(steps("[>:8]"), from_second);
        let mut first_only = [0; 16];
        first_only[0] = 4;
        assert_eq!(steps("[1:4,>:0]"), first_only);
        let text = changed("roundup_power2_divisions:[4:8,>:2]")
            .unwrap()
            .conf();
        assert_eq!(
            changed(&text).unwrap().roundup_power2_divisions,
            steps("[4:8,>:2]")
        );
    }

    #[test]
    fn what_torch_refuses_is_refused() {
        for text in [
            "max_split_size_mb:10",
            "max_split_size_mb:32,large_segment_size_mb:64",
            "large_segment_size_mb:10",
            "large_segment_size_mb:64,max_non_split_rounding_mb:32",
            "max_non_split_rounding_mb:19",
            "garbage_collection_threshold:1.5",
            "roundup_power2_divisions:3",
            "roundup_power2_divisions:[3:2]",
            "roundup_power2_divisions:[1",
            "expandable_segments:perhaps",
            "max_split_size=many",
            "backend:cudaMallocAsync",
            "nonsense:1",
            "pinned_num_register_threads:8",
            "expandable_segments",
        ] {
            let error = changed(text).unwrap_err();
            assert!(error.ends_with('.') && error.len() > 20, "{text}: {error}");
        }
    }
}
