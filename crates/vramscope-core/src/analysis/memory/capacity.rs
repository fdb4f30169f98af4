//! The memory capacity of the device, as far as the file contains it.
//!
//! No torch writes it; captured snapshots do. Other files may contain two substitutes. An `oom` event has the bytes
//! that CUDA reported free: together with the bytes reserved at that moment, this is the most the process could have
//! had. And somebody may have added a key `total_memory`, as torch calls it. Without either, the capacity is unknown.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::capture::Capture;
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::model::{DeviceIndex, Profile};

/// The capacity of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Where it comes from.
    pub source: CapacitySource,
}

/// The source of a capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacitySource {
    /// `capture.devices` or `total_memory` in the file: the whole device.
    File,
    /// An `oom` event: the bytes reserved by this process plus the bytes free on the device. The CUDA context, other
    /// libraries and other processes hold the rest of the device.
    Oom {
        /// The moment after the failed request. If several failed, the one with the highest sum.
        moment: u32,
        /// Bytes of all segments at that moment.
        reserved_bytes: u64,
        /// Bytes that the device reported free.
        free_bytes: u64,
    },
}

/// The capacity of `history`'s device; `None` if unknown. `failed` are the moments that begin with a failed request.
pub(crate) fn capacity(snapshot: &Snapshot, history: &History, failed: &[u32]) -> Option<Capacity> {
    let of_file = |bytes| Capacity {
        bytes,
        source: CapacitySource::File,
    };
    let stated = stated(snapshot, history.device).map(of_file);
    stated.or_else(|| at_failures(snapshot, history, failed))
}

/// The capacity in bytes that the file states; `None` if it states none, or 0.
pub(crate) fn stated(snapshot: &Snapshot, device: DeviceIndex) -> Option<u64> {
    let captured = Capture::of(snapshot).and_then(|capture| capture.device(device)?.total_bytes);
    let maps = [&snapshot.settings, &snapshot.extras];
    let of_maps = || maps.into_iter().find_map(|map| of_map(map, device));
    let profiled = Profile::of(snapshot).and_then(|profile| profile.device(device)?.total_memory);
    let stated = captured.or(profiled).or_else(of_maps);
    stated.filter(|&bytes| bytes > 0)
}

/// Whether the file may state a capacity, without reading the capture's metadata.
pub(crate) fn may_be_stated(snapshot: &Snapshot, device: DeviceIndex) -> bool {
    !snapshot.extras.is_empty() || of_map(&snapshot.settings, device).is_some()
}

fn of_map(map: &Map<String, Value>, device: DeviceIndex) -> Option<u64> {
    let direct = map
        .get("total_memory")
        .and_then(|value| of_device(value, device));
    // Also look one level down, as in `device_info`, `device_properties` or `devices`.
    direct.or_else(|| {
        map.values().find_map(|value| match value {
            Value::Object(inner) => inner.get("total_memory").and_then(Value::as_u64),
            Value::Array(all) => all.get(device as usize)?.get("total_memory")?.as_u64(),
            _ => None,
        })
    })
}

/// A number, or the entry of a device in a list of numbers.
fn of_device(value: &Value, device: DeviceIndex) -> Option<u64> {
    match value {
        Value::Array(all) => all.get(device as usize)?.as_u64(),
        other => other.as_u64(),
    }
}

fn at_failures(snapshot: &Snapshot, history: &History, failed: &[u32]) -> Option<Capacity> {
    let device = i32::try_from(history.device).ok()?;
    // If the file has no segments, the reserved bytes are unknown.
    snapshot.segments.of_device(device).next()?;
    let told = failed.iter().filter_map(|&moment| {
        let event = history.event_before(moment)?;
        let free_bytes = snapshot.events.get(event).device_free_bytes()?;
        let reserved_bytes = history.reserved_bytes(moment);
        Some(Capacity {
            bytes: reserved_bytes.saturating_add(free_bytes),
            source: CapacitySource::Oom {
                moment,
                reserved_bytes,
                free_bytes,
            },
        })
    });
    // A larger sum must come from a damaged file.
    const MOST_BYTES: u64 = 1 << 44;
    told.filter(|capacity| (1..=MOST_BYTES).contains(&capacity.bytes))
        .reduce(|best, next| if next.bytes > best.bytes { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    fn of(extra: &str) -> Option<Capacity> {
        let file = format!(
            r#"{{"segments": [{{"device": 0, "address": 4096, "total_size": 2048, "blocks": []}}],
            "device_traces": [[
            {{"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0}},
            {{"action": "oom", "device_free": 1000, "size": 4000, "stream": 0}},
            {{"action": "oom", "device_free": 900, "size": 4000, "stream": 0}}]]{extra}}}"#
        );
        let recording = Recording::of(decode(file.as_bytes()).unwrap());
        recording.device(0).unwrap().capacity()
    }

    #[test]
    fn a_failure_tells_what_could_be_had() {
        let source = CapacitySource::Oom {
            moment: 2,
            reserved_bytes: 2048,
            free_bytes: 1000,
        };
        assert_eq!(
            of(""),
            Some(Capacity {
                bytes: 3048,
                source
            })
        );
    }

    #[test]
    fn what_the_file_states_comes_first() {
        let stated = Some(Capacity {
            bytes: 5000,
            source: CapacitySource::File,
        });
        assert_eq!(of(r#", "total_memory": 5000"#), stated);
        assert_eq!(of(r#", "total_memory": [5000, 7]"#), stated);
        assert_eq!(of(r#", "device_info": {"total_memory": 5000}"#), stated);
        assert_eq!(of(r#", "devices": [{"total_memory": 5000}]"#), stated);
        let captured =
            r#", "capture": {"tool": "t", "devices": [{"index": 0, "total_bytes": 5000}]}"#;
        assert_eq!(of(captured), stated);
        assert_ne!(of(r#", "total_memory": "many""#), stated);
    }

    #[test]
    fn otherwise_it_is_not_known() {
        let snapshot = decode(&br#"{"segments": [], "device_traces": [[]]}"#[..]).unwrap();
        let recording = Recording::of(snapshot);
        assert_eq!(recording.device(0).unwrap().capacity(), None);
    }
}
