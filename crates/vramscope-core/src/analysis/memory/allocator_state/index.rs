//! Data prepared once per device to compute states quickly, and the computation of a state.

use super::{
    AllocatorState, BlockSizes, BlockUse, Group, MappedRange, Misfits, PlacedBlock, Replayed,
    SegmentState, SizeClass, StateSums,
};
use crate::Snapshot;
use crate::analysis::memory::allocator_rules::{SMALL_BYTES, SMALL_SEGMENT_BYTES, page_bytes};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::time::history::History;
use crate::ids::{AllocationId, EventId, StackId};
use crate::model::PoolId;
use crate::sorting::SortFew;

/// Lookups for the states of one device.
pub(crate) struct AllocatorIndex {
    pub(crate) sizes: BlockSizes,
    /// The allocator that made the allocations. Only PyTorch separates segments by size class.
    kind: AllocatorKind,
    /// All mapping events, ascending.
    mappings: Vec<Mapping>,
    /// The final state's segments, ascending.
    listed: Vec<ListedSegment>,
    /// The pool of segments without a recorded pool, if it can be inferred.
    assumed_pool: Option<PoolId>,
    /// Allocations that ended by an event of another allocation, as (moment, allocation), ascending.
    pub(crate) displaced: Vec<(u32, AllocationId)>,
}

/// An event that mapped memory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Mapping {
    address: u64,
    moment: u32,
    bytes: u64,
    stack: StackId,
}

/// A segment of the final state.
#[derive(Clone, Copy)]
struct ListedSegment {
    address: u64,
    end: u64,
    bytes: u64,
    stream: i64,
    pool: Option<PoolId>,
    is_expandable: bool,
    size_class: Option<SizeClass>,
    stack: StackId,
}

impl AllocatorIndex {
    /// Prepares the lookups. The time is proportional to the number of allocations and segment events.
    pub(crate) fn of(snapshot: &Snapshot, replayed: Replayed<'_>) -> Self {
        Self {
            sizes: BlockSizes::of(snapshot, replayed),
            kind: AllocatorKind::of(snapshot),
            mappings: mappings(snapshot, replayed),
            listed: listed(snapshot, replayed.history),
            assumed_pool: assumed_pool(snapshot),
            displaced: displaced(replayed.history),
        }
    }

    /// Computes the state at a moment. Moments after the last one count as the last one.
    pub(crate) fn state_at(&self, replayed: Replayed<'_>, moment: u32) -> AllocatorState {
        let moment = moment.min(replayed.history.event_count);
        let live = live_by_address(replayed, moment);
        let ranges = replayed.replay.segments_at(moment);
        self.assemble(replayed, moment, &ranges, &live, |_, _| None)
    }

    /// Computes a state from mapped ranges and live allocations. To save work, `known` may return an unchanged segment
    /// for a range. It is called with the range and the address up to which the range may contain blocks.
    pub(super) fn assemble(
        &self,
        replayed: Replayed<'_>,
        moment: u32,
        ranges: &[MappedRange],
        live: &[(u64, AllocationId)],
        mut known: impl FnMut(&MappedRange, u128) -> Option<SegmentState>,
    ) -> AllocatorState {
        let mut state = AllocatorState {
            moment,
            ..AllocatorState::default()
        };
        state.segments.reserve(ranges.len());
        for (row, range) in ranges.iter().enumerate() {
            let end = end_before(range, ranges.get(row + 1).map(|next| next.address));
            let segment = known(range, end).unwrap_or_else(|| {
                self.segment(replayed, moment, range, within(live, range.address, end))
            });
            state.segments.push(segment);
        }
        self.sum_up(replayed, &mut state, live);
        state
    }

    /// Computes a segment from its range and the live allocations that begin in it.
    pub(super) fn segment(
        &self,
        replayed: Replayed<'_>,
        moment: u32,
        range: &MappedRange,
        live: &[(u64, AllocationId)],
    ) -> SegmentState {
        let blocks = self.blocks(replayed, moment, range, live);
        let listed = self.listed_at(range);
        let (mapped_by, stack) = self.origin(replayed, moment, range, listed);
        let pool = range.pool.or(listed.and_then(|segment| segment.pool));
        let of_list = listed.and_then(|segment| segment.size_class);
        let size_class = of_list
            .or_else(|| size_class(range, &blocks))
            .filter(|_| self.kind == AllocatorKind::Torch);
        SegmentState {
            address: range.address,
            bytes: range.bytes,
            stream: range.stream,
            pool: pool.or(self.assumed_pool),
            is_expandable: range.is_expandable,
            size_class,
            page_bytes: page_bytes(self.kind, range.is_expandable, size_class),
            mapped_by,
            stack,
            group: 0,
            sums: StateSums::of(range.bytes, &blocks),
            blocks,
        }
    }

    fn blocks(
        &self,
        replayed: Replayed<'_>,
        moment: u32,
        range: &MappedRange,
        live: &[(u64, AllocationId)],
    ) -> Vec<PlacedBlock> {
        let table = &replayed.history.allocations;
        let mut blocks = Vec::with_capacity(live.len() * 2 + 1);
        // Offsets into the segment cannot overflow; addresses of a damaged file could.
        let mut covered = 0;
        let free = |from: u64, to: u64| PlacedBlock {
            address: range.address.wrapping_add(from),
            bytes: to - from,
            requested_bytes: 0,
            usage: BlockUse::Free,
            allocation: None,
        };
        for (place, &(address, id)) in live.iter().enumerate() {
            let offset = address - range.address;
            if offset > covered {
                blocks.push(free(covered, offset));
            }
            let next = live
                .get(place + 1)
                .map_or(range.bytes, |&(next, _)| next - range.address);
            let room = next.min(range.bytes).saturating_sub(offset);
            let bytes = self.sizes.bytes(replayed.history, id).min(room);
            let is_pending = table.free_requested[id.index()] <= moment;
            blocks.push(PlacedBlock {
                address,
                bytes,
                requested_bytes: table.bytes[id.index()].min(bytes),
                usage: if is_pending {
                    BlockUse::PendingFree
                } else {
                    BlockUse::Allocated
                },
                allocation: Some(id),
            });
            covered = offset + bytes;
        }
        if covered < range.bytes {
            blocks.push(free(covered, range.bytes));
        }
        blocks
    }

    /// The final state's segment that contains the start of a range, if stream and kind agree. A segment that is not
    /// expandable must have the same address and size.
    fn listed_at(&self, range: &MappedRange) -> Option<ListedSegment> {
        let after = self
            .listed
            .partition_point(|segment| segment.address <= range.address);
        let segment = *self.listed.get(after.checked_sub(1)?)?;
        let is_same = segment.stream == range.stream
            && segment.is_expandable == range.is_expandable
            && (range.is_expandable
                || (segment.address == range.address && segment.bytes == range.bytes));
        (range.address < segment.end && is_same).then_some(segment)
    }

    /// The event that mapped the start of a range, and its stack. If the event was not recorded, the stack comes from
    /// the segment in the final state.
    fn origin(
        &self,
        replayed: Replayed<'_>,
        moment: u32,
        range: &MappedRange,
        listed: Option<ListedSegment>,
    ) -> (Option<EventId>, StackId) {
        let until = self.mappings.partition_point(|mapping| {
            (mapping.address, mapping.moment) <= (range.address, moment)
        });
        // If the front of a mapping was unmapped, the range begins inside the mapping, so the newest mapping at or
        // below the address need not begin there. Mappings of the same address after `moment` may come first; they are
        // few, so looking at 16 is enough.
        let newest = self.mappings[..until].iter().rev();
        let covering = newest.take(16).find(|mapping| {
            mapping.moment <= moment && range.address - mapping.address < mapping.bytes
        });
        if let Some(mapping) = covering {
            let event = EventId(replayed.history.first_event + mapping.moment - 1);
            return (Some(event), mapping.stack);
        }
        let stack = listed.map(|segment| segment.stack);
        (None, stack.unwrap_or(StackId::ABSENT))
    }

    /// Computes groups, totals and misfits.
    pub(super) fn sum_up(
        &self,
        replayed: Replayed<'_>,
        state: &mut AllocatorState,
        live: &[(u64, AllocationId)],
    ) {
        (state.groups, state.total) = groups(&mut state.segments);
        state.kind = self.kind;
        state.misfits = misfits(replayed, state, live);
    }
}

fn mappings(snapshot: &Snapshot, Replayed { history, replay }: Replayed<'_>) -> Vec<Mapping> {
    let steps = replay.segment_steps(0, history.event_count);
    let mappings = steps.iter().filter(|step| step.is_mapping);
    let mut mappings: Vec<_> = mappings
        .map(|step| Mapping {
            address: step.range.address,
            moment: step.moment,
            bytes: step.range.bytes,
            stack: snapshot.events.stack[(history.first_event + step.moment - 1) as usize],
        })
        .collect();
    mappings.sort_unstable();
    mappings
}

/// The live allocations by address. Several at one address, which occur in damaged files, are sorted by birth.
pub(super) fn live_by_address(replayed: Replayed<'_>, moment: u32) -> Vec<(u64, AllocationId)> {
    let table = &replayed.history.allocations;
    let live = replayed.replay.live_at(replayed.history, moment);
    let mut live: Vec<_> = live
        .into_iter()
        .map(|id| (table.address[id.index()], id))
        .collect();
    live.sort_unstable();
    live
}

/// The address up to which a range may contain blocks: its end or, in a damaged file, the start of the next range.
pub(super) fn end_before(range: &MappedRange, next_address: Option<u64>) -> u128 {
    let end = u128::from(range.address) + u128::from(range.bytes);
    next_address.map_or(end, |next| end.min(u128::from(next)))
}

/// The live allocations with an address in `from .. to`.
pub(super) fn within(live: &[(u64, AllocationId)], from: u64, to: u128) -> &[(u64, AllocationId)] {
    let first = live.partition_point(|&(address, _)| address < from);
    let last = live.partition_point(|&(address, _)| u128::from(address) < to);
    live.get(first..last).unwrap_or(&[])
}

/// The segments' pools and streams with their sums, and the total. Writes its group into each segment.
fn groups(segments: &mut [SegmentState]) -> (Vec<Group>, StateSums) {
    let key = |pool: Option<PoolId>, stream: i64| (pool, stream != 0, stream);
    let keys = segments
        .iter()
        .map(|segment| key(segment.pool, segment.stream));
    let mut keys: Vec<_> = keys.collect();
    keys.sort_few_by(Ord::cmp);
    keys.dedup();
    let mut total = StateSums::default();
    let mut groups: Vec<_> = keys
        .iter()
        .map(|&(pool, _, stream)| Group {
            pool,
            stream,
            sums: StateSums::default(),
        })
        .collect();
    for segment in segments {
        let own = key(segment.pool, segment.stream);
        let group = keys.partition_point(|&key| key < own);
        segment.group = group as u32;
        groups[group].sums.add(&segment.sums);
        total.add(&segment.sums);
    }
    (groups, total)
}

fn misfits(
    replayed: Replayed<'_>,
    state: &AllocatorState,
    live: &[(u64, AllocationId)],
) -> Misfits {
    let sizes = &replayed.history.allocations.bytes;
    let active = replayed.history.active_bytes.get(state.moment as usize);
    let mut misfits = Misfits::default();
    let placed = state.total.allocated_blocks + state.total.pending_blocks;
    if active == Some(&state.total.requested_bytes) && placed == live.len() as u64 {
        return misfits;
    }
    let mut segments = state.segments.iter().peekable();
    let mut requested = 0_u64;
    for &(address, id) in live {
        // Skip the segments that end before the address.
        while let Some(segment) = segments.peek()
            && (address.checked_sub(segment.address)).is_some_and(|offset| offset >= segment.bytes)
        {
            segments.next();
        }
        let bytes = sizes[id.index()];
        let is_inside = segments
            .peek()
            .is_some_and(|segment| segment.address <= address);
        if is_inside {
            requested = requested.saturating_add(bytes);
        } else {
            misfits.outside += 1;
            misfits.outside_bytes = misfits.outside_bytes.saturating_add(bytes);
        }
    }
    misfits.cut_bytes = requested.saturating_sub(state.total.requested_bytes);
    misfits
}

fn size_class(range: &MappedRange, blocks: &[PlacedBlock]) -> Option<SizeClass> {
    if !range.is_expandable {
        return Some(if range.bytes <= SMALL_SEGMENT_BYTES {
            SizeClass::Small
        } else {
            SizeClass::Large
        });
    }
    let mut active = blocks.iter().filter(|block| block.allocation.is_some());
    let first = active.next()?;
    Some(if first.requested_bytes > SMALL_BYTES {
        SizeClass::Large
    } else {
        SizeClass::Small
    })
}

/// The final state's segments of a device. The sort is stable: segments at one address (in a damaged file) stay in file
/// order.
fn listed(snapshot: &Snapshot, history: &History) -> Vec<ListedSegment> {
    let device = i32::try_from(history.device).unwrap_or(i32::MIN);
    let own = snapshot.segments.of_device(device);
    let mut listed: Vec<_> = own
        .map(|(_, segment)| ListedSegment {
            address: segment.address,
            end: segment.end(),
            bytes: segment.total_size,
            stream: segment.stream.unwrap_or(0),
            pool: segment.pool,
            is_expandable: segment.is_expandable == Some(true),
            size_class: SizeClass::of_kind(segment.kind),
            stack: segment.stack,
        })
        .collect();
    listed.sort_few_by_key(|segment| (segment.address, segment.end));
    listed
}

/// The default pool, if the file mentions it and no other pool.
fn assumed_pool(snapshot: &Snapshot) -> Option<PoolId> {
    let of_segments = snapshot.segments.rows.iter().map(|segment| segment.pool);
    let of_events = snapshot.contexts.rows().iter().map(|context| context.pool);
    let mut known = of_segments.chain(of_events).flatten().peekable();
    known.peek()?;
    known
        .all(|pool| !pool.is_private())
        .then_some(PoolId::default())
}

/// Allocations that ended by an event of another allocation, as (moment, allocation), ascending.
fn displaced(history: &History) -> Vec<(u32, AllocationId)> {
    let deaths = history.allocations.died.iter().enumerate();
    let mut displaced: Vec<_> = deaths
        .filter(|&(row, &died)| {
            let by = died
                .checked_sub(1)
                .and_then(|event| history.allocation_of_event.get(event as usize));
            by.is_some_and(|&by| by as usize != row)
        })
        .map(|(row, &died)| (died, AllocationId::from_index(row)))
        .collect();
    displaced.sort_unstable();
    displaced
}
