//! The data that is prepared once per device to compute states quickly, and the computation of a state.

use super::{
    AllocatorState, BlockSizes, BlockUse, Group, MappedRange, Misfits, PlacedBlock, Recording,
    SegmentState, SizeClass, StateSums,
};
use crate::analysis::memory::allocator_rules::{SMALL_BYTES, SMALL_SEGMENT_BYTES};
use crate::analysis::memory::capture::AllocatorKind;
use crate::ids::{AllocationId, EventId, SegmentId, StackId};
use crate::model::PoolId;

/// Lookups for the states of one device.
pub struct AllocatorIndex {
    /// The block sizes of all allocations.
    pub sizes: BlockSizes,
    /// Whose allocations these are. Only PyTorch separates segments by size class.
    kind: AllocatorKind,
    /// All mapping events as (address, moment, bytes), ascending.
    mappings: Vec<(u64, u32, u64)>,
    /// The final state's segments as (address, end, id), ascending.
    finals: Vec<(u64, u64, SegmentId)>,
    /// The pool of segments whose pool is not recorded, if it can be inferred.
    assumed_pool: Option<PoolId>,
    /// Allocations that end by an event of another allocation, as (moment, allocation), ascending.
    pub(super) displaced: Vec<(u32, AllocationId)>,
}

impl AllocatorIndex {
    /// Prepares the lookups. The time is proportional to the number of allocations and segment events.
    #[must_use]
    pub fn of(recording: Recording<'_>) -> Self {
        let Recording {
            history, replay, ..
        } = recording;
        let steps = replay.segment_steps(0, history.event_count);
        let mappings = steps.iter().filter(|step| step.is_mapping);
        let mut mappings: Vec<_> = mappings
            .map(|step| (step.range.address, step.moment, step.range.bytes))
            .collect();
        mappings.sort_unstable();
        Self {
            sizes: BlockSizes::of(recording),
            kind: AllocatorKind::of(recording.snapshot),
            mappings,
            finals: finals(recording),
            assumed_pool: assumed_pool(recording),
            displaced: displaced(recording),
        }
    }

    /// Computes the state at a moment. Moments after the last one are taken as the last one.
    #[must_use]
    pub fn state_at(&self, recording: Recording<'_>, moment: u32) -> AllocatorState {
        let moment = moment.min(recording.history.event_count);
        let live = live_by_address(recording, moment);
        let ranges = recording.replay.segments_at(moment);
        self.assemble(recording, moment, &ranges, &live, |_, _| None)
    }

    /// Computes a state from mapped ranges and live allocations. `known` may return an unchanged segment for a
    /// range, to save computing it. It is called with the range and the address up to which the range may
    /// contain blocks.
    pub(super) fn assemble(
        &self,
        recording: Recording<'_>,
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
                self.segment(recording, moment, range, within(live, range.address, end))
            });
            state.segments.push(segment);
        }
        sum_up(recording, &mut state, live);
        state
    }

    /// Computes a segment from its range and the live allocations that begin in it.
    pub(super) fn segment(
        &self,
        recording: Recording<'_>,
        moment: u32,
        range: &MappedRange,
        live: &[(u64, AllocationId)],
    ) -> SegmentState {
        let blocks = self.blocks(recording, moment, range, live);
        let listed = self.listed_at(recording, range);
        let (mapped_by, stack) = self.origin(recording, moment, range, listed);
        let listed = listed.map(|id| recording.snapshot.segments.get(id));
        let pool = range
            .pool
            .or_else(|| listed.and_then(|segment| segment.pool));
        let of_list = SizeClass::of_kind(listed.and_then(|segment| segment.kind));
        SegmentState {
            address: range.address,
            bytes: range.bytes,
            stream: range.stream,
            pool: pool.or(self.assumed_pool),
            is_expandable: range.is_expandable,
            size_class: of_list
                .or_else(|| size_class(range, &blocks))
                .filter(|_| self.kind == AllocatorKind::Torch),
            mapped_by,
            stack,
            group: 0,
            sums: StateSums::of(range.bytes, &blocks),
            blocks,
        }
    }

    fn blocks(
        &self,
        recording: Recording<'_>,
        moment: u32,
        range: &MappedRange,
        live: &[(u64, AllocationId)],
    ) -> Vec<PlacedBlock> {
        let table = &recording.history.allocations;
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
            let bytes = self.sizes.bytes(recording.history, id).min(room);
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

    /// The final state's segment that contains the start of a range, if stream and kind agree. A segment that
    /// is not expandable must have the same address and size.
    fn listed_at(&self, recording: Recording<'_>, range: &MappedRange) -> Option<SegmentId> {
        let after = self
            .finals
            .partition_point(|&(start, ..)| start <= range.address);
        let &(start, end, id) = self.finals.get(after.checked_sub(1)?)?;
        let segment = recording.snapshot.segments.get(id);
        let is_same = segment.stream.unwrap_or(0) == range.stream
            && (segment.is_expandable == Some(true)) == range.is_expandable
            && (range.is_expandable
                || (start == range.address && segment.total_size == range.bytes));
        (range.address < end && is_same).then_some(id)
    }

    /// The event that mapped the start of a range, and its stack. If it was not recorded, the stack is that of
    /// the segment in the final state.
    fn origin(
        &self,
        recording: Recording<'_>,
        moment: u32,
        range: &MappedRange,
        listed: Option<SegmentId>,
    ) -> (Option<EventId>, StackId) {
        let until = self
            .mappings
            .partition_point(|&(address, at, _)| (address, at) <= (range.address, moment));
        // If the front of a mapping was unmapped, the range begins inside of it, so the newest mapping at or
        // below the address need not begin there. Mappings of the same address after `moment` may come first;
        // they are few, so 16 are enough.
        let newest = self.mappings[..until].iter().rev();
        let covering = newest
            .take(16)
            .find(|&&(address, at, bytes)| at <= moment && range.address - address < bytes);
        if let Some(&(_, at, _)) = covering {
            let event = EventId(recording.history.first_event + at - 1);
            return (Some(event), recording.snapshot.events.stack[event.index()]);
        }
        let stack = listed.map(|id| recording.snapshot.segments.get(id).stack);
        (None, stack.unwrap_or(StackId::ABSENT))
    }
}

/// The live allocations by address. Several at one address, which occur in damaged files, are sorted by birth.
pub(super) fn live_by_address(recording: Recording<'_>, moment: u32) -> Vec<(u64, AllocationId)> {
    let table = &recording.history.allocations;
    let live = recording.replay.live_at(recording.history, moment);
    let mut live: Vec<_> = live
        .into_iter()
        .map(|id| (table.address[id.index()], id))
        .collect();
    live.sort_unstable();
    live
}

/// The address up to which a range may contain blocks: its end or, in a damaged file, the start of the next
/// range.
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

/// Sets the groups, totals and misfits of a state from its segments.
pub(super) fn sum_up(
    recording: Recording<'_>,
    state: &mut AllocatorState,
    live: &[(u64, AllocationId)],
) {
    let mut groups: Vec<Group> = Vec::new();
    let mut total = StateSums::default();
    let mut places: Vec<_> = state
        .segments
        .iter()
        .map(|segment| (segment.pool, segment.stream))
        .collect();
    places.sort_unstable_by_key(|&(pool, stream)| (pool, stream != 0, stream));
    places.dedup();
    groups.extend(places.iter().map(|&(pool, stream)| Group {
        pool,
        stream,
        sums: StateSums::default(),
    }));
    for segment in &mut state.segments {
        let key = (segment.pool, segment.stream != 0, segment.stream);
        let group =
            groups.partition_point(|group| (group.pool, group.stream != 0, group.stream) < key);
        segment.group = group as u32;
        groups[group].sums.add(&segment.sums);
        total.add(&segment.sums);
    }
    state.groups = groups;
    state.total = total;
    state.kind = AllocatorKind::of(recording.snapshot);
    state.misfits = misfits(recording, state, live);
}

fn misfits(
    recording: Recording<'_>,
    state: &AllocatorState,
    live: &[(u64, AllocationId)],
) -> Misfits {
    let sizes = &recording.history.allocations.bytes;
    let active = recording.history.active_bytes.get(state.moment as usize);
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

fn finals(recording: Recording<'_>) -> Vec<(u64, u64, SegmentId)> {
    let device = i32::try_from(recording.history.device).unwrap_or(i32::MIN);
    let own = recording.snapshot.segments.of_device(device);
    let mut finals: Vec<_> = own
        .map(|(id, segment)| (segment.address, segment.end(), id))
        .collect();
    finals.sort_unstable();
    finals
}

/// The default pool, if the file mentions it and no other; else `None`.
fn assumed_pool(recording: Recording<'_>) -> Option<PoolId> {
    let snapshot = recording.snapshot;
    let of_segments = snapshot.segments.rows.iter().map(|segment| segment.pool);
    let of_events = snapshot.contexts.rows().iter().map(|context| context.pool);
    let mut known = of_segments.chain(of_events).flatten().peekable();
    known.peek()?;
    known
        .all(|pool| !pool.is_private())
        .then_some(PoolId::default())
}

/// Allocations that end by an event of another allocation, as (moment, allocation), ascending.
pub fn displaced(recording: Recording<'_>) -> Vec<(u32, AllocationId)> {
    let history = recording.history;
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
