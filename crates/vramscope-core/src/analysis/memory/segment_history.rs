//! The device memory reserved over time: address, size, and when it was mapped.
//!
//! The same data as [`crate::analysis::time::replay`], arranged by range instead of by moment. A piece is a rectangle
//! of addresses × moments. Pieces never overlap, and the pieces of a moment add up to the reserved bytes. An ordinary
//! segment is one piece. An expandable segment has a piece for each mapping, split where a part was unmapped. Touching
//! pieces of the same stream and pool count as one expandable segment, even if not mapped at the same time, because its
//! address range is not recorded. Segment events that contradict the final state are left out, as in the replay.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::allocator_rules::{SMALL_SEGMENT_BYTES, page_bytes};
use super::allocator_state::SizeClass;
use super::capture::AllocatorKind;
use super::streams_and_pools::segment_of_addresses;
use crate::Snapshot;
use crate::analysis::time::byte_steps::ByteChanges;
use crate::analysis::time::history::{AllocationTable, History, NEVER};
use crate::analysis::time::replay::{self, MappedRange, SegmentStep};
use crate::ids::{EventId, SegmentId, StackId};
use crate::model::{PoolId, SegmentKind};
use crate::sorting::{SortFew, rows_by_moment};

/// The pieces of one device, as columns in stacking order: sorted by the start of their segment in time, then by
/// address.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct SegmentHistory {
    /// Start address.
    pub address: Vec<u64>,
    /// Size.
    pub bytes: Vec<u64>,
    /// First moment at which it is mapped; 0 = mapped before the recording.
    pub born: Vec<u32>,
    /// First moment at which it is no longer mapped; [`NEVER`] = mapped at the end.
    pub died: Vec<u32>,
    /// Index into [`segments`](Self::segments).
    pub segment: Vec<u32>,
    /// The segments, in stacking order.
    pub segments: Vec<SegmentLife>,
    /// Number of segment events that contradict the final state and were left out.
    pub mismatched: u64,
}

/// One segment, ordinary or expandable, over the whole recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLife {
    /// The lowest address that was ever mapped.
    pub address: u64,
    /// Bytes from `address` to the end of the highest piece.
    pub extent_bytes: u64,
    /// First moment at which a piece is mapped; 0 = before the recording.
    pub born: u32,
    /// First moment after which no piece is mapped; [`NEVER`] = mapped at the end.
    pub died: u32,
    /// The stream's handle, a `cudaStream_t` as a number.
    pub stream: i64,
    /// The memory pool; `None` if unknown.
    pub pool: Option<PoolId>,
    /// Whether it can grow, shrink and be split.
    pub is_expandable: bool,
    /// The size of the pieces in which it can be given back; `None` if only as a whole.
    pub page_bytes: Option<u64>,
    /// Whether it serves small or large requests: from the final state, else from its size, because segments for small
    /// requests have a fixed size. `None` if neither is known.
    pub kind: Option<SegmentKind>,
    /// The final state's segment that contains the first of its pieces still mapped at the end.
    pub final_segment: Option<SegmentId>,
    /// Index of its first piece.
    pub first_piece: u32,
    /// Number of its pieces.
    pub pieces: u32,
}

impl SegmentLife {
    /// The indexes of its pieces in the columns of [`SegmentHistory`].
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        let first = self.first_piece as usize;
        first..first + self.pieces as usize
    }

    /// The address after its last byte; saturates.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.extent_bytes)
    }
}

impl SegmentHistory {
    /// Computes the reserved memory of `history`'s device over its recorded events.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut steps = Vec::new();
        let (first, mismatched) = replay::undo(snapshot, history, |step| steps.push(step));
        let mut builder = Builder::default();
        for range in first.to_vec() {
            builder.open(range, 0);
        }
        for step in steps.iter().rev() {
            builder.apply(step);
        }
        builder.finish(snapshot, history, mismatched)
    }

    /// Number of pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was ever mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The segment of a piece.
    ///
    /// # Panics
    /// If there is no such piece.
    #[must_use]
    pub fn segment_of(&self, piece: usize) -> &SegmentLife {
        &self.segments[self.segment[piece] as usize]
    }

    /// The event that mapped a piece; `None` if it was mapped before the recording.
    #[must_use]
    pub fn mapped_by(&self, history: &History, piece: usize) -> Option<EventId> {
        history.event_before(*self.born.get(piece)?)
    }

    /// The stack of the request that a piece was mapped for: from the event or, if that was not recorded, from the
    /// segment in the final state.
    #[must_use]
    pub fn stack(&self, snapshot: &Snapshot, history: &History, piece: usize) -> StackId {
        let by_event = self
            .mapped_by(history, piece)
            .and_then(|event| snapshot.events.stack.get(event.index()).copied());
        by_event.unwrap_or_else(|| {
            let listed = self.segment_of(piece).final_segment;
            listed.map_or(StackId::ABSENT, |id| snapshot.segments.get(id).stack)
        })
    }

    /// The event that unmapped a piece; `None` if it was mapped at the end.
    #[must_use]
    pub fn unmapped_by(&self, history: &History, piece: usize) -> Option<EventId> {
        history.event_before(*self.died.get(piece)?)
    }

    /// The piece that contains an address at a moment; `None` if there is none. Searches all pieces.
    #[must_use]
    pub fn piece_at(&self, address: u64, moment: u32) -> Option<usize> {
        (0..self.len()).find(|&piece| {
            let inside = address.checked_sub(self.address[piece]);
            inside.is_some_and(|offset| offset < self.bytes[piece])
                && self.born[piece] <= moment
                && moment < self.died[piece]
        })
    }

    /// The segment of each allocation at its birth, an index into [`segments`](Self::segments); `None` if its address
    /// was not mapped. One pass over time.
    #[must_use]
    pub fn of_allocations(&self, allocations: &AllocationTable) -> Vec<Option<u32>> {
        let births = self.born.iter().chain(&allocations.born);
        let moments = births.max().map_or(0, |&last| last as usize + 1);
        let by = |moment: &[u32]| {
            let order = rows_by_moment(moments, moment.len(), |row| moment[row]);
            order.into_iter().map(|row| row as usize).peekable()
        };
        let (mut births, mut deaths) = (by(&self.born), by(&self.died));
        // The mapped pieces, by address.
        let mut mapped: BTreeSet<(u64, usize)> = BTreeSet::new();
        let mut of = vec![None; allocations.len()];
        for row in by(&allocations.born) {
            let moment = allocations.born[row];
            while let Some(piece) = births.next_if(|&piece| self.born[piece] <= moment) {
                mapped.insert((self.address[piece], piece));
            }
            while let Some(piece) = deaths.next_if(|&piece| self.died[piece] <= moment) {
                mapped.remove(&(self.address[piece], piece));
            }
            let address = allocations.address[row];
            let below = mapped.range(..=(address, usize::MAX)).next_back();
            of[row] = below
                .filter(|&&(start, piece)| address - start < self.bytes[piece])
                .map(|&(_, piece)| self.segment[piece]);
        }
        of
    }

    /// Bytes of all segments as steps of (first moment, bytes from then on), ascending; saturating. There are 0 bytes
    /// before the first step.
    #[must_use]
    pub fn reserved_steps(&self) -> Vec<(u32, u64)> {
        let life = |piece: usize| (self.born[piece], self.died[piece], self.bytes[piece]);
        (0..self.len()).map(life).collect::<ByteChanges>().steps()
    }
}

/// A piece that is not yet assigned to a segment.
#[derive(Clone, Copy, Debug)]
struct Piece {
    range: MappedRange,
    born: u32,
    died: u32,
    /// Number of the mapping that it is a part of. Parts of an ordinary segment stay together.
    origin: u32,
    /// Size of that mapping in bytes.
    origin_bytes: u64,
}

impl Piece {
    /// The address after its last byte, which may exceed 64 bits in a damaged file.
    fn end(&self) -> u128 {
        u128::from(self.range.address) + u128::from(self.range.bytes)
    }
}

#[derive(Default)]
struct Builder {
    pieces: Vec<Piece>,
    /// The pieces that are currently mapped, by address.
    mapped: BTreeMap<u64, usize>,
}

impl Builder {
    fn apply(&mut self, step: &SegmentStep) {
        if step.is_mapping {
            self.open(step.range, step.moment);
        } else {
            self.close(&step.range, step.moment);
        }
    }

    /// The mapped piece with the highest start address at or below `address`.
    fn at_or_below(&self, address: u64) -> Option<usize> {
        let (_, &row) = self.mapped.range(..=address).next_back()?;
        Some(row)
    }

    fn open(&mut self, range: MappedRange, born: u32) {
        let end = u128::from(range.address) + u128::from(range.bytes);
        let below = self.at_or_below(range.address);
        let above = self.mapped.range(range.address..).next();
        let overlaps = below.is_some_and(|row| self.pieces[row].end() > u128::from(range.address))
            || above.is_some_and(|(&address, _)| u128::from(address) < end);
        // Segments overlap only in a damaged file.
        if overlaps || range.bytes == 0 {
            return;
        }
        let origin = self.pieces.len() as u32;
        self.mapped.insert(range.address, self.pieces.len());
        self.pieces.push(Piece {
            range,
            born,
            died: NEVER,
            origin,
            origin_bytes: range.bytes,
        });
    }

    /// Ends the pieces in `range`, and splits those that lie partly in it. An ordinary segment always ends as a whole,
    /// whatever the event's size.
    fn close(&mut self, range: &MappedRange, moment: u32) {
        let Some(row) = self.at_or_below(range.address) else {
            return;
        };
        if !range.is_expandable && !self.pieces[row].range.is_expandable {
            if self.pieces[row].range.address == range.address {
                self.mapped.remove(&range.address);
                self.pieces[row].died = moment;
            }
            return;
        }
        let end = u128::from(range.address) + u128::from(range.bytes);
        let mut next = Some(row);
        while let Some(row) = next {
            let piece = self.pieces[row];
            if u128::from(piece.range.address) >= end {
                break;
            }
            if piece.end() > u128::from(range.address) {
                self.cut(row, (range.address, end), moment);
            }
            // Continue after this piece, so that its remainder is not visited again.
            let Ok(from) = u64::try_from(piece.end()) else {
                break;
            };
            next = self.mapped.range(from..).next().map(|(_, &row)| row);
        }
    }

    /// Ends the part of a piece that lies in `from .. end`. The parts before and after it stay mapped.
    fn cut(&mut self, row: usize, (from, end): (u64, u128), moment: u32) {
        let piece = self.pieces[row];
        let start = piece.range.address.max(from);
        let stop = piece.end().min(end);
        let part = |address: u64, end: u128, died: u32| Piece {
            range: MappedRange {
                address,
                bytes: (end - u128::from(address)) as u64,
                ..piece.range
            },
            died,
            ..piece
        };
        self.mapped.remove(&piece.range.address);
        self.pieces[row] = part(start, stop, moment);
        let before = part(piece.range.address, u128::from(start), NEVER);
        // `after` is `None` if the part ends with the address space.
        let after = u64::try_from(stop)
            .ok()
            .map(|stop| part(stop, piece.end(), NEVER));
        for rest in [Some(before), after].into_iter().flatten() {
            if rest.range.bytes > 0 {
                self.mapped.insert(rest.range.address, self.pieces.len());
                self.pieces.push(rest);
            }
        }
    }

    /// Assigns the pieces to segments, and sorts them into stacking order.
    fn finish(self, snapshot: &Snapshot, history: &History, mismatched: u64) -> SegmentHistory {
        // Pieces that end at the moment they began occur in damaged files only.
        let mut pieces = self.pieces;
        pieces.retain(|piece| piece.born < piece.died);
        let groups = groups(&mut pieces);
        let of_final = segment_of_addresses(snapshot, history.device);
        let mut segments: Vec<(SegmentLife, Range<usize>)> = groups
            .into_iter()
            .map(|rows| {
                (
                    life_of(&pieces[rows.clone()], snapshot, &of_final),
                    rows.clone(),
                )
            })
            .collect();
        segments.sort_few_by_key(|(life, rows)| (life.born, life.address, rows.start));
        let mut history = SegmentHistory {
            mismatched,
            ..SegmentHistory::default()
        };
        for (mut life, rows) in segments {
            life.first_piece = history.bytes.len() as u32;
            for piece in &pieces[rows] {
                history.address.push(piece.range.address);
                history.bytes.push(piece.range.bytes);
                history.born.push(piece.born);
                history.died.push(piece.died);
                history.segment.push(history.segments.len() as u32);
            }
            history.segments.push(life);
        }
        history
    }
}

/// Sorts the pieces by segment, then by address and time, and returns the range of each segment.
fn groups(pieces: &mut [Piece]) -> Vec<Range<usize>> {
    let key = |piece: &Piece| {
        let range = &piece.range;
        let plain = (!range.is_expandable).then_some(piece.origin);
        (plain, range.stream, range.address, piece.born)
    };
    pieces.sort_by_key(key);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut end = 0_u128;
    for (row, piece) in pieces.iter().enumerate() {
        let joins = row.checked_sub(1).is_some_and(|before| {
            let before = &pieces[before];
            let touches = u128::from(piece.range.address) <= end;
            (touches && piece.range.joins(&before.range))
                || (!piece.range.is_expandable && piece.origin == before.origin)
        });
        match groups.last_mut().filter(|_| joins) {
            Some(group) => {
                group.end = row + 1;
                end = end.max(piece.end());
            }
            None => {
                groups.push(row..row + 1);
                end = piece.end();
            }
        }
    }
    groups
}

/// Computes a segment from its pieces, which must be sorted by address and not be empty.
fn life_of(
    pieces: &[Piece],
    snapshot: &Snapshot,
    of_final: impl Fn(u64) -> Option<SegmentId>,
) -> SegmentLife {
    let first = &pieces[0];
    let end = pieces.iter().map(Piece::end).max().unwrap_or(0);
    let final_segment = pieces
        .iter()
        .filter(|piece| piece.died == NEVER)
        .find_map(|piece| of_final(piece.range.address));
    let listed = final_segment.map(|id| snapshot.segments.get(id));
    // The pieces of an expandable segment that were mapped before the recording may have been merged, so their size
    // says nothing.
    let sizes = pieces
        .iter()
        .filter(|piece| piece.born > 0 || !piece.range.is_expandable);
    let by_size = sizes.map(|piece| piece.origin_bytes).min().map(|bytes| {
        if bytes <= SMALL_SEGMENT_BYTES {
            SegmentKind::Small
        } else {
            SegmentKind::Large
        }
    });
    let kind = listed.and_then(|segment| segment.kind).or(by_size);
    SegmentLife {
        address: first.range.address,
        extent_bytes: (end - u128::from(first.range.address))
            .try_into()
            .unwrap_or(u64::MAX),
        born: pieces.iter().map(|piece| piece.born).min().unwrap_or(0),
        died: pieces.iter().map(|piece| piece.died).max().unwrap_or(NEVER),
        stream: first.range.stream,
        pool: pieces
            .iter()
            .find_map(|piece| piece.range.pool)
            .or_else(|| listed.and_then(|segment| segment.pool)),
        is_expandable: first.range.is_expandable,
        page_bytes: page_bytes(
            AllocatorKind::of(snapshot),
            first.range.is_expandable,
            SizeClass::of_kind(kind),
        ),
        kind,
        final_segment,
        first_piece: 0,
        pieces: pieces.len() as u32,
    }
}

#[cfg(test)]
#[path = "segment_history_tests.rs"]
mod tests;
