//! Reads and writes settings as text: in the syntax of the environment variable, and as users type them.
//!
//! Values that torch 2.15 refuses are refused here too, because a what-if with impossible settings would mislead.

use super::{Allowed, MIB, ModelSettings};
use vramscope_core::analysis::memory::allocator_rules::{Divisions, INTERVALS};
use vramscope_core::analysis::memory::settings::{is_known, split_pairs};
use vramscope_core::analysis::search::filter::{parse_bytes, parse_capacity};

impl ModelSettings {
    /// Applies changes to these settings: `expandable_segments:True,max_split_size_mb:128` as in the environment variable,
    /// or `max_split_size=128MiB`. In addition to torch's keys there are `capacity`, the bytes that CUDA has for the
    /// process, and `allowed`, the process's own limit; `none` removes a limit or threshold.
    ///
    /// torch has the process's own limit as a share of the device. So under another capacity a limit revealed by a failed
    /// request keeps its share; if the share is unknown, the limit is dropped.
    ///
    /// # Errors
    /// If a key is unknown or torch would refuse its value: a sentence that says what to write.
    pub fn with_changes(&self, text: &str) -> Result<Self, String> {
        let mut settings = self.clone();
        let mut limits = false;
        for (key, value) in split_pairs(text) {
            settings.set(&key, &value)?;
            limits |= key == "per_process_memory_fraction";
        }
        if limits && settings.allowed != Allowed::All && settings.allowed_bytes().is_none() {
            return Err("per_process_memory_fraction needs the device's size: capacity=24GiB,per_process_memory_fraction:0.5.".to_owned());
        }
        settings.check()?;
        Ok(settings)
    }

    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "expandable_segments" => self.expandable_segments = flag(key, value)?,
            "max_split_size_mb" | "max_split_size" => {
                self.max_split_bytes = match value {
                    "unlimited" | "none" | "-1" => None,
                    _ => Some(size(key, value)?),
                };
            }
            "max_non_split_rounding_mb" | "max_non_split_rounding_size" => {
                self.max_non_split_rounding_bytes = Some(size(key, value)?);
            }
            "large_segment_size_mb" | "large_segment_size" => {
                self.large_segment_bytes = size(key, value)?;
            }
            "garbage_collection_threshold" if value == "none" => {
                self.garbage_collection_threshold = 0.0;
            }
            "garbage_collection_threshold" => {
                let share = value.parse().ok();
                let share = share.filter(|&share| 0.0 < share && share < 1.0);
                self.garbage_collection_threshold = share.ok_or_else(|| {
                    format!("{key} is a share between 0 and 1, or none, not “{value}”.")
                })?;
            }
            "roundup_power2_divisions" => self.roundup_power2_divisions = divisions(value)?,
            "capacity" => self.set_capacity(limit(key, value)?),
            "allowed" => {
                self.allowed = limit(key, value)?.map_or(Allowed::All, Allowed::Bytes);
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
        self.allowed = self.memory_fraction.map_or(Allowed::All, Allowed::Share);
        Ok(())
    }

    fn set_capacity(&mut self, bytes: Option<u64>) {
        let before = std::mem::replace(&mut self.capacity_bytes, bytes);
        if before == bytes || matches!(self.allowed, Allowed::Bytes(_)) {
            return;
        }
        let seen = match (self.allowed, before) {
            (Allowed::Seen(bytes), Some(before)) => Some(bytes as f64 / before.max(1) as f64),
            (Allowed::Share(share), _) => Some(share),
            _ => None,
        };
        let share = self.memory_fraction.or(seen);
        self.allowed = share.map_or(Allowed::All, Allowed::Share);
    }

    /// The text for `PYTORCH_CUDA_ALLOC_CONF`: settings that differ from the defaults, and the file's other settings.
    /// Empty if there are none. Limits that torch has no key for (`capacity_bytes`, and `allowed` unless it is a
    /// fraction) are left out.
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
        if let Some(bytes) = self.max_non_split_rounding_bytes {
            set("max_non_split_rounding_mb", (bytes / MIB).to_string());
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
        for (key, value) in &self.others {
            set(key, value.clone());
        }
        parts.join(",")
    }
}

/// A share of memory, 0 to 1.
fn fraction(value: &str) -> Option<f64> {
    let share: Option<f64> = value.parse().ok();
    share.filter(|share| (0.0..=1.0).contains(share))
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "True" => Ok(true),
        "False" => Ok(false),
        _ => Err(format!("{key} is True or False, not “{value}”.")),
    }
}

fn limit(key: &str, value: &str) -> Result<Option<u64>, String> {
    if matches!(value, "unlimited" | "none") {
        return Ok(None);
    }
    let bytes = parse_capacity(value);
    bytes.map(Some).map_err(|why| {
        let why = why.trim_end_matches('.');
        format!("{key}={value}: {why}.")
    })
}

/// Explains why a key is refused.
fn no_such(key: &str) -> String {
    if key == "backend" {
        return "There is no model of cudaMallocAsync: CUDA does not publish its rules.".to_owned();
    }
    if is_known(key) {
        return format!(
            "The model does not know {key}: it has no bearing on device memory, or none that could be predicted."
        );
    }
    format!(
        "“{key}” is not a setting of the allocator. There are expandable_segments, max_split_size_mb, \
         max_non_split_rounding_mb, roundup_power2_divisions, garbage_collection_threshold, \
         large_segment_size_mb, per_process_memory_fraction, capacity (what CUDA has, as 24GiB) and allowed."
    )
}

/// A size in whole MiB. Without a unit it is in MiB if the key ends in `_mb`, and else in bytes.
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

/// Parses `8`, or `[256:1,512:2,>:4]`: the first value also applies below its boundary, and `>` fills the intervals
/// after the last boundary.
fn divisions(text: &str) -> Result<Divisions, String> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let wrong = || {
        format!(
            "roundup_power2_divisions is a power of two, as 8 (1 = off), or a list by MiB, as [256:1,512:2,>:4], not “{text}”."
        )
    };
    let Some(list) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    else {
        let value = number(text).filter(|value| value.is_power_of_two());
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

/// The text for these divisions; `None` if all are off.
fn divisions_text(steps: &Divisions) -> Option<String> {
    let first = steps[0];
    if steps.iter().all(|&value| value == first) {
        return (first > 0).then(|| first.to_string());
    }
    let entries = steps.iter().enumerate();
    let entries = entries.map(|(index, value)| format!("{}:{value}", 1_u64 << index));
    Some(format!("[{}]", entries.collect::<Vec<_>>().join(",")))
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
            (settings.capacity_bytes, settings.allowed_bytes()),
            (Some(10 << 30), Some(5 << 30))
        );
        assert_eq!(settings.conf(), "per_process_memory_fraction:0.5");
        let without = changed("per_process_memory_fraction:0.5");
        assert!(without.unwrap_err().contains("capacity"));
        let later = changed("per_process_memory_fraction:0.5,capacity=10GiB").unwrap();
        assert_eq!(later, settings);
        let larger = settings.with_changes("capacity=20GiB").unwrap();
        assert_eq!(larger.allowed_bytes(), Some(10 << 30));
        let all = larger.with_changes("capacity=unlimited").unwrap();
        assert_eq!(all.allowed_bytes(), None);
        let fixed = settings.with_changes("allowed=3GiB,capacity=1GiB").unwrap();
        assert_eq!(
            (fixed.allowed_bytes(), fixed.conf().as_str()),
            (Some(3 << 30), "")
        );
        assert_eq!(
            settings
                .with_changes("capacity=unlimited")
                .unwrap()
                .capacity_bytes,
            None
        );
    }

    /// Would it fit on a bigger GPU? A limit seen in a failed request does not apply there.
    #[test]
    fn another_capacity() {
        let mut recorded = changed("capacity=10GiB").unwrap();
        recorded.allowed = Allowed::Seen(4 << 30);
        let allowed = |settings: &ModelSettings, text: &str| {
            settings.with_changes(text).unwrap().allowed_bytes()
        };
        assert_eq!(allowed(&recorded, "max_split_size_mb:64"), Some(4 << 30));
        assert_eq!(allowed(&recorded, "capacity=10GiB"), Some(4 << 30));
        assert_eq!(allowed(&recorded, "capacity=20GiB"), Some(8 << 30));
        assert_eq!(
            allowed(&recorded, "capacity=20GiB,capacity=5GiB"),
            Some(2 << 30)
        );
        assert_eq!(allowed(&recorded, "capacity=none"), None);
        recorded.memory_fraction = Some(0.5);
        assert_eq!(allowed(&recorded, "capacity=20GiB"), Some(10 << 30));
        let unknown = ModelSettings {
            capacity_bytes: None,
            memory_fraction: None,
            ..recorded
        };
        assert_eq!(allowed(&unknown, "capacity=20GiB"), None);
    }

    /// Lists as interpreted by torch 2.15 when run.
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
            "max_non_split_rounding_mb:20,large_segment_size_mb:64",
            "garbage_collection_threshold:1.5",
            "garbage_collection_threshold:0",
            "roundup_power2_divisions:0",
            "roundup_power2_divisions:3",
            "roundup_power2_divisions:[3:2]",
            "roundup_power2_divisions:[1",
            "expandable_segments:perhaps",
            "expandable_segments:true",
            "expandable_segments:1",
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
