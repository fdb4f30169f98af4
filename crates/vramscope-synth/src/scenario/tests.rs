//! Each scenario, checked against what held on genuine snapshots.

use super::*;
use crate::snapshot::{Action, BlockState, Producer, WriteOptions};

fn actions(snapshot: &Snapshot, wanted: &Action) -> usize {
    snapshot
        .device_traces
        .iter()
        .flatten()
        .filter(|e| e.action == *wanted)
        .count()
}

#[test]
fn every_scenario_is_small_and_consistent() {
    for (name, make) in ALL {
        let snapshot = make(1);
        let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        assert!(
            (2_000..2_000_000).contains(&bytes.len()),
            "{name}: {} bytes",
            bytes.len()
        );
        crate::check::assert_consistent(&bytes, name);
        assert_eq!(snapshot, make(1), "{name} differs from itself");
    }
}

#[test]
fn every_failure_is_told() {
    for (name, _) in FAILURES {
        let snapshot = failure(name).unwrap();
        assert_eq!(actions(&snapshot, &Action::Oom), 1, "{name}");
        let bytes = snapshot.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        crate::check::assert_consistent(&bytes, name);
    }
}

#[test]
fn the_oom_is_the_last_thing_that_happens() {
    let snapshot = oom(1);
    assert_eq!(
        snapshot.device_traces[0].last().map(|e| &e.action),
        Some(&Action::Oom)
    );
    assert!(
        snapshot
            .segments
            .iter()
            .map(crate::snapshot::Segment::allocated_size)
            .sum::<u64>()
            > 1 << 30
    );
}

#[test]
fn pools_hold_pending_blocks() {
    let snapshot = pools(1);
    let blocks = snapshot.segments.iter().flat_map(|s| &s.blocks);
    let pending = blocks
        .filter(|b| b.state == BlockState::ActivePendingFree)
        .count();
    assert_eq!(pending, 5);
    assert!(snapshot.segments.iter().any(|s| s.pool == (3, 0)));
}

#[test]
fn expandable_segments_unmap() {
    let snapshot = expandable(1);
    assert!(actions(&snapshot, &Action::SegmentUnmap) > 0);
    assert!(snapshot.segments.iter().all(|s| s.is_expandable));
}

#[test]
fn the_third_device_has_the_highest_peak() {
    let snapshot = multi_device(1);
    assert_eq!(snapshot.device_traces.len(), 4);
    let reserved = |device| -> u64 {
        snapshot
            .segments
            .iter()
            .filter(|s| s.device == device)
            .map(|s| s.total_size)
            .sum()
    };
    assert!(reserved(2) > reserved(0) && reserved(0) > reserved(1));
}

#[test]
fn fragmentation_is_real() {
    let snapshot = fragmented(1);
    let reserved: u64 = snapshot.segments.iter().map(|s| s.total_size).sum();
    let allocated: u64 = snapshot
        .segments
        .iter()
        .map(crate::snapshot::Segment::allocated_size)
        .sum();
    let blocks = snapshot.segments.iter().flat_map(|s| &s.blocks);
    let largest = blocks
        .filter(|b| b.state == BlockState::Inactive)
        .map(|b| b.size)
        .max();
    assert!(
        largest.unwrap() * 10 < reserved - allocated,
        "{reserved} {allocated} {largest:?}"
    );
}
