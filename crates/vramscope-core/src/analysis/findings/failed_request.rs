//! One failed request in figures and in words: what was asked, what there was, and why it did not do.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::words::{counted, sized_place_label, stream_label};
use super::{Figure, FindingRow, FindingTable, ROWS};
use crate::Snapshot;
use crate::analysis::allocator_state::{AllocatorState, BlockUse, Recording, SizeClass};
use crate::analysis::details::stream_numbers;
use crate::analysis::gap::{Arena, Gap, gap};
use crate::analysis::history::History;
use crate::analysis::releases::Releases;
use crate::analysis::settings::AllocatorConfig;
use crate::ids::{EventId, StackId};
use crate::model::Action;
use crate::units::{Bytes, Count};

/// Requests up to this come from small segments, of [`SMALL_SEGMENT_BYTES`].
const SMALL_REQUEST_BYTES: u64 = 1 << 20;
const SMALL_SEGMENT_BYTES: u64 = 2 << 20;
/// Larger ones up to this come from segments of [`LARGE_SEGMENT_BYTES`], others from segments of their own.
const SHARED_REQUEST_BYTES: u64 = 10 << 20;
const LARGE_SEGMENT_BYTES: u64 = 20 << 20;
const OWN_SEGMENT_UNIT_BYTES: u64 = 2 << 20;

/// The moments that begin with a failed request, ascending.
#[must_use]
pub fn failed_requests(snapshot: &Snapshot, history: &History) -> Vec<u32> {
    let first = history.first_event as usize;
    let actions = snapshot.events.action.iter().skip(first);
    let numbered = (1..).zip(actions.take(history.event_count as usize));
    numbered
        .filter(|(_, action)| **action == Action::Oom)
        .map(|(moment, _)| moment)
        .collect()
}

/// Why the request did not fit: the first of these that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The device said it had enough.
    DeviceHadEnough,
    /// There are no segments that can be trusted, so that free blocks are not known.
    Unknown,
    /// A free block of its own would have been large enough, as far as blocks are known.
    OwnBlockFits,
    /// A free block of another pool or stream would have been.
    OtherBlockFits,
    /// Its own free blocks together would have been.
    OwnPiecesSuffice,
    /// The device had enough for the request, but not for the segment that PyTorch would have put it in.
    SegmentTooLarge,
    /// These and what the device had left would have been.
    PiecesAndDeviceSuffice,
    /// Everything free together would have been.
    AllFreeSuffices,
    /// Not even that.
    Short,
}

impl Verdict {
    /// The same in a few words, for a table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::DeviceHadEnough => "a limit, or another process",
            Self::SegmentTooLarge => "no room for a segment",
            Self::Unknown => "not known",
            Self::OwnBlockFits => "a free block was not used",
            Self::OtherBlockFits => "free in another pool or stream",
            Self::OwnPiecesSuffice | Self::PiecesAndDeviceSuffice => "fragmentation",
            Self::AllFreeSuffices => "free in several pools or streams",
            Self::Short => "too much in use",
        }
    }
}

/// One failure in figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedRequest {
    /// The moment that begins with it.
    pub moment: u32,
    /// The request, rounded up as the allocator does; the event does not tell the bytes before that.
    pub requested_bytes: u64,
    /// What the allocator asks CUDA for to serve such a request from new memory; in an expandable segment
    /// the most that it asks for.
    pub segment_bytes: u64,
    /// What the device reported free.
    pub device_free_bytes: u64,
    /// The pool and stream.
    pub arena: Arena,
    /// Whether it is one for small segments.
    pub is_small: bool,
    /// The stack of the request.
    pub stack: StackId,
    /// Where reserved memory was.
    pub gap: Gap,
    /// Free in segments that may serve the request.
    pub own_free_bytes: u64,
    /// In so many blocks.
    pub own_free_blocks: u64,
    /// The largest of them.
    pub own_largest_bytes: u64,
    /// Free blocks elsewhere that are large enough.
    pub other_fitting: u64,
    /// The largest free block elsewhere.
    pub other_largest_bytes: u64,
    /// Bytes of segments given back right before.
    pub released_bytes: u64,
    /// Events that were recorded after it.
    pub events_after: u32,
    /// Whether the file's segments are the allocator's; else nothing is known of free blocks.
    pub has_state: bool,
}

impl FailedRequest {
    /// The failure that a moment of [`failed_requests`] begins with. `state`: the allocator at that moment;
    /// `has_segments`: whether its segments can be trusted.
    #[must_use]
    pub fn of(
        recording: Recording<'_>,
        releases: &Releases,
        has_segments: bool,
        moment: u32,
        state: &AllocatorState,
    ) -> Self {
        let (snapshot, history) = (recording.snapshot, recording.history);
        let event = EventId(history.first_event + moment.saturating_sub(1));
        let event = snapshot.events.get(event);
        let context = snapshot.contexts.get(event.context);
        let arena = Arena {
            pool: context.pool.unwrap_or_default(),
            stream: context.stream,
        };
        let released = releases.runs.iter();
        let released = released.filter(|run| run.before_oom && run.to + 1 == moment);
        let mut failure = Self {
            moment,
            requested_bytes: event.size,
            segment_bytes: segment_bytes(event.size),
            device_free_bytes: event.addr,
            arena,
            is_small: event.size <= SMALL_REQUEST_BYTES,
            stack: event.stack,
            gap: gap(state, Some(arena)),
            own_free_bytes: 0,
            own_free_blocks: 0,
            own_largest_bytes: 0,
            other_fitting: 0,
            other_largest_bytes: 0,
            released_bytes: released.fold(0, |sum, run| run.bytes.saturating_add(sum)),
            events_after: history.event_count.saturating_sub(moment),
            has_state: has_segments,
        };
        for segment in &state.segments {
            let own = failure.is_own(
                state.groups.get(segment.group as usize).map(Arena::of),
                segment.size_class,
            );
            let free = segment.blocks.iter();
            for block in free.filter(|block| block.usage == BlockUse::Free) {
                failure.count(own, block.bytes);
            }
        }
        failure
    }

    /// Whether a segment may serve the request.
    fn is_own(&self, arena: Option<Arena>, class: Option<SizeClass>) -> bool {
        let serves = match class {
            Some(SizeClass::Small) => self.is_small,
            Some(SizeClass::Large) => !self.is_small,
            None => true,
        };
        serves && arena == Some(self.arena)
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

    /// Why it did not fit.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let wanted = self.requested_bytes;
        let device = self.device_free_bytes;
        if device >= self.segment_bytes {
            Verdict::DeviceHadEnough
        } else if !self.has_state {
            Verdict::Unknown
        } else if self.own_largest_bytes >= wanted {
            Verdict::OwnBlockFits
        } else if self.other_fitting > 0 {
            Verdict::OtherBlockFits
        } else if self.own_free_bytes >= wanted {
            Verdict::OwnPiecesSuffice
        } else if device >= wanted {
            Verdict::SegmentTooLarge
        } else if self.own_free_bytes.saturating_add(device) >= wanted {
            Verdict::PiecesAndDeviceSuffice
        } else if self.all_free_bytes() >= wanted {
            Verdict::AllFreeSuffices
        } else {
            Verdict::Short
        }
    }

    /// What happened, as a text. `failures`: how many requests failed up to this one; `at`: see [`at_site`].
    ///
    /// [`at_site`]: super::words::at_site
    pub(super) fn seen(&self, snapshot: &Snapshot, failures: u64, at: &str) -> String {
        let streams = stream_numbers(snapshot);
        let pool = if self.arena.pool.is_private() {
            format!(" in the {}", self.arena.pool)
        } else {
            String::new()
        };
        let mut text = format!(
            "Event {}: a request for {} on the {}{pool}{at} failed",
            Count(u64::from(self.moment)),
            Bytes(self.requested_bytes),
            stream_label(&streams, self.arena.stream),
        );
        if failures > 1 {
            text += &format!(", the last of {}", counted(failures, "failure"));
        }
        text += &format!(". The device had {} left.", Bytes(self.device_free_bytes));
        if self.has_state {
            text += &format!(" {}", self.seen_pieces());
        }
        if self.released_bytes > 0 {
            text += &format!(
                " Right before, {} of cached segments had been given back.",
                Bytes(self.released_bytes)
            );
        }
        match self.events_after {
            0 => {}
            1 => text += " One event follows.",
            more => {
                text += &format!(
                    " The program went on: {} events follow.",
                    Count(more.into())
                )
            }
        }
        text
    }

    /// What free blocks there were, for the request and for others.
    fn seen_pieces(&self) -> String {
        let mut text = match self.own_free_blocks {
            0 => "PyTorch had no free block that could serve it.".to_owned(),
            1 => format!(
                "PyTorch had one free block for such a request, of {}.",
                Bytes(self.own_largest_bytes)
            ),
            blocks => format!(
                "PyTorch had {} free for such a request, in {}, the largest of {}.",
                Bytes(self.own_free_bytes),
                counted(blocks, "piece"),
                Bytes(self.own_largest_bytes)
            ),
        };
        if self.other_fitting > 0 {
            text += &format!(
                " For requests of other pools, streams or sizes {} {} large enough, the largest of {}.",
                counted(self.other_fitting, "free block"),
                if self.other_fitting == 1 {
                    "was"
                } else {
                    "were"
                },
                Bytes(self.other_largest_bytes)
            );
        }
        if self.verdict() == Verdict::Short {
            let all = self.all_free_bytes();
            text += &format!(
                " Everything free together, on the device and in PyTorch, was {}: {} too little.",
                Bytes(all),
                Bytes(self.requested_bytes - all)
            );
        }
        text
    }

    /// All that was free, in PyTorch and on the device.
    #[must_use]
    pub fn all_free_bytes(&self) -> u64 {
        self.gap.free_bytes().saturating_add(self.device_free_bytes)
    }

    /// The same in labelled numbers, as far as they are known.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let gap = &self.gap;
        let figures = [
            ("requested", Some(self.requested_bytes)),
            ("free on the device", Some(self.device_free_bytes)),
            ("held by PyTorch", Some(gap.reserved_bytes)),
            ("in use", Some(gap.in_use_bytes)),
            (
                "waiting for other streams",
                Some(gap.pending_bytes).filter(|&bytes| bytes > 0),
            ),
            (
                "rounding",
                Some(gap.rounding_bytes).filter(|&bytes| bytes > 0),
            ),
            ("free in PyTorch", Some(gap.free_bytes())),
            ("usable for the request", Some(self.own_free_bytes)),
            ("largest usable piece", Some(self.own_largest_bytes)),
        ];
        let known = if self.has_state { figures.len() } else { 2 };
        let figures = figures.into_iter().take(known);
        figures
            .filter_map(|(label, bytes)| {
                let label = label.to_owned();
                bytes.map(|bytes| Figure { label, bytes })
            })
            .collect()
    }

    /// Why, in words.
    #[must_use]
    pub fn may_mean(&self, config: &AllocatorConfig) -> String {
        let text = match self.verdict() {
            Verdict::DeviceHadEnough if config.memory_fraction.is_some_and(|share| share < 1.0) => {
                "The device had enough, but the settings limit this process: per_process_memory_fraction is below 1."
            }
            Verdict::DeviceHadEnough => {
                "Something other than the device's memory refused the request: a limit set by \
                 set_per_process_memory_fraction(), or another process that took memory at that instant."
            }
            Verdict::SegmentTooLarge => {
                return format!(
                    "The device had enough for the request, but PyTorch takes memory from CUDA in segments: for such \
                     a request, one of {}.",
                    Bytes(self.segment_bytes)
                );
            }
            Verdict::Unknown => {
                "The file has no segments that can be trusted, so that it is not known what PyTorch held and why \
                 that did not do."
            }
            Verdict::OwnBlockFits => {
                "A free block of its kind seems large enough. Block sizes at past moments are derived; or \
                 max_split_size kept the block from being used."
            }
            Verdict::OtherBlockFits => {
                "There was a free block, but it belongs to another pool or stream, and memory is not shared \
                 between them."
            }
            Verdict::OwnPiecesSuffice => {
                "Fragmentation: there was enough free memory of the right kind, but not in one piece."
            }
            Verdict::PiecesAndDeviceSuffice => {
                "Free pieces and what the device had left would have been enough together: PyTorch could not \
                 give the pieces back, as their segments are partly in use."
            }
            Verdict::AllFreeSuffices => {
                "Free memory is spread over pools and streams; no one of them has enough."
            }
            Verdict::Short => {
                "No other arrangement of memory would have helped: less must be live at that moment. What else \
                 is on the device (the CUDA context, NCCL, other processes) is not in a snapshot."
            }
        };
        text.to_owned()
    }

    /// What to try.
    #[must_use]
    pub fn to_try(&self, config: &AllocatorConfig) -> Vec<String> {
        let verdict = self.verdict();
        let mut list: Vec<&str> = Vec::new();
        if verdict == Verdict::DeviceHadEnough {
            list.push("Look for set_per_process_memory_fraction() or per_process_memory_fraction, and at nvidia-smi.");
        }
        let expandable = config.expandable_segments == Some(true);
        let is_scattered = matches!(
            verdict,
            Verdict::OwnPiecesSuffice | Verdict::PiecesAndDeviceSuffice | Verdict::AllFreeSuffices
        );
        if is_scattered && !expandable {
            list.push("PYTORCH_ALLOC_CONF=expandable_segments:True (before torch 2.9: PYTORCH_CUDA_ALLOC_CONF; before 2.1 there is only max_split_size_mb), which joins free memory.");
        }
        if matches!(verdict, Verdict::OtherBlockFits | Verdict::AllFreeSuffices) {
            list.push("Allocate on fewer streams, share one pool between graphs, or free the other pool first.");
        }
        list.push("Look through what was live then: what the loop still holds from before, saved activations, optimizer state.");
        if matches!(verdict, Verdict::Short | Verdict::SegmentTooLarge) {
            list.push("A smaller batch or sequence, activation checkpointing, or sharding.");
        }
        list.into_iter().map(str::to_owned).collect()
    }

    /// Free memory by pool, stream and size, the most first, and whether the request could have used it.
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
        places.sort_by_key(|place| std::cmp::Reverse(place.bytes));
        places
    }

    /// The same as a finding's table.
    pub(super) fn free_table(&self, snapshot: &Snapshot, state: &AllocatorState) -> FindingTable {
        let streams = stream_numbers(snapshot);
        let places = self.free_places(state).into_iter().take(2 * ROWS);
        FindingTable {
            title: "Free when it failed, by where it could be used".to_owned(),
            counted: "free blocks".to_owned(),
            rows: places.map(|place| place.row(&streams)).collect(),
        }
    }
}

/// What the allocator asks CUDA for to serve a request from new memory.
fn segment_bytes(requested_bytes: u64) -> u64 {
    if requested_bytes <= SMALL_REQUEST_BYTES {
        SMALL_SEGMENT_BYTES
    } else if requested_bytes < SHARED_REQUEST_BYTES {
        LARGE_SEGMENT_BYTES
    } else {
        let own = requested_bytes.checked_next_multiple_of(OWN_SEGMENT_UNIT_BYTES);
        own.unwrap_or(u64::MAX)
    }
}

/// Free memory that the same requests may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreePlace {
    /// The pool and stream.
    pub arena: Arena,
    /// The sizes of requests; `None` where the segments do not tell.
    pub class: Option<SizeClass>,
    /// Bytes that are free there.
    pub bytes: u64,
    /// In so many blocks.
    pub blocks: u64,
    /// The largest of them.
    pub largest_bytes: u64,
    /// Whether the request that failed could have used it.
    pub is_own: bool,
}

impl FreePlace {
    fn row(&self, streams: &[i64]) -> FindingRow {
        let own = if self.is_own {
            "the request's own; "
        } else {
            ""
        };
        FindingRow {
            label: sized_place_label(streams, self.arena, self.class),
            site: None,
            bytes: self.bytes,
            count: self.blocks,
            remark: format!("{own}largest {}", Bytes(self.largest_bytes)),
        }
    }
}
