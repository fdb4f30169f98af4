//! Checks the invariants of genuine snapshots (FORMAT.md 1.8), and warns where one is broken.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::Snapshot;
use crate::model::{
    Action, Block, BlockState, LARGEST_BYTES, NO_TIME, Segment, WarningKind, Warnings,
};

/// Checks the final state, the times, the sizes and the frees, and adds warnings.
pub(crate) fn check(snapshot: &mut Snapshot) {
    let mut found = Warnings::default();
    check_segments(snapshot, &mut found);
    check_order(snapshot, &mut found);
    check_times(snapshot, &mut found);
    check_sizes(snapshot, &mut found);
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
            if block.address != next {
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
        } else if second.address < first.end() {
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

/// Checks that all sizes are possible.
fn check_sizes(snapshot: &Snapshot, found: &mut Warnings) {
    let tables = [
        ("segments", &snapshot.segments),
        ("host_segments", &snapshot.host_segments),
    ];
    for (table, segments) in tables {
        for (index, segment) in segments.rows.iter().enumerate() {
            let is_placed = has_room(segment.address, segment.total_size);
            if !is_placed || !segment_sizes(segment).all(is_possible) {
                found.add(WarningKind::ImpossibleSize, || format!("{table}[{index}]"));
            }
            let blocks = segment.blocks.start as usize..segment.blocks.end as usize;
            let blocks = snapshot.blocks.rows.get(blocks).unwrap_or_default();
            for (block_index, block) in blocks.iter().enumerate() {
                let is_placed = has_room(block.address, block.size);
                // A block that is not in use keeps what was last requested, perhaps of a larger one.
                let is_large_enough = !block.state.is_active()
                    || snapshot.blocks.requested_bytes(block) <= block.size;
                let are_possible = block_sizes(snapshot, block).all(is_possible);
                if !is_placed || !is_large_enough || !are_possible {
                    let place = || format!("{table}[{index}].blocks[{block_index}]");
                    found.add(WarningKind::ImpossibleSize, place);
                }
            }
        }
    }
    for (device, rows) in snapshot.traces.iter().enumerate() {
        check_event_sizes(snapshot, rows, &format!("device_traces[{device}]"), found);
    }
    check_event_sizes(snapshot, &snapshot.host_trace, "host_traces", found);
}

fn is_possible(bytes: u64) -> bool {
    bytes <= LARGEST_BYTES
}

/// Whether so many bytes fit between an address and the end of all addresses.
fn has_room(address: u64, bytes: u64) -> bool {
    address.checked_add(bytes.saturating_sub(1)).is_some()
}

fn segment_sizes(segment: &Segment) -> impl Iterator<Item = u64> {
    let sums = [
        segment.allocated_size,
        segment.active_size,
        segment.requested_size,
    ];
    sums.into_iter().flatten().chain([segment.total_size])
}

fn block_sizes(snapshot: &Snapshot, block: &Block) -> impl Iterator<Item = u64> {
    let tenants = snapshot.blocks.tenants(block).iter();
    let tenants = tenants.map(|tenant| tenant.real_size);
    tenants.chain(block.requested_size).chain([block.size])
}

fn check_event_sizes(snapshot: &Snapshot, rows: &Range<u32>, trace: &str, found: &mut Warnings) {
    let events = &snapshot.events;
    for row in rows.clone() {
        let (addr, size) = (events.addr[row as usize], events.size[row as usize]);
        let are_possible = match events.action[row as usize] {
            // A program may ask for any size; what the device has free is in place of the address.
            Action::Oom => is_possible(addr),
            Action::Other(_) => continue,
            // No memory is at the address of a snapshot.
            Action::Snapshot => is_possible(size),
            _ => is_possible(size) && has_room(addr, size),
        };
        if !are_possible {
            let place = || format!("{trace}[{}]", row - rows.start);
            found.add(WarningKind::ImpossibleSize, place);
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

/// Checks that no address is freed again without an alloc in between.
fn check_frees(snapshot: &Snapshot, found: &mut Warnings) {
    let events = &snapshot.events;
    for (device, rows) in snapshot.traces.iter().enumerate() {
        let actions = &events.action[rows.start as usize..rows.end as usize];
        // Recorded without allocs (`skip_actions`), every tenancy of an address but its first would count.
        if !actions.contains(&Action::Alloc) {
            continue;
        }
        let mut addresses: HashMap<u64, Freed, RandomState> = HashMap::default();
        for (row, action) in rows.clone().zip(actions) {
            let (now, is_twice): (_, fn(Freed) -> bool) = match action {
                Action::Alloc => (Freed::No, |_| false),
                Action::FreeRequested => (Freed::Requested, |before| before != Freed::No),
                Action::FreeCompleted => (Freed::Completed, |before| before == Freed::Completed),
                _ => continue,
            };
            let before = addresses.insert(events.addr[row as usize], now);
            if before.is_some_and(is_twice) {
                let place = || format!("device_traces[{device}][{}]", row - rows.start);
                found.add(WarningKind::FreedTwice, place);
            }
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
