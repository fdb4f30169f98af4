//! Checks the invariants of genuine snapshots (FORMAT.md 1.8), and warns where one is broken.

use crate::Snapshot;
use crate::model::{BlockState, NO_TIME, Segment, WarningKind};

/// Checks the final state and the times, and adds warnings.
pub(crate) fn check(snapshot: &mut Snapshot) {
    check_segments(snapshot);
    check_order(snapshot);
    check_times(snapshot);
}

fn check_segments(snapshot: &mut Snapshot) {
    for (index, segment) in snapshot.segments.rows.iter().enumerate() {
        let place = || format!("segments[{index}]");
        let blocks =
            &snapshot.blocks.rows[segment.blocks.start as usize..segment.blocks.end as usize];
        let sum = blocks
            .iter()
            .map(|block| u128::from(block.size))
            .sum::<u128>();
        if sum != u128::from(segment.total_size) {
            snapshot
                .warnings
                .add(WarningKind::BlocksDoNotFillSegment, place);
        }
        let mut next = segment.address;
        for (block_index, block) in blocks.iter().enumerate() {
            if block.address != next {
                let place = || format!("segments[{index}].blocks[{block_index}]");
                snapshot
                    .warnings
                    .add(WarningKind::BlocksNotContiguous, place);
                break;
            }
            next = next.wrapping_add(block.size);
        }
        if !sums_hold(snapshot, segment) {
            snapshot.warnings.add(WarningKind::SegmentSumsDiffer, place);
        }
    }
}

/// Whether the sums that a segment states are those of its blocks.
fn sums_hold(snapshot: &Snapshot, segment: &Segment) -> bool {
    let blocks = || segment.block_ids().map(|id| snapshot.blocks.get(id));
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.map(u128::from).sum::<u128>();
    let agrees = |said: Option<u64>, is: u128| said.is_none_or(|said| u128::from(said) == is);
    let allocated = blocks().filter(|block| block.state == BlockState::ActiveAllocated);
    let active = || blocks().filter(|block| block.state.is_active());
    agrees(
        segment.allocated_size,
        sum(&mut allocated.map(|block| block.size)),
    ) && agrees(
        segment.active_size,
        sum(&mut active().map(|block| block.size)),
    ) && agrees(
        segment.requested_size,
        sum(&mut active().map(|block| snapshot.blocks.requested_bytes(block))),
    )
}

/// Checks that the segments of each device are sorted by address and do not overlap.
fn check_order(snapshot: &mut Snapshot) {
    for (index, pair) in snapshot.segments.rows.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        if first.device != second.device {
            continue;
        }
        let place = || format!("segments[{}]", index + 1);
        if second.address < first.address {
            snapshot.warnings.add(WarningKind::SegmentsUnsorted, place);
        } else if second.address < first.end() {
            snapshot.warnings.add(WarningKind::SegmentsOverlap, place);
        }
    }
}

fn check_times(snapshot: &mut Snapshot) {
    let times = &snapshot.events.time_us;
    if times.is_empty() {
        return;
    }
    for (device, rows) in snapshot.traces.iter().enumerate() {
        let mut latest = NO_TIME;
        for row in rows.clone() {
            let time = times.get(row as usize).copied().unwrap_or(NO_TIME);
            if time < latest && time != NO_TIME {
                let place = || format!("device_traces[{device}][{}]", row - rows.start);
                snapshot.warnings.add(WarningKind::TimeRunsBackwards, place);
            }
            latest = latest.max(time);
        }
    }
}
