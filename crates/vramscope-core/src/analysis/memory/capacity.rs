//! How much memory the device has, as far as the file tells.
//!
//! No torch writes it; captured snapshots do. What other files may hold: the bytes that CUDA reported free when an allocation
//! failed, which with what was reserved then is what this process could have had; and `total_memory`
//! (torch's name for it) under a key that someone added. Everything else would be a guess, so
//! without these there is no answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::capture::Capture;
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::analysis::time::markers::failed_requests;
use crate::ids::EventId;
use crate::model::DeviceIndex;

/// A device's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Capacity {
    /// Bytes.
    pub bytes: u64,
    /// How that is known.
    pub source: CapacitySource,
}

/// How a capacity is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacitySource {
    /// `capture.devices` or `total_memory` in the file: all of the device.
    File,
    /// Reserved, and free on the device, when an allocation failed: what this process could have. The
    /// CUDA context, other libraries and other processes have the rest of the device.
    Oom {
        /// The moment that begins with the failure; of several, the one that tells most.
        moment: u32,
        /// What was reserved then.
        reserved_bytes: u64,
        /// What the device reported free.
        free_bytes: u64,
    },
}

/// The capacity of `history`'s device, if the file tells.
#[must_use]
pub fn capacity(snapshot: &Snapshot, history: &History) -> Option<Capacity> {
    let of_file = |bytes| Capacity {
        bytes,
        source: CapacitySource::File,
    };
    let stated = stated(snapshot, history.device).map(of_file);
    stated.or_else(|| at_failures(snapshot, history))
}

/// A device's memory in bytes, as the file states it.
pub(crate) fn stated(snapshot: &Snapshot, device: DeviceIndex) -> Option<u64> {
    let captured = Capture::of(snapshot).and_then(|capture| capture.device(device)?.total_bytes);
    let maps = [&snapshot.settings, &snapshot.extras];
    let bytes = captured.or_else(|| {
        maps.into_iter().find_map(|map| {
            let direct = map
                .get("total_memory")
                .and_then(|value| of_device(value, device));
            // One level down, as in `device_info`, `device_properties`, `devices`.
            direct.or_else(|| {
                map.values().find_map(|value| match value {
                    Value::Object(inner) => inner.get("total_memory").and_then(Value::as_u64),
                    Value::Array(all) => all.get(device as usize)?.get("total_memory")?.as_u64(),
                    _ => None,
                })
            })
        })
    })?;
    Some(bytes).filter(|&bytes| bytes > 0)
}

/// A number, or the device's own of a list of them.
fn of_device(value: &Value, device: DeviceIndex) -> Option<u64> {
    match value {
        Value::Array(all) => all.get(device as usize)?.as_u64(),
        other => other.as_u64(),
    }
}

fn at_failures(snapshot: &Snapshot, history: &History) -> Option<Capacity> {
    let device = i32::try_from(history.device).ok()?;
    // Without segments nothing is known to be reserved.
    snapshot.segments.of_device(device).next()?;
    let failures = failed_requests(snapshot, history).into_iter();
    let told = failures.map(|moment| {
        let event = EventId(history.first_event + moment - 1);
        let free_bytes = snapshot.events.get(event).addr;
        let reserved_bytes = history.reserved_bytes(moment);
        Capacity {
            bytes: reserved_bytes.saturating_add(free_bytes),
            source: CapacitySource::Oom {
                moment,
                reserved_bytes,
                free_bytes,
            },
        }
    });
    // A free size that no device has is damage, not knowledge.
    const MOST_BYTES: u64 = 1 << 44;
    told.filter(|capacity| (1..=MOST_BYTES).contains(&capacity.bytes))
        .reduce(|best, next| if next.bytes > best.bytes { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn of(extra: &str) -> Option<Capacity> {
        let file = format!(
            r#"{{"segments": [{{"device": 0, "address": 4096, "total_size": 2048, "blocks": []}}],
            "device_traces": [[
            {{"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 0}},
            {{"action": "oom", "device_free": 1000, "size": 4000, "stream": 0}},
            {{"action": "oom", "device_free": 900, "size": 4000, "stream": 0}}]]{extra}}}"#
        );
        let snapshot = decode(file.as_bytes()).unwrap();
        capacity(&snapshot, &History::of(&snapshot, 0))
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
        assert_eq!(capacity(&snapshot, &History::of(&snapshot, 0)), None);
    }
}
