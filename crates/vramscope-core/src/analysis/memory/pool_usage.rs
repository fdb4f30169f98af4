//! The driver's reports on its memory pools over time, in captured snapshots.
//!
//! Segments are the memory of pools whose addresses are known. For memory beyond them, only the amount is known: it is
//! *unplaced*. The driver was asked now and then, and each report holds until the next.

use super::capture::pool_samples;
use crate::Snapshot;
use crate::analysis::time::byte_steps::most_bytes;
use crate::analysis::time::history::History;

/// Usage of all memory pools of a device. Steps are (first moment, bytes from then on), ascending; before the first
/// step nothing is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PoolUsage {
    /// Bytes that pools hold from the device.
    pub reserved_steps: Vec<(u32, u64)>,
    /// Bytes of the reserved ones that are in use.
    pub used_steps: Vec<(u32, u64)>,
    /// Bytes of all segments of the device plus unplaced bytes; empty if no bytes are ever unplaced.
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
        let mut usage = Self::default();
        let mut unplaced = Vec::new();
        for sample in pool_samples(snapshot, history.device) {
            let moment = times.events_before(|time| time <= sample.time_us);
            for (steps, bytes) in [
                (&mut usage.reserved_steps, sample.reserved_bytes),
                (&mut usage.used_steps, sample.used_bytes),
                (&mut unplaced, sample.unplaced_bytes),
            ] {
                match steps.last_mut() {
                    // The last of several samples at a moment counts. In a damaged file they may be in any order.
                    Some((last, at_last)) if *last >= moment => *at_last = bytes,
                    _ => steps.push((moment, bytes)),
                }
            }
        }
        if most_bytes(&unplaced) > 0 {
            usage.held_steps = sum(&history.reserved_steps, &unplaced);
        }
        usage
    }
}

fn sum(a: &[(u32, u64)], b: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let (mut next_a, mut next_b) = (a.iter().peekable(), b.iter().peekable());
    let (mut sum, mut in_a, mut in_b) = (Vec::new(), 0_u64, 0_u64);
    loop {
        let nexts = [next_a.peek(), next_b.peek()];
        let Some(moment) = nexts.into_iter().flatten().map(|step| step.0).min() else {
            return sum;
        };
        if let Some(&(_, bytes)) = next_a.next_if(|step| step.0 == moment) {
            in_a = bytes;
        }
        if let Some(&(_, bytes)) = next_b.next_if(|step| step.0 == moment) {
            in_b = bytes;
        }
        sum.push((moment, in_a.saturating_add(in_b)));
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
