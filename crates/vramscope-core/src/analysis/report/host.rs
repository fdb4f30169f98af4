//! Pinned host memory over the recording, and its call sites. Recorded since torch 2.14.
//!
//! It belongs to no device. Each segment contains one block, so reserved and active bytes differ only by cached
//! segments.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::analysis::groups::live_at::TopSites;
use crate::analysis::recording::Recording;
use crate::ids::EventId;
use crate::model::Action;

/// Figures of pinned host memory. Sizes are in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HostMemory {
    /// Number of segments at the end.
    pub segments: u64,
    /// Bytes of those segments.
    pub reserved_bytes: u64,
    /// Bytes of active blocks at the end.
    pub active_bytes: u64,
    /// Bytes of inactive blocks at the end, cached for reuse.
    pub cached_bytes: u64,
    /// Number of recorded events.
    pub events: u64,
    /// Number of `alloc` events.
    pub allocations: u64,
    /// Number of `free_completed` events.
    pub frees: u64,
    /// Number of segments obtained from the system during the recording.
    pub segment_allocs: u64,
    /// Number of segments released during the recording.
    pub segment_frees: u64,
    /// Peak of active bytes in the recording.
    pub peak_bytes: u64,
    /// Number of events before the peak, in the host's trace.
    pub peak_event: u64,
    /// Time of the peak, in µs since the Unix epoch; `None` if the file has no times.
    pub peak_time_us: Option<i64>,
    /// Active blocks at the end, by call site.
    pub sites: TopSites,
}

/// The figures of a file's pinned host memory; `None` without any. `limit`: maximum number of call sites.
#[must_use]
pub fn host_memory(recording: &Recording, limit: usize) -> Option<HostMemory> {
    let snapshot = &recording.snapshot;
    let rows = snapshot.host_trace.clone();
    if rows.is_empty() && snapshot.host_segments.is_empty() {
        return None;
    }
    let (sites, operators) = (recording.call_sites(), recording.operators());
    let mut host = HostMemory::default();
    let mut active = Vec::new();
    for segment in &snapshot.host_segments.rows {
        host.segments += 1;
        host.reserved_bytes = host.reserved_bytes.saturating_add(segment.total_size);
        for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
            if !block.state.is_active() {
                host.cached_bytes = host.cached_bytes.saturating_add(block.size);
                continue;
            }
            host.active_bytes = host.active_bytes.saturating_add(block.size);
            let stack = if block.stack.has_frames() {
                block.stack
            } else {
                segment.stack
            };
            let operator = operators.of_stack(stack);
            active.push((sites.of_stack(stack), operator, block.size));
        }
    }
    host.follow(snapshot, rows);
    host.sites = TopSites::of(sites, operators, active, limit);
    Some(host)
}

impl HostMemory {
    /// Counts the events and finds the peak. Only the end is known, so events are undone from there.
    fn follow(&mut self, snapshot: &Snapshot, rows: std::ops::Range<u32>) {
        self.events = u64::from(rows.end.saturating_sub(rows.start));
        let block_bytes = block_bytes(snapshot, rows.clone());
        let mut active = self.active_bytes;
        (self.peak_bytes, self.peak_event) = (active, self.events);
        let mut peak_row = rows.end.checked_sub(1);
        for row in rows.clone().rev() {
            let index = EventId(row).index();
            let Some(&action) = snapshot.events.action.get(index) else {
                continue;
            };
            let size = snapshot.events.size[index];
            // Events have the requested size. A block is as large as its segment.
            let address = snapshot.events.addr[index];
            let bytes = *block_bytes.get(&address).unwrap_or(&size);
            match action {
                Action::Alloc => {
                    self.allocations += 1;
                    active = active.saturating_sub(bytes);
                }
                Action::FreeCompleted => {
                    self.frees += 1;
                    active = active.saturating_add(bytes);
                }
                Action::SegmentAlloc => self.segment_allocs += 1,
                Action::SegmentFree => self.segment_frees += 1,
                _ => {}
            }
            if active >= self.peak_bytes {
                self.peak_bytes = active;
                self.peak_event = u64::from(row - rows.start);
                peak_row = row.checked_sub(1).filter(|&before| before >= rows.start);
            }
        }
        self.peak_time_us = peak_row.and_then(|row| snapshot.events.time_us.get(row as usize));
    }
}

/// Size of the segment at each address, from the last record of it.
fn block_bytes(snapshot: &Snapshot, rows: std::ops::Range<u32>) -> HashMap<u64, u64> {
    let events = &snapshot.events;
    let of_events = rows
        .map(|row| row as usize)
        .filter(|&row| events.action.get(row) == Some(&Action::SegmentAlloc))
        .map(|row| (events.addr[row], events.size[row]));
    let of_segments = snapshot
        .host_segments
        .rows
        .iter()
        .map(|segment| (segment.address, segment.total_size));
    of_events.chain(of_segments).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use vramscope_synth::snapshot::Producer;
    use vramscope_synth::text;

    fn host_of(story: &str) -> Option<HostMemory> {
        let bytes = text::pickle(story, Producer::Python(2, 15)).unwrap();
        let snapshot = decode(&bytes[..]).unwrap();
        host_memory(&Recording::of(snapshot), 1)
    }

    #[test]
    fn peak_end_and_owners() {
        let host = host_of(
            "host alloc a 4MiB load.py:1:pin\nhost alloc b 6MiB load.py:2:more\nhost free a\nhost alloc c 1MiB load.py:3:last\nalloc d 1MiB",
        )
        .unwrap();
        assert_eq!((host.allocations, host.frees, host.segments), (3, 1, 3));
        assert_eq!(
            (
                host.active_bytes >> 20,
                host.cached_bytes >> 20,
                host.reserved_bytes >> 20
            ),
            (9, 4, 13)
        );
        assert_eq!(host.peak_bytes >> 20, 12);
        assert!(host.peak_time_us.is_some() && host.peak_event < host.events);
        let [site] = &host.sites.sites[..] else {
            panic!("{host:?}")
        };
        assert_eq!((site.bytes >> 20, host.sites.other_bytes >> 20), (8, 1));
    }

    #[test]
    fn nothing_recorded_nothing_said() {
        assert_eq!(host_of("alloc a 1MiB"), None);
    }
}
