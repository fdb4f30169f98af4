//! Settings as a file shows them: what it says, and what follows from its events.

use serde_json::Value;

use super::{Allowed, ModelSettings, Ties};
use crate::Snapshot;
use crate::analysis::allocator_rules::{divisions, max_split_bytes};
use crate::analysis::allocator_state::Recording;
use crate::analysis::capacity::capacity;
use crate::analysis::capture::AllocatorKind;
use crate::analysis::settings::{is_known, variable_pairs};
use crate::model::Action;

/// Settings that the model does not follow are kept up to so many: torch has fewer.
const OTHERS_KEPT: usize = 64;

impl ModelSettings {
    /// The settings that a file says it was recorded with, as far as the model knows them. What is absent or odd
    /// counts as not set; whether segments were expandable is seen in the file where it does not say.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        // Events name their pools since 2.12. Of 2.13 and 2.14 it is not known: they are taken to be as 2.15.
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

    /// The same for one device, with its limits as far as the file or a failed request shows them: how much there
    /// was to have, and, where that would have been enough, what the process did not let itself take.
    #[must_use]
    pub fn of_device(recording: Recording<'_>) -> Self {
        let Recording {
            snapshot, history, ..
        } = recording;
        let mut settings = Self::of(snapshot);
        let peak = history.most_reserved_bytes();
        let known = capacity(snapshot, history);
        settings.capacity_bytes = known.map(|capacity| capacity.bytes.max(peak));
        let mut seen: Option<u64> = None;
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
                seen = Some(seen.unwrap_or(u64::MAX).min(allowed));
            }
        }
        if let Some(bytes) = seen {
            settings.allowed = Allowed::Seen(bytes);
        } else if settings.allowed_bytes().is_some_and(|bytes| bytes < peak) {
            // The device has more than is known.
            settings.allowed = Allowed::All;
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
}

fn has_expandable_segments(snapshot: &Snapshot) -> bool {
    let mapped = snapshot.events.action.iter();
    let mut segments = snapshot.segments.rows.iter();
    mapped.clone().any(|&action| action == Action::SegmentMap)
        || segments.any(|segment| segment.is_expandable == Some(true))
}
