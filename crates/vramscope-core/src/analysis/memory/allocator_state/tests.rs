//! A small file whose states are all known.

use super::*;
use crate::Snapshot;
use crate::analysis::recording::Recording;
use crate::decode;

const MIB: u64 = 1 << 20;

/// Two ordinary segments, of 20 MiB and 2 MiB. The first block of the larger one keeps a remainder of 0.5 MiB, because
/// the second block was live when it was allocated.
fn file() -> Snapshot {
    let large = 0x1000_0000_u64;
    let small = 0x2000_0000_u64;
    let text = format!(
        r#"{{"segments": [
        {{"device": 0, "address": {large}, "total_size": {}, "stream": 0, "segment_type": "large",
          "segment_pool_id": [0, 0], "frames": [], "blocks": [
            {{"address": {large}, "size": {}, "requested_size": 0, "state": "inactive", "frames": []}},
            {{"address": {}, "size": {}, "requested_size": {}, "state": "active_allocated", "frames": []}}]}},
        {{"device": 0, "address": {small}, "total_size": {}, "stream": 7, "segment_type": "small",
          "segment_pool_id": [0, 0], "frames": [], "blocks": [
            {{"address": {small}, "size": 1024, "requested_size": 600, "state": "active_pending_free", "frames": []}},
            {{"address": {}, "size": {}, "requested_size": 0, "state": "inactive", "frames": []}}]}}],
        "device_traces": [[
            {{"action": "alloc", "addr": {large}, "size": {}, "stream": 0}},
            {{"action": "segment_alloc", "addr": {small}, "size": {}, "stream": 7}},
            {{"action": "alloc", "addr": {small}, "size": 600, "stream": 7}},
            {{"action": "free_requested", "addr": {small}, "size": 600, "stream": 7}},
            {{"action": "free_requested", "addr": {large}, "size": {}, "stream": 0}},
            {{"action": "free_completed", "addr": {large}, "size": {}, "stream": 0}}]]}}"#,
        20 * MIB,
        8 * MIB,
        large + 8 * MIB,
        12 * MIB,
        11 * MIB,
        2 * MIB,
        small + 1024,
        2 * MIB - 1024,
        7 * MIB + MIB / 2,
        2 * MIB,
        7 * MIB + MIB / 2,
        7 * MIB + MIB / 2,
    );
    decode(text.as_bytes()).unwrap()
}

/// (size, requested bytes, use) of every block.
fn blocks(segment: &SegmentState) -> Vec<(u64, u64, BlockUse)> {
    let blocks = segment.blocks.iter();
    blocks
        .map(|block| (block.bytes, block.requested_bytes, block.usage))
        .collect()
}

fn states() -> Vec<AllocatorState> {
    let recording = Recording::of(file());
    let device = recording.device(0).unwrap();
    let moments = 0..=device.history.event_count;
    let states: Vec<_> = moments.map(|moment| device.state_at(moment)).collect();
    assert!(device.final_check().is_equal());
    assert_eq!(
        device.block_sizes().check,
        SizeCheck {
            compared: 2,
            equal: 2
        }
    );
    states
}

#[test]
fn blocks_tile_their_segments() {
    use BlockUse::{Allocated, Free, PendingFree};
    let states = states();
    let before = [(8 * MIB, 0, Free), (12 * MIB, 11 * MIB, Allocated)];
    assert_eq!(states[0].segments.len(), 1);
    assert_eq!(blocks(&states[0].segments[0]), before);
    // The remainder of the 8 MiB is too small to be split off.
    let first = (8 * MIB, 7 * MIB + MIB / 2, Allocated);
    assert_eq!(blocks(&states[1].segments[0]), [first, before[1]]);
    assert_eq!(blocks(&states[2].segments[1]), [(2 * MIB, 0, Free)]);
    let rest = (2 * MIB - 1024, 0, Free);
    assert_eq!(
        blocks(&states[3].segments[1]),
        [(1024, 600, Allocated), rest]
    );
    assert_eq!(
        blocks(&states[4].segments[1]),
        [(1024, 600, PendingFree), rest]
    );
    assert_eq!(states[5].segments[0].blocks[0].usage, PendingFree);
    assert_eq!(blocks(&states[6].segments[0]), before);
}

#[test]
fn sums_by_pool_and_stream() {
    let states = states();
    let last = &states[6];
    let groups: Vec<_> = last
        .groups
        .iter()
        .map(|group| (group.pool, group.stream, group.sums.reserved_bytes))
        .collect();
    let pool = Some(PoolId(0, 0));
    assert_eq!(groups, [(pool, 0, 20 * MIB), (pool, 7, 2 * MIB)]);
    let total = last.total;
    assert_eq!(
        (total.allocated_bytes, total.pending_bytes),
        (12 * MIB, 1024)
    );
    assert_eq!(total.requested_bytes, 11 * MIB + 600);
    assert_eq!(total.rounding_bytes(), MIB + 424);
    assert_eq!(
        (total.free_bytes, total.largest_free_bytes),
        (10 * MIB - 1024, 8 * MIB)
    );
    assert_eq!(last.misfits, Misfits::default());
    let mapped: Vec<_> = last
        .segments
        .iter()
        .map(|segment| segment.mapped_by)
        .collect();
    assert_eq!(mapped, [None, Some(EventId(1))]);
    let classes: Vec<_> = last
        .segments
        .iter()
        .map(|segment| segment.size_class)
        .collect();
    assert_eq!(classes, [Some(SizeClass::Large), Some(SizeClass::Small)]);
}

#[test]
fn what_lies_where() {
    let states = states();
    let state = &states[1];
    assert_eq!(state.segment_at(0x1000_0000 - 1), None);
    assert_eq!(state.segment_at(0x1000_0000 + 20 * MIB), None);
    let segment = &state.segments[state.segment_at(0x1000_0000 + 9 * MIB).unwrap()];
    assert_eq!(segment.block_at(0x1000_0000 + 9 * MIB), Some(1));
    assert_eq!(segment.block_at(0x1000_0000 + 8 * MIB - 1), Some(0));
    let history = History::of(&file(), 0);
    assert_eq!(
        state.find(&history, segment.blocks[0].allocation.unwrap()),
        Some((0, 0))
    );
    assert_eq!(
        states[6].find(&history, segment.blocks[0].allocation.unwrap()),
        None
    );
}
