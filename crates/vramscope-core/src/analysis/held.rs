//! What each allocation takes of its segment: what was requested, and what rounding adds.
//!
//! Only blocks of the final state tell their size. Of what was freed before, this gives the least it can
//! have been: requests are rounded up to 512 bytes, and how much further is not recorded.

use super::history::History;
use crate::Snapshot;

/// What all block sizes are multiples of.
const BLOCK_UNIT_BYTES: u64 = 512;

/// Per allocation, the bytes of its block as far as known; never less than requested.
#[must_use]
pub fn held_bytes(snapshot: &Snapshot, history: &History) -> Vec<u64> {
    let requested = &history.allocations.bytes;
    let rounded = |&bytes: &u64| {
        bytes
            .checked_next_multiple_of(BLOCK_UNIT_BYTES)
            .unwrap_or(bytes)
    };
    let mut held: Vec<u64> = requested.iter().map(rounded).collect();
    for &(allocation, block) in &history.final_blocks {
        if let Some(bytes) = held.get_mut(allocation.index()) {
            *bytes = snapshot
                .blocks
                .get(block)
                .size
                .max(requested[allocation.index()]);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn a_final_block_tells_and_others_are_rounded_up() {
        let file = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 8192, "blocks": [
            {"address": 4096, "size": 2048, "requested_size": 600, "state": "active_allocated"}]}],
            "device_traces": [[
            {"action": "alloc", "addr": 4096, "size": 600, "stream": 0},
            {"action": "alloc", "addr": 8192, "size": 513, "stream": 0},
            {"action": "free_completed", "addr": 8192, "size": 513, "stream": 0}]]}"#;
        let snapshot = decode(file.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        assert_eq!(held_bytes(&snapshot, &history), [2048, 1024]);
    }
}
