//! Checks the invariants of genuine snapshots (FORMAT.md 1.8), and warns where one is broken.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::Snapshot;
use crate::known_ranges::KnownRanges;
use crate::model::{Action, BlockState, NO_TIME, Segment, WarningKind, Warnings};

use super::sizes;

/// Removes impossible sizes, checks the final state, the times and the frees, and adds warnings.
pub(crate) fn check(snapshot: &mut Snapshot) {
    let mut found = Warnings::default();
    sizes::leave_out_impossible(snapshot, &mut found);
    check_segments(snapshot, &mut found);
    check_order(snapshot, &mut found);
    for trace in traces(snapshot) {
        check_times(snapshot, &trace, &mut found);
        check_frees(snapshot, &trace, &mut found);
        for (alloc, free) in [
            (Action::SegmentAlloc, Action::SegmentFree),
            (Action::SegmentMap, Action::SegmentUnmap),
        ] {
            check_held(snapshot, &trace, alloc, free, &mut found);
        }
    }
    // A packed snapshot already has some of these.
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
            // A block whose size was removed takes no room.
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

/// Whether a segment's stated sums equal those of its blocks.
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

/// The events of a device or of the host's memory.
struct Trace {
    /// `None` for the host.
    device: Option<usize>,
    rows: Range<u32>,
}

impl Trace {
    /// The path of a row in the file.
    fn place(&self, row: u32) -> String {
        let index = row - self.rows.start;
        match self.device {
            Some(device) => format!("device_traces[{device}][{index}]"),
            None => format!("host_traces[{index}]"),
        }
    }

    fn actions<'s>(&self, snapshot: &'s Snapshot) -> &'s [Action] {
        &snapshot.events.action[self.rows.start as usize..self.rows.end as usize]
    }
}

fn traces(snapshot: &Snapshot) -> impl Iterator<Item = Trace> {
    let devices = snapshot.traces.iter().enumerate();
    let devices = devices.map(|(device, rows)| (Some(device), rows));
    let all = devices.chain([(None, &snapshot.host_trace)]);
    all.map(|(device, rows)| Trace {
        device,
        rows: rows.clone(),
    })
}

fn check_times(snapshot: &Snapshot, trace: &Trace, found: &mut Warnings) {
    let times = &snapshot.events.time_us;
    if times.is_empty() {
        return;
    }
    let (mut latest, mut missing) = (NO_TIME, 0);
    for row in trace.rows.clone() {
        let time = times.at(row as usize);
        if time == NO_TIME {
            missing += 1;
        } else if time < latest {
            found.add(WarningKind::TimeRunsBackwards, || trace.place(row));
        }
        latest = latest.max(time);
    }
    if missing == 0 || latest == NO_TIME {
        return;
    }
    for row in trace.rows.clone() {
        if times.at(row as usize) == NO_TIME {
            found.add(WarningKind::TimeMissing, || trace.place(row));
        }
    }
}

/// What is known of the last free of an address. Without an alloc before it, the first free ends an allocation from
/// before the recording.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freed {
    No,
    Requested,
    Completed,
}

/// The latest allocation at an address, as far as events show it.
struct Tenancy {
    freed: Freed,
    /// Allocated bytes; 0 if unknown or removed.
    bytes: u64,
}

/// Checks that no address is freed again without an alloc in between, nor allocated again without a free, and that every
/// free has the size of its alloc.
fn check_frees(snapshot: &Snapshot, trace: &Trace, found: &mut Warnings) {
    let events = &snapshot.events;
    let actions = trace.actions(snapshot);
    // In a recording without allocs (`skip_actions`), every free but an address's first would count.
    if !actions.contains(&Action::Alloc) {
        return;
    }
    // The same holds for frees.
    let has_frees = actions.contains(&Action::FreeCompleted);
    let mut addresses: HashMap<u64, Tenancy, RandomState> = HashMap::default();
    for (row, action) in trace.rows.clone().zip(actions) {
        let freed = match action {
            Action::Alloc => Freed::No,
            Action::FreeRequested => Freed::Requested,
            Action::FreeCompleted => Freed::Completed,
            _ => continue,
        };
        let (address, size) = (events.addr[row as usize], events.size[row as usize]);
        let bytes = if freed == Freed::No { size } else { 0 };
        let mut now = Tenancy { freed, bytes };
        let entry = addresses.entry(address);
        if let Entry::Occupied(before) = &entry {
            let before = before.get();
            match (before.freed, freed) {
                (Freed::No, Freed::No) if has_frees => {
                    found.add(WarningKind::AllocatedTwice, || trace.place(row));
                }
                (Freed::Requested | Freed::Completed, Freed::Requested)
                | (Freed::Completed, Freed::Completed) => {
                    found.add(WarningKind::FreedTwice, || trace.place(row));
                }
                (_, Freed::Requested | Freed::Completed) => {
                    if before.bytes > 0 && size > 0 && before.bytes != size {
                        found.add(WarningKind::FreedSizeDiffers, || trace.place(row));
                    }
                    now.bytes = before.bytes;
                }
                _ => {}
            }
        }
        entry.insert(now);
    }
}

/// Checks that no segment or mapping, nor a part of one, is allocated again without a free in between, nor freed again
/// without an alloc. `alloc` and `free` are the actions to look at.
fn check_held(
    snapshot: &Snapshot,
    trace: &Trace,
    alloc: Action,
    free: Action,
    found: &mut Warnings,
) {
    let events = &snapshot.events;
    let actions = trace.actions(snapshot);
    // As with allocations: `skip_actions` may have left out either.
    if !actions.contains(&alloc) || !actions.contains(&free) {
        return;
    }
    let mut known = KnownRanges::default();
    for (row, action) in trace.rows.clone().zip(actions) {
        let is_held = *action == alloc;
        if !is_held && *action != free {
            continue;
        }
        let (address, bytes) = (events.addr[row as usize], events.size[row as usize]);
        if known.set(address, bytes, is_held) > 0 {
            let kind = match is_held {
                true => WarningKind::AllocatedTwice,
                false => WarningKind::FreedTwice,
            };
            found.add(kind, || trace.place(row));
        }
    }
}
