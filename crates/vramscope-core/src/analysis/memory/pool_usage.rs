//! What the driver said of its memory pools over time, in captured snapshots.
//!
//! Segments are the memory of pools whose place is known. A pool may hold more, of which only the amount is known: it is
//! *unplaced*. The driver was asked now and then, and what it said holds until it was asked again.

use super::capture::{PoolSample, pool_samples};
use crate::Snapshot;
use crate::analysis::time::byte_steps::bytes_at;
use crate::analysis::time::history::History;

/// Usage of all memory pools of a device. Steps are (first moment, bytes from then on), ascending; before the first
/// step nothing is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolUsage {
    /// Bytes that pools hold from the device.
    pub reserved_steps: Vec<(u32, u64)>,
    /// Bytes of those that are in use.
    pub used_steps: Vec<(u32, u64)>,
    /// Bytes of all segments of the device, and of what is unplaced; empty if nothing ever is.
    pub held_steps: Vec<(u32, u64)>,
}

impl PoolUsage {
    /// The usage on `history`'s device; empty if the snapshot has no samples of its pools, or no times.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let times = &history.moment_start_us;
        if times.is_empty() {
            return Self::default();
        }
        let mut samples: Vec<(u32, PoolSample)> = Vec::new();
        for sample in pool_samples(snapshot, history.device) {
            let moment = times.events_before(|time| time <= sample.time_us);
            match samples.last_mut() {
                // Of several samples at a moment the last one counts. In a damaged file they may be in any order.
                Some(last) if last.0 >= moment => last.1 = sample,
                _ => samples.push((moment, sample)),
            }
        }
        let steps = |bytes: fn(&PoolSample) -> u64| -> Vec<_> {
            let steps = samples.iter();
            steps
                .map(|(moment, sample)| (*moment, bytes(sample)))
                .collect()
        };
        let unplaced = steps(|sample| sample.unplaced_bytes);
        let mut held_steps = Vec::new();
        if unplaced.iter().any(|&(_, bytes)| bytes > 0) {
            let moments = history.reserved_steps.iter().chain(&unplaced);
            let mut moments: Vec<u32> = moments.map(|&(moment, _)| moment).collect();
            moments.sort_unstable();
            moments.dedup();
            held_steps = moments
                .into_iter()
                .map(|moment| {
                    let placed = bytes_at(&history.reserved_steps, moment);
                    (moment, placed.saturating_add(bytes_at(&unplaced, moment)))
                })
                .collect();
        }
        Self {
            reserved_steps: steps(|sample| sample.reserved_bytes),
            used_steps: steps(|sample| sample.used_bytes),
            held_steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    fn usage(memory: &str) -> PoolUsage {
        let entries: Vec<String> = [(10, 100), (20, 200), (30, 300)]
            .iter()
            .map(|(time, address)| {
                format!(
                    r#"{{"action": "segment_alloc", "addr": {address}, "size": 8, "stream": 0, "time_us": {time}, "frames": []}}"#
                )
            })
            .collect();
        let file = format!(
            r#"{{"segments": [], "device_traces": [[{}]], "capture": {{"tool": "x", "memory": [{memory}]}}}}"#,
            entries.join(", ")
        );
        let snapshot = decode(file.as_bytes()).unwrap();
        PoolUsage::of(&snapshot, &History::of(&snapshot, 0))
    }

    #[test]
    fn samples_hold_from_the_event_before_them() {
        let found = usage(
            r#"{"device": 0, "time_us": 5, "pool_reserved_bytes": 1, "pool_used_bytes": 0, "pool_unplaced_bytes": 1},
               {"device": 0, "time_us": 12, "free_bytes": 1, "total_bytes": 8, "tracked_bytes": 8, "pool_unplaced_bytes": 9},
               {"device": 0, "time_us": 22, "pool_reserved_bytes": 32, "pool_used_bytes": 7, "pool_unplaced_bytes": 4},
               {"device": 1, "time_us": 23, "pool_reserved_bytes": 90, "pool_used_bytes": 7, "pool_unplaced_bytes": 4},
               {"device": 0, "time_us": 25, "pool_reserved_bytes": 64, "pool_used_bytes": 6, "pool_unplaced_bytes": 5},
               {"device": 0, "time_us": 99, "pool_reserved_bytes": 16, "pool_used_bytes": 2, "pool_unplaced_bytes": 0}"#,
        );
        assert_eq!(found.reserved_steps, [(0, 1), (2, 64), (3, 16)]);
        assert_eq!(found.used_steps, [(0, 0), (2, 6), (3, 2)]);
        // Segments of 8 bytes each were made at moments 1, 2 and 3.
        assert_eq!(found.held_steps, [(0, 1), (1, 9), (2, 21), (3, 24)]);
    }

    #[test]
    fn where_all_is_placed_nothing_is_beyond_segments() {
        let sample =
            r#"{"device": 0, "time_us": 25, "pool_reserved_bytes": 16, "pool_used_bytes": 2}"#;
        let found = usage(sample);
        assert_eq!(found.reserved_steps, [(2, 16)]);
        assert!(found.held_steps.is_empty());
        assert_eq!(usage(""), PoolUsage::default());
        assert_eq!(
            usage(r#"{"device": -1}, 3, {"pool_reserved_bytes": "many"}"#),
            PoolUsage::default()
        );
    }
}
