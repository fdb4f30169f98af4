//! Checks the invariants of genuine snapshots (FORMAT.md 1.8), and warns where one is broken.

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::Snapshot;
use crate::model::{Action, BlockState, NO_TIME, Segment, WarningKind, Warnings};

use super::sizes;

/// Leaves out sizes that cannot be, checks the final state, the times and the frees, and adds warnings.
pub(crate) fn check(snapshot: &mut Snapshot) {
    let mut found = Warnings::default();
    sizes::leave_out_impossible(snapshot, &mut found);
    check_segments(snapshot, &mut found);
    check_order(snapshot, &mut found);
    check_times(snapshot, &mut found);
    check_frees(snapshot, &mut found);
    check_segment_frees(snapshot, &mut found);
    // A packed snapshot has some of them already.
    snapshot.warnings.merge(found.into_list());
}

fn check_segments(snapshot: &Snapshot, found: &mut Warnings) {
    for (index, segment) in snapshot.segments.rows.iter().enumerate() {
        let place = || format!("segments[{index}]");
        let blocks =
            &snapshot.blocks.rows[segment.blocks.start as usize..segment.blocks.end as usize];
        let sum = blocks
            .iter()
            .map(|block| u128::from(block.size))
            .sum::<u128>();
        if sum != u128::from(segment.total_size) {
            found.add(WarningKind::BlocksDoNotFillSegment, place);
        }
        let mut next = segment.address;
        for (block_index, block) in blocks.iter().enumerate() {
            // A block whose size is left out is nowhere.
            if block.address != next && block.size > 0 {
                let place = || format!("segments[{index}].blocks[{block_index}]");
                found.add(WarningKind::BlocksNotContiguous, place);
                break;
            }
            next = next.wrapping_add(block.size);
        }
        if !sums_hold(snapshot, segment) {
            found.add(WarningKind::SegmentSumsDiffer, place);
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
fn check_order(snapshot: &Snapshot, found: &mut Warnings) {
    for (index, pair) in snapshot.segments.rows.windows(2).enumerate() {
        let [first, second] = pair else { continue };
        if first.device != second.device {
            continue;
        }
        let place = || format!("segments[{}]", index + 1);
        if second.address < first.address {
            found.add(WarningKind::SegmentsUnsorted, place);
        } else if second.address < first.end() && second.total_size > 0 {
            found.add(WarningKind::SegmentsOverlap, place);
        }
    }
}

fn check_times(snapshot: &Snapshot, found: &mut Warnings) {
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
                found.add(WarningKind::TimeRunsBackwards, place);
            }
            latest = latest.max(time);
        }
    }
}

/// How far an address is freed since its last alloc. Without an alloc the first free is of an allocation from before
/// the recording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freed {
    No,
    Requested,
    Completed,
}

/// Checks that no address is freed again without an alloc in between, nor allocated again without a free.
fn check_frees(snapshot: &Snapshot, found: &mut Warnings) {
    let events = &snapshot.events;
    for (device, rows) in snapshot.traces.iter().enumerate() {
        let actions = &events.action[rows.start as usize..rows.end as usize];
        // Recorded without allocs (`skip_actions`), every tenancy of an address but its first would count.
        if !actions.contains(&Action::Alloc) {
            continue;
        }
        // The same holds for frees.
        let has_frees = actions.contains(&Action::FreeCompleted);
        let mut addresses: HashMap<u64, Freed, RandomState> = HashMap::default();
        for (row, action) in rows.clone().zip(actions) {
            let now = match action {
                Action::Alloc => Freed::No,
                Action::FreeRequested => Freed::Requested,
                Action::FreeCompleted => Freed::Completed,
                _ => continue,
            };
            let Some(before) = addresses.insert(events.addr[row as usize], now) else {
                continue;
            };
            let kind = match (before, now) {
                (Freed::No, Freed::No) if has_frees => WarningKind::AllocatedTwice,
                (Freed::Requested | Freed::Completed, Freed::Requested)
                | (Freed::Completed, Freed::Completed) => WarningKind::FreedTwice,
                _ => continue,
            };
            let place = || format!("device_traces[{device}][{}]", row - rows.start);
            found.add(kind, place);
        }
    }
}

/// Checks that no segment is freed again without a `segment_alloc` in between.
fn check_segment_frees(snapshot: &Snapshot, found: &mut Warnings) {
    let events = &snapshot.events;
    for (device, rows) in snapshot.traces.iter().enumerate() {
        let actions = &events.action[rows.start as usize..rows.end as usize];
        // As with allocs: `skip_actions` may have left them out.
        if !actions.contains(&Action::SegmentAlloc) {
            continue;
        }
        let mut freed: HashSet<u64, RandomState> = HashSet::default();
        for (row, action) in rows.clone().zip(actions) {
            let addr = events.addr[row as usize];
            match action {
                Action::SegmentAlloc => {
                    freed.remove(&addr);
                }
                Action::SegmentFree if !freed.insert(addr) => {
                    let place = || format!("device_traces[{device}][{}]", row - rows.start);
                    found.add(WarningKind::FreedTwice, place);
                }
                _ => {}
            }
        }
    }
}
