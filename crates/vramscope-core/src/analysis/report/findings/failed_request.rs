//! A failed request, in figures and in text (`words`): its size, the free memory, and why it could not be served.

pub mod addresses;
pub mod sentences;
mod waited;
mod words;

use std::collections::HashMap;

use super::{FindingRow, FindingTable, ROWS};
use crate::analysis::memory::allocator_rules::{self, LARGE_SEGMENT_BYTES, SMALL_BYTES};
use crate::analysis::memory::allocator_state::{AllocatorState, BlockUse, SizeClass};
use crate::analysis::memory::capacity::stated;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::{Arena, Gap, gap};
use crate::analysis::memory::releases::Releases;
use crate::analysis::memory::settings::AllocatorConfig;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::report::dry_run::for_program;
use crate::analysis::report::overview::SegmentsKnown;
use crate::analysis::report::verdicts::Verdict;
use crate::analysis::time::history::History;
use crate::ids::{EventId, StackId};
use crate::sorting::SortFew;
use crate::units::Bytes;

pub use waited::WaitedBlock;
pub use words::{Explained, RequestFigure};

/// The driver maps memory in pages of this size.
const PAGE_BYTES: u64 = 2 << 20;

/// Others matter if they hold at least this part of the device: a tenth.
const OTHERS_PART: u64 = 10;
/// The part of the device that a program's own context and libraries may use: a twentieth.
const CONTEXT_PART: u64 = 20;

/// A failed request in figures.
#[derive(Clone, PartialEq, Debug)]
pub struct FailedRequest {
    /// The moment after its `oom` event.
    pub moment: u32,
    /// Size of the request in bytes, rounded up by the allocator. The size before rounding is not recorded.
    pub requested_bytes: u64,
    /// Bytes that the allocator (for the driver: the device) needs to serve the request from new memory. For an
    /// expandable segment, the maximum.
    pub segment_bytes: u64,
    /// Bytes that the device reported free; `None` if the file does not say.
    pub device_free_bytes: Option<u64>,
    /// The pool and stream of the request.
    pub arena: Arena,
    /// Whether it is served from segments for small requests.
    pub is_small: bool,
    /// Its stack.
    pub stack: StackId,
    /// The reserved memory at that moment, split for this request.
    pub gap: Gap,
    /// Free bytes in segments that could serve the request, by arena and size class.
    pub own_free_bytes: u64,
    /// Number of free blocks in those segments.
    pub own_free_blocks: u64,
    /// Size of the largest free block in those segments.
    pub own_largest_bytes: u64,
    /// Number of free blocks in other segments that are large enough.
    pub other_fitting: u64,
    /// Size of the largest free block in other segments.
    pub other_largest_bytes: u64,
    /// Bytes of segments released right before it.
    pub released_bytes: u64,
    /// Number of allocations recorded after it.
    pub allocations_after: u64,
    /// Whether any other events were recorded after it.
    pub is_followed: bool,
    /// Whether the file's segments are real. Otherwise free blocks are unknown.
    pub has_state: bool,
    /// The allocator that served the request.
    pub kind: AllocatorKind,
    /// Capacity of the device in bytes; `None` if unknown.
    pub device_bytes: Option<u64>,
    /// The most bytes that this process is known to have had, or could have had, at any moment.
    pub earlier_bytes: u64,
    /// The share of the device that the settings grant this process, if below 1.
    pub granted_share: Option<f64>,
    /// A block that was large enough, but waited for another stream.
    pub waited: Option<WaitedBlock>,
    /// Lower bound of the virtual addresses reserved by the process's expandable segments, in bytes; 0 if unknown.
    pub addresses_bytes: u64,
    /// How to try a smaller program without a GPU; `None` if it ran without one, or if torch is not involved.
    pub dry_run: Option<String>,
}

impl FailedRequest {
    /// The last failed request of a device.
    #[must_use]
    pub fn last(device: Device<'_>, releases: &Releases, segments: SegmentsKnown) -> Option<Self> {
        let &moment = device.failed_requests().last()?;
        let state = device.state_at(moment);
        let has_segments = segments == SegmentsKnown::Real;
        Some(Self::of(device, releases, has_segments, moment, &state))
    }

    /// Analyses a failed request. `moment` must be one of [`Device::failed_requests`], `state` the allocator's state at
    /// that moment. `has_segments`: whether its segments are reliable.
    #[must_use]
    pub fn of(
        device: Device<'_>,
        releases: &Releases,
        has_segments: bool,
        moment: u32,
        state: &AllocatorState,
    ) -> Self {
        let (snapshot, history) = (device.snapshot(), device.history);
        let event = EventId(history.first_event + moment.saturating_sub(1));
        let event = snapshot.events.get(event);
        let context = snapshot.contexts.get(event.context);
        let arena = Arena {
            pool: context.pool.unwrap_or_default(),
            stream: context.stream,
        };
        let kind = AllocatorKind::of(snapshot);
        let released = releases.runs.iter();
        let released = released.filter(|run| run.before_oom && run.to + 1 == moment);
        let mut failure = Self {
            moment,
            requested_bytes: event.size,
            segment_bytes: segment_bytes(kind, event.size),
            device_free_bytes: event.device_free_bytes(),
            arena,
            is_small: event.size <= SMALL_BYTES,
            stack: event.stack,
            gap: gap(state, Some(arena)),
            own_free_bytes: 0,
            own_free_blocks: 0,
            own_largest_bytes: 0,
            other_fitting: 0,
            other_largest_bytes: 0,
            released_bytes: released.fold(0, |sum, run| run.bytes.saturating_add(sum)),
            allocations_after: made_after(history, moment),
            is_followed: moment < history.event_count,
            has_state: has_segments,
            kind,
            device_bytes: stated(snapshot, history.device),
            earlier_bytes: device
                .capacity()
                .map_or(0, |capacity| capacity.bytes)
                .max(history.most_reserved_bytes()),
            granted_share: AllocatorConfig::of(snapshot)
                .memory_fraction
                .filter(|&share| share < 1.0),
            waited: None,
            addresses_bytes: 0,
            dry_run: for_program(device),
        };
        if has_segments && kind == AllocatorKind::Torch {
            let is_own = |place: u32| {
                let segment = &state.segments[place as usize];
                let arena = state.groups.get(segment.group as usize).map(Arena::of);
                failure.is_own(arena, segment.size_class)
            };
            let fitting = waited::fitting(state, is_own, event.size);
            failure.waited = waited::waited(device, moment, fitting);
            let device_bytes = failure.device_bytes.unwrap_or(failure.earlier_bytes);
            failure.addresses_bytes = addresses::reserved(device, state, device_bytes);
        }
        failure.count_free(state);
        failure
    }

    /// Whether a segment could serve the request.
    fn is_own(&self, arena: Option<Arena>, class: Option<SizeClass>) -> bool {
        let serves = match class {
            Some(SizeClass::Small) => self.is_small,
            Some(SizeClass::Large) => !self.is_small,
            None => true,
        };
        let is_same = match self.kind {
            AllocatorKind::Torch => arena == Some(self.arena),
            // The driver's pools serve all streams.
            AllocatorKind::Driver => arena.is_some_and(|arena| arena.pool == self.arena.pool),
        };
        serves && is_same
    }

    /// Sums the free memory.
    fn count_free(&mut self, state: &AllocatorState) {
        for segment in &state.segments {
            let arena = state.groups.get(segment.group as usize).map(Arena::of);
            let is_own = self.is_own(arena, segment.size_class);
            let free = segment.blocks.iter();
            for block in free.filter(|block| block.usage == BlockUse::Free) {
                self.count(is_own, block.bytes);
            }
        }
    }

    fn count(&mut self, is_own: bool, bytes: u64) {
        if is_own {
            self.own_free_bytes = self.own_free_bytes.saturating_add(bytes);
            self.own_free_blocks += 1;
            self.own_largest_bytes = self.own_largest_bytes.max(bytes);
        } else {
            self.other_fitting += u64::from(bytes >= self.requested_bytes);
            self.other_largest_bytes = self.other_largest_bytes.max(bytes);
        }
    }

    /// Why the request failed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    /// Whether more is free than the pieces that a nearly full device always has: a tenth of the reserved memory.
    pub(in super::super) fn has_much_free(&self) -> bool {
        u128::from(self.all_free_bytes()) * 10 >= u128::from(self.gap.reserved_bytes)
    }

    /// The size of the device if it is less than the request: then free memory does not matter.
    pub(in super::super) fn exceeded_bytes(&self) -> Option<u64> {
        let device = self.device_bytes?;
        let had_enough = self
            .device_free_bytes
            .is_some_and(|free| free >= self.segment_bytes);
        (self.requested_bytes > device && !had_enough).then_some(device)
    }

    /// The free memory of the device if the program held nothing.
    pub(in super::super) fn reachable_bytes(&self) -> u64 {
        let reserved = self.gap.reserved_bytes;
        reserved.saturating_add(self.known_free_bytes())
    }

    /// Whether empty segments of the request's private pool and the device together had enough. Empty segments of the
    /// default pool are given back before a request fails.
    pub(in super::super) fn pool_could_give_back(&self) -> bool {
        let both = self.gap.empty_bytes.saturating_add(self.known_free_bytes());
        let is_private = self.kind == AllocatorKind::Torch && self.arena.pool.is_private();
        is_private && self.gap.empty_bytes > 0 && both >= self.segment_bytes
    }

    /// Whether others hold a large part of the device, and the request would have been served without them.
    pub(in super::super) fn others_suffice(&self) -> bool {
        let others = match self.others_bytes() {
            // Every program's context, modules and libraries use some memory.
            Some(bytes) if bytes >= self.device_bytes.unwrap_or(0) / OTHERS_PART => {
                bytes.saturating_sub(self.device_bytes.unwrap_or(0) / CONTEXT_PART)
            }
            Some(_) => 0,
            // The program's own libraries take memory on first use.
            None if self.taken_bytes() < self.earlier_bytes / CONTEXT_PART => 0,
            None => self.taken_bytes(),
        };
        others > 0 && self.all_free_bytes().saturating_add(others) >= self.requested_bytes
    }

    /// Bytes of the device that this process had or could have had earlier, and that others hold now.
    #[must_use]
    pub fn taken_bytes(&self) -> u64 {
        if self.has_state && self.device_free_bytes.is_some() {
            self.earlier_bytes.saturating_sub(self.reachable_bytes())
        } else {
            0
        }
    }

    /// Free bytes of the allocator and the device together, as far as known.
    #[must_use]
    pub fn all_free_bytes(&self) -> u64 {
        self.gap
            .free_bytes()
            .saturating_add(self.known_free_bytes())
    }

    fn known_free_bytes(&self) -> u64 {
        self.device_free_bytes.unwrap_or(0)
    }

    /// Bytes of the device used by others: other processes, contexts, modules, the driver itself. `None` if the
    /// capacity of the device or its free memory is unknown, or contradict each other.
    #[must_use]
    pub fn others_bytes(&self) -> Option<u64> {
        let device = self.device_bytes.filter(|_| self.has_state)?;
        self.device_free_bytes?;
        device.checked_sub(self.reachable_bytes())
    }

    /// Free memory by pool, stream and size class, most bytes first.
    #[must_use]
    pub fn free_places(&self, state: &AllocatorState) -> Vec<FreePlace> {
        let mut places: Vec<FreePlace> = Vec::new();
        let mut place_of: HashMap<(Arena, Option<SizeClass>), usize> = HashMap::new();
        for segment in &state.segments {
            let sums = &segment.sums;
            let group = state.groups.get(segment.group as usize);
            let Some(arena) = group.map(Arena::of).filter(|_| sums.free_bytes > 0) else {
                continue;
            };
            let place = place_of.entry((arena, segment.size_class));
            let place = *place.or_insert_with(|| {
                places.push(FreePlace {
                    arena,
                    class: segment.size_class,
                    bytes: 0,
                    blocks: 0,
                    largest_bytes: 0,
                    is_own: self.is_own(Some(arena), segment.size_class),
                });
                places.len() - 1
            });
            let place = &mut places[place];
            place.bytes = place.bytes.saturating_add(sums.free_bytes);
            place.blocks += sums.free_blocks;
            place.largest_bytes = place.largest_bytes.max(sums.largest_free_bytes);
        }
        places.sort_few_by_key(|place| std::cmp::Reverse(place.bytes));
        places
    }

    /// The largest of [`free_places`](Self::free_places), as a finding's table.
    pub(super) fn free_table(&self, recording: &Recording, state: &AllocatorState) -> FindingTable {
        let places = self.free_places(state).into_iter().take(2 * ROWS);
        FindingTable {
            title: "Free when it failed, by where it could be used".to_owned(),
            counted: "free blocks".to_owned(),
            rows: places.map(|place| place.row(recording)).collect(),
        }
    }
}

fn made_after(history: &History, moment: u32) -> u64 {
    let born = &history.allocations.born;
    (born.len() - born.partition_point(|&born| born <= moment)) as u64
}

/// Bytes that the allocator needs to serve a request from new memory.
fn segment_bytes(kind: AllocatorKind, requested_bytes: u64) -> u64 {
    if kind == AllocatorKind::Driver {
        let pages = requested_bytes.checked_next_multiple_of(PAGE_BYTES);
        pages.unwrap_or(u64::MAX)
    } else {
        allocator_rules::segment_bytes(requested_bytes, LARGE_SEGMENT_BYTES)
    }
}

/// Free memory in segments of the same pool, stream and size class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreePlace {
    /// The pool and stream.
    pub arena: Arena,
    /// The size class; `None` if unknown.
    pub class: Option<SizeClass>,
    /// Free bytes.
    pub bytes: u64,
    /// Number of free blocks.
    pub blocks: u64,
    /// Size of the largest free block.
    pub largest_bytes: u64,
    /// Whether it could serve the failed request.
    pub is_own: bool,
}

impl FreePlace {
    fn row(&self, recording: &Recording) -> FindingRow {
        let own = if self.is_own {
            "the request's own; "
        } else {
            ""
        };
        FindingRow {
            label: recording.sized_place_label(self.arena, self.class),
            site: None,
            bytes: self.bytes,
            count: self.blocks,
            remark: format!("{own}largest {}", Bytes(self.largest_bytes)),
        }
    }
}
