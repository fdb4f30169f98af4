//! The final state of a cut: segments and blocks of a device at the end of the range.
//!
//! Segments are the ranges that [`Replay`](crate::analysis::time::replay::Replay) finds mapped. Blocks are its live
//! allocations and the gaps between them. Block sizes and size classes are those of the file's own final state where it
//! still applies, else derived from the allocator's rules. An allocation without a known segment (in a damaged file)
//! gets a segment of its own, because it must lie in one to count as live. Devices without segments have no final state.

use std::collections::HashMap;

use super::Piece;
use crate::Snapshot;
use crate::analysis::time::history::{History, StackSource};
use crate::analysis::time::replay::MappedRange;
use crate::decode::Key;
use crate::ids::{AllocationId, StackId};
use crate::model::{Block, BlockState, Segment, SegmentKind};
use crate::transfer::{Role, Transfer};

/// The largest request that the small pool serves, and the size of its segments.
const SMALL_REQUEST_BYTES: u64 = 1 << 20;
const SMALL_SEGMENT_BYTES: u64 = 2 << 20;

/// Adds the segments and blocks of one device.
pub(super) fn at_end(transfer: &mut Transfer<'_>, piece: &Piece<'_>) {
    let (_, to) = piece.bounds();
    let Ok(device) = i32::try_from(piece.device.index()) else {
        return;
    };
    let (history, replay) = (piece.device.history, piece.device.replay());
    let mut ranges = replay.segments_at(to);
    let sizes = piece.device.block_sizes();
    let mut live = live(history, &replay.live_at(history, to), to);
    for alive in &mut live {
        alive.block_bytes = sizes.bytes(history, alive.id);
    }
    ranges.extend(orphans(&ranges, &live));
    ranges.sort_by_key(|range| range.address);
    let recorded = RecordedSegments::of(transfer.from, history, to);
    let mut rest = live.as_mut_slice();
    for range in &ranges {
        let end = end_of(range);
        let count = rest.partition_point(|alive| alive.address < end);
        let (own, later) = rest.split_at_mut(count);
        rest = later;
        let first = transfer.to.blocks.len() as u32;
        blocks(transfer, history, range, own);
        let blocks = first..transfer.to.blocks.len() as u32;
        let mut segment = recorded.segment(transfer, device, range, own.first());
        segment.blocks = blocks;
        sums(&transfer.to, transfer.from, &mut segment);
        transfer.to.segments.rows.push(segment);
    }
}

/// A live allocation.
#[derive(Clone, Copy)]
struct Alive {
    address: u64,
    bytes: u64,
    /// Block size, before it is limited to the available room.
    block_bytes: u64,
    id: AllocationId,
    is_pending: bool,
}

fn live(history: &History, ids: &[AllocationId], moment: u32) -> Vec<Alive> {
    let table = &history.allocations;
    let alive = ids.iter().map(|&id| Alive {
        address: table.address[id.index()],
        bytes: table.bytes[id.index()],
        block_bytes: 0,
        id,
        is_pending: table.free_requested[id.index()] <= moment,
    });
    let mut live: Vec<_> = alive.collect();
    live.sort_unstable_by_key(|alive| (alive.address, alive.id));
    live
}

fn end_of(range: &MappedRange) -> u64 {
    range.address.saturating_add(range.bytes)
}

/// The ranges, and one more for each live allocation that lies in none. Both inputs are sorted by address.
fn orphans(ranges: &[MappedRange], live: &[Alive]) -> Vec<MappedRange> {
    let mut orphans: Vec<MappedRange> = Vec::new();
    for alive in live {
        let after = ranges.partition_point(|range| range.address <= alive.address);
        let before = after.checked_sub(1).and_then(|row| ranges.get(row));
        let is_held = before.is_some_and(|range| alive.address < end_of(range));
        if is_held
            || orphans
                .last()
                .is_some_and(|last| last.address == alive.address)
        {
            continue;
        }
        // The range ends at the next allocation or range.
        if let Some(last) = orphans.last_mut() {
            last.bytes = last.bytes.min(alive.address - last.address);
        }
        let next = ranges.get(after).map_or(u64::MAX, |range| range.address);
        orphans.push(MappedRange {
            address: alive.address,
            bytes: alive.block_bytes.clamp(1, (next - alive.address).max(1)),
            stream: 0,
            pool: None,
            is_expandable: false,
        });
    }
    orphans
}

/// Adds the blocks of one range: the allocations in it and the gaps between them.
fn blocks(transfer: &mut Transfer<'_>, history: &History, range: &MappedRange, own: &[Alive]) {
    let end = end_of(range);
    let mut free_from = range.address;
    for (index, alive) in own.iter().enumerate() {
        gap(transfer, free_from, alive.address);
        let room = own.get(index + 1).map_or(end, |next| next.address) - alive.address;
        let block = block(transfer, history, alive, room);
        free_from = block.address.saturating_add(block.size);
        transfer.to.blocks.rows.push(block);
    }
    gap(transfer, free_from, end);
}

/// Adds a free block for a gap, unless it is empty.
fn gap(transfer: &mut Transfer<'_>, from: u64, to: u64) {
    if from < to {
        transfer.to.blocks.rows.push(Block {
            address: from,
            size: to - from,
            requested_size: Some(0),
            state: BlockState::Inactive,
            stack: none_in(transfer.from.keys.block),
            forward_lines: None,
            history: None,
        });
    }
}

/// The value that stands for "no stack" in records with these keys.
pub(super) fn none_in(keys: u64) -> StackId {
    if keys & Key::Frames.bit() != 0 {
        StackId::EMPTY
    } else {
        StackId::ABSENT
    }
}

fn block(transfer: &mut Transfer<'_>, history: &History, alive: &Alive, room: u64) -> Block {
    let from = transfer.from;
    let final_block = history.final_block(alive.id).map(|id| from.blocks.get(id));
    let stack = match history.stack(from, alive.id) {
        // A free's stack is not the stack of the allocation.
        (_, StackSource::Free) => none_in(from.keys.block),
        (StackId::ABSENT, _) => none_in(from.keys.block),
        (stack, _) => transfer.stack(stack),
    };
    let of_event = history.alloc_event(alive.id).and_then(|event| {
        let context = from.events.context.get(event.index())?;
        from.contexts.get(*context).forward_lines
    });
    let lines = final_block
        .and_then(|block| block.forward_lines)
        .or(of_event);
    let state = if alive.is_pending {
        BlockState::ActivePendingFree
    } else {
        BlockState::ActiveAllocated
    };
    Block {
        address: alive.address,
        size: alive.block_bytes.min(room),
        requested_size: Some(alive.bytes),
        state,
        stack,
        forward_lines: lines.map(|lines| transfer.lines(lines)),
        history: None,
    }
}

/// What the whole file says about segments, by address.
struct RecordedSegments {
    /// The stack that last mapped each segment up to the end of the range.
    mapped_by: HashMap<u64, StackId>,
    /// Rows of the final state's segments.
    at_end: HashMap<u64, usize>,
}

impl RecordedSegments {
    fn of(snapshot: &Snapshot, history: &History, moment: u32) -> Self {
        let events = &snapshot.events;
        let rows = history.first_event..history.first_event + moment;
        let rows = rows.map(|row| row as usize);
        let mapped = rows.filter(|&row| events.action[row].maps() == Some(true));
        let segments = snapshot.segments.rows.iter().enumerate();
        let own =
            segments.filter(|(_, segment)| u32::try_from(segment.device) == Ok(history.device));
        Self {
            mapped_by: mapped
                .map(|row| (events.addr[row], events.stack[row]))
                .collect(),
            at_end: own.map(|(row, segment)| (segment.address, row)).collect(),
        }
    }

    /// The segment of a range, without blocks and sums.
    fn segment(
        &self,
        transfer: &mut Transfer<'_>,
        device: i32,
        range: &MappedRange,
        first: Option<&Alive>,
    ) -> Segment {
        let from = transfer.from;
        let had = |key: Key| from.keys.segment & key.bit() != 0 || from.segments.is_empty();
        let final_segment = self.at_end.get(&range.address);
        let final_segment = final_segment.and_then(|&row| from.segments.rows.get(row));
        let mapped_by = self.mapped_by.get(&range.address).copied();
        let stack = match mapped_by.or_else(|| Some(final_segment?.stack)) {
            None | Some(StackId::ABSENT) => none_in(from.keys.segment),
            Some(stack) => transfer.stack(stack),
        };
        let kind = match (first, final_segment) {
            (Some(alive), _) if alive.bytes <= SMALL_REQUEST_BYTES => SegmentKind::Small,
            (Some(_), _) => SegmentKind::Large,
            (
                None,
                Some(Segment {
                    kind: Some(kind), ..
                }),
            ) => *kind,
            (None, _) if range.bytes <= SMALL_SEGMENT_BYTES => SegmentKind::Small,
            (None, _) => SegmentKind::Large,
        };
        let kind = match kind {
            SegmentKind::Other(word) => SegmentKind::Other(transfer.string(Role::Label, word)),
            kind => kind,
        };
        Segment {
            device,
            address: range.address,
            total_size: range.bytes,
            allocated_size: None,
            active_size: None,
            requested_size: None,
            stream: Some(range.stream),
            kind: had(Key::SegmentType).then_some(kind),
            pool: range.pool,
            is_expandable: had(Key::IsExpandable).then_some(range.is_expandable),
            stack,
            blocks: 0..0,
        }
    }
}

/// Computes the sums that the file's own segments state.
fn sums(to: &Snapshot, from: &Snapshot, segment: &mut Segment) {
    let had = |key: Key| from.keys.segment & key.bit() != 0 || from.segments.is_empty();
    let (mut allocated, mut active, mut requested) = (0_u64, 0_u64, 0_u64);
    for block in segment.block_ids().map(|id| to.blocks.get(id)) {
        if block.state == BlockState::ActiveAllocated {
            allocated = allocated.saturating_add(block.size);
        }
        if block.state.is_active() {
            active = active.saturating_add(block.size);
            requested = requested.saturating_add(to.blocks.requested_bytes(block));
        }
    }
    segment.allocated_size = had(Key::AllocatedSize).then_some(allocated);
    segment.active_size = had(Key::ActiveSize).then_some(active);
    segment.requested_size = had(Key::RequestedSize).then_some(requested);
}
