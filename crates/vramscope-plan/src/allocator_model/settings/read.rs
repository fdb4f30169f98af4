//! Reads the settings of a recording, from what the file states and from its events.

use serde_json::Value;

use super::{Allowed, ModelSettings, Ties};
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::allocator_rules::{divisions, max_split_bytes};
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::memory::settings::{is_known, variable_pairs};
use vramscope_core::analysis::recording::Device;
use vramscope_core::model::Action;

/// Most settings stored that the model ignores. torch has fewer.
const OTHERS_KEPT: usize = 64;

impl ModelSettings {
    /// The settings stated in a file, as far as the model supports them. Absent or invalid ones count as unset. If the file
    /// does not state whether segments were expandable, this is inferred from its segments.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        // Events name their pools since 2.12. The rule of 2.13 and 2.14 is unknown; 2.15's is assumed.
        let mut contexts = snapshot.contexts.rows().iter();
        let ties = match snapshot.producer.name.as_str() {
            "torch 2.12" => Ties::OlderBlock,
            _ if contexts.any(|row| row.pool.is_some()) => Ties::OlderSegment,
            _ => Ties::Lowest,
        };
        let mut settings = Self {
            ties,
            ..Self::default()
        };
        for (key, value) in variable_pairs(snapshot) {
            let mut changed = settings.clone();
            if changed.set(&key, &value).is_ok() {
                settings = changed;
            } else if is_known(&key) && settings.others.len() < OTHERS_KEPT {
                settings.others.push((key, value));
            }
        }
        if !settings.has_large_segments() {
            settings.large_segment_bytes = Self::default().large_segment_bytes;
        }
        let recorded = &snapshot.settings;
        let flag = recorded.get("expandable_segments").and_then(Value::as_bool);
        settings.expandable_segments = flag.unwrap_or_else(|| has_expandable_segments(snapshot));
        if recorded.contains_key("max_split_size") {
            settings.max_split_bytes = max_split_bytes(recorded);
        }
        if let Some(share) = recorded.get("garbage_collection_threshold") {
            let share = share.as_f64().filter(|share| (0.0..1.0).contains(share));
            settings.garbage_collection_threshold = share.unwrap_or(0.0);
        }
        if let Some(divisions) = divisions(recorded) {
            settings.roundup_power2_divisions = divisions;
        }
        settings
    }

    /// The settings of one device, with the limits that the file or a failed request reveals: the capacity, and the
    /// process's own limit if a request failed although the capacity would have sufficed.
    #[must_use]
    pub fn of_device(device: Device<'_>) -> Self {
        let (snapshot, history) = (device.snapshot(), device.history);
        let mut settings = Self::of(snapshot);
        let peak = history.most_reserved_bytes();
        let known = device.capacity();
        settings.capacity_bytes = known.map(|capacity| capacity.bytes.max(peak));
        let mut seen: Option<u64> = None;
        for &moment in device.failed_requests() {
            let row = (history.first_event + moment - 1) as usize;
            let bytes = snapshot.events.size[row];
            if snapshot.events.addr[row] >= settings.most_mapped(bytes) {
                let reserved = history.reserved_bytes(moment);
                // torch compares with the size of an ordinary segment even if it maps pages.
                let wanted = settings.segment_bytes(bytes.min(1 << 60));
                let allowed = reserved.saturating_add(wanted - 1).max(peak);
                seen = Some(seen.unwrap_or(u64::MAX).min(allowed));
            }
        }
        if let Some(bytes) = seen {
            settings.allowed = Allowed::Seen(bytes);
        } else if settings.allowed_bytes().is_some_and(|bytes| bytes < peak) {
            // The device must have more memory than the file shows.
            settings.allowed = Allowed::All;
        }
        settings
    }

    /// Why there is no model for a file; `None` if there is one.
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

    /// Sentences on settings and pools of the file that affect memory but are not modelled.
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
}

fn has_expandable_segments(snapshot: &Snapshot) -> bool {
    let mapped = snapshot.events.action.iter();
    let mut segments = snapshot.segments.rows.iter();
    mapped.clone().any(|&action| action == Action::SegmentMap)
        || segments.any(|segment| segment.is_expandable == Some(true))
}
