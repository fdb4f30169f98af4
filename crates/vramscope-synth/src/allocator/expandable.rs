//! Expandable segments: ranges that are mapped and unmapped inside large reservations.

use std::collections::BTreeMap;

use super::{
    Arena, BlockInfo, Heap, LARGE_SEGMENT_BYTES, SegmentEvent, SegmentEventKind, SegmentInfo,
    event, inactive, page_size,
};
use crate::snapshot::StackRef;

/// Bytes of address space that an arena reserves for its expandable segments.
const RESERVATION_BYTES: u64 = 1 << 38;

impl Heap {
    /// Maps a range of an expandable segment and joins it with adjacent ranges of its arena; false
    /// when part of it is mapped already.
    pub fn map(&mut self, addr: u64, size: u64, arena: Arena, frames: Option<StackRef>) -> bool {
        if size == 0 || self.overlaps(addr, size) {
            return false;
        }
        let joins = |s: &SegmentInfo| s.is_expandable && s.arena == arena;
        let before = self.segments.range(..addr).next_back();
        let before = before.filter(|&(start, s)| start + s.size == addr && joins(s));
        let start = before.map_or(addr, |(&start, _)| start);
        let mut total = addr - start + size;
        if self.segments.get(&(addr + size)).is_some_and(joins) {
            total += self.segments.remove(&(addr + size)).map_or(0, |s| s.size);
        }
        let frames = before_frames(&self.segments, start).or(frames);
        self.segments.insert(
            start,
            SegmentInfo {
                size: total,
                arena,
                is_expandable: true,
                frames,
            },
        );
        self.blocks.insert(
            addr,
            BlockInfo {
                size,
                ..inactive(0)
            },
        );
        self.release(addr, 0, arena);
        self.reserved += size;
        true
    }

    /// Unmaps a free range of an expandable segment, which it may split; false when the range
    /// is not all free.
    pub fn unmap(&mut self, addr: u64, size: u64) -> bool {
        let Some((&start, block)) = self.blocks.range(..=addr).next_back() else {
            return false;
        };
        let (block_size, requested) = (block.size, block.requested);
        let Some((seg_start, arena)) = self.segment_of(start) else {
            return false;
        };
        if !self.free.contains(&(arena, block_size, start))
            || addr + size > start + block_size
            || !self
                .segments
                .get(&seg_start)
                .is_some_and(|s| s.is_expandable)
        {
            return false;
        }
        self.free.remove(&(arena, block_size, start));
        self.blocks.remove(&start);
        if addr > start {
            self.insert_free(start, addr - start, requested, arena);
        }
        let end = start + block_size;
        if addr + size < end {
            self.insert_free(addr + size, end - addr - size, requested, arena);
        }
        if let Some(info) = self.segments.remove(&seg_start) {
            let seg_end = seg_start + info.size;
            if addr > seg_start {
                let front = SegmentInfo {
                    size: addr - seg_start,
                    ..info.clone()
                };
                self.segments.insert(seg_start, front);
            }
            if addr + size < seg_end {
                let back = SegmentInfo {
                    size: seg_end - addr - size,
                    ..info
                };
                self.segments.insert(addr + size, back);
            }
        }
        self.reserved -= size;
        true
    }

    /// Maps pages behind the first free block or hole that can then hold the request.
    pub(super) fn grow_expandable(
        &mut self,
        rounded: u64,
        arena: Arena,
        frames: Option<StackRef>,
        events: &mut Vec<SegmentEvent>,
    ) -> bool {
        let number = self.reservations.len() as u64;
        let start = *self.reservations.entry(arena).or_insert_with(|| {
            (self.options.base + number * RESERVATION_BYTES).next_multiple_of(LARGE_SEGMENT_BYTES)
        });
        let mut hole = start;
        for (&addr, segment) in self.segments.range(start..start + RESERVATION_BYTES) {
            if self.usable_before(hole) + (addr - hole) >= rounded {
                break;
            }
            hole = addr + segment.size;
        }
        let missing = rounded.saturating_sub(self.usable_before(hole));
        let next = self
            .segments
            .range(hole..)
            .next()
            .map_or(u64::MAX, |(&addr, _)| addr);
        let size = missing.next_multiple_of(page_size(arena)).min(next - hole);
        if self.reserved + size > self.options.capacity_bytes {
            return false;
        }
        events.push(event(SegmentEventKind::Map, hole, size, arena, frames));
        self.map(hole, size, arena, frames)
    }

    /// Bytes of the free block that ends at `addr`.
    fn usable_before(&self, addr: u64) -> u64 {
        let before = self.blocks.range(..addr).next_back();
        let touching = before.filter(|&(start, b)| start + b.size == addr && !b.state.is_active());
        touching.map_or(0, |(_, b)| b.size)
    }
}

fn before_frames(segments: &BTreeMap<u64, SegmentInfo>, start: u64) -> Option<StackRef> {
    segments.get(&start).and_then(|s| s.frames)
}
