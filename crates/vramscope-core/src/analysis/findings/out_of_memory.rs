//! Requests that failed: what was asked, what there was, and what stood in between.

use std::collections::HashMap;

use super::words::{at_site, counted, place_label, stream_label};
use super::{
    Evidence, EvidenceView, Figure, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS,
    Severity, site_table,
};
use crate::analysis::allocator_state::{AllocatorState, BlockUse, SizeClass};
use crate::analysis::details::stream_numbers;
use crate::analysis::gap::{Arena, Gap, gap};
use crate::analysis::live_at::{live_at, top_call_sites};
use crate::analysis::settings::AllocatorConfig;
use crate::ids::EventId;
use crate::model::{Action, Event};
use crate::units::{Bytes, Count};

/// Requests up to this come from small segments.
const SMALL_REQUEST_BYTES: u64 = 1 << 20;
/// How many of several failures are linked to.
const LINKED: usize = 5;

/// The last failure, and how many came before it.
pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let failures = failures(material);
    let &moment = failures.last()?;
    let history = material.recording.history;
    let event = EventId(history.first_event + moment - 1);
    let event = material.recording.snapshot.events.get(event);
    let state = material.index.state_at(material.recording, moment);
    let failure = Failure::of(material, moment, event, &state);
    let site = material.sites.of_stack(event.stack);
    let live = live_at(history, moment);
    let top = top_call_sites(history, material.site_of, live, ROWS);
    let title = format!(
        "Out of memory: {} requested, {} free on the device",
        Bytes(event.size),
        Bytes(event.addr)
    );
    let mut evidence = vec![
        Evidence::state(moment),
        Evidence::live_at(moment),
        Evidence::moment("the curve up to there", EvidenceView::Timeline, moment),
        Evidence::moment("what was live, one by one", EvidenceView::Table, moment)
            .with_filter(format!("live@{moment}")),
    ];
    let earlier = failures.iter().rev().skip(1).take(LINKED);
    evidence.extend(earlier.map(|&moment| {
        let label = format!("the failure at event {}", Count(u64::from(moment)));
        Evidence::moment(label, EvidenceView::Timeline, moment)
    }));
    let live_table = site_table("Live when it failed, by call site", material.sites, &top);
    let free_table = failure
        .has_state
        .then(|| failure.free_table(material, &state));
    Some(Finding {
        kind: FindingKind::OutOfMemory,
        severity: Severity::Problem,
        bytes: event.size,
        title,
        seen: failure.seen(
            material,
            failures.len() as u64,
            &at_site(material.sites, site),
        ),
        figures: failure.figures(),
        may_mean: failure.may_mean(),
        to_try: failure.to_try(material.config),
        tables: [live_table].into_iter().chain(free_table).collect(),
        evidence,
    })
}

/// The moments that begin with a failed request.
fn failures(material: Material<'_>) -> Vec<u32> {
    let history = material.recording.history;
    let first = history.first_event as usize;
    let actions = material.recording.snapshot.events.action.iter().skip(first);
    let numbered = (1..).zip(actions.take(history.event_count as usize));
    numbered
        .filter(|(_, action)| **action == Action::Oom)
        .map(|(moment, _)| moment)
        .collect()
}

/// Why the request did not fit: the first of these that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
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
    /// These and what the device had left would have been.
    PiecesAndDeviceSuffice,
    /// Everything free together would have been.
    AllFreeSuffices,
    /// Not even that.
    Short,
}

/// One failure in figures.
struct Failure {
    moment: u32,
    requested_bytes: u64,
    device_free_bytes: u64,
    arena: Arena,
    is_small: bool,
    gap: Gap,
    /// Free in segments that may serve the request.
    own_free_bytes: u64,
    own_free_blocks: u64,
    own_largest_bytes: u64,
    other_fitting: u64,
    other_largest_bytes: u64,
    /// Bytes of segments given back right before.
    released_bytes: u64,
    events_after: u32,
    has_state: bool,
}

impl Failure {
    fn of(material: Material<'_>, moment: u32, event: Event, state: &AllocatorState) -> Self {
        let snapshot = material.recording.snapshot;
        let context = snapshot.contexts.get(event.context);
        let arena = Arena {
            pool: context.pool.unwrap_or_default(),
            stream: context.stream,
        };
        let released = material.releases.runs.iter();
        let released = released.filter(|run| run.before_oom && run.to == moment - 1);
        let mut failure = Self {
            moment,
            requested_bytes: event.size,
            device_free_bytes: event.addr,
            arena,
            is_small: event.size <= SMALL_REQUEST_BYTES,
            gap: gap(state, Some(arena)),
            own_free_bytes: 0,
            own_free_blocks: 0,
            own_largest_bytes: 0,
            other_fitting: 0,
            other_largest_bytes: 0,
            released_bytes: released.fold(0, |sum, run| run.bytes.saturating_add(sum)),
            events_after: material.recording.history.event_count - moment,
            has_state: material.has_segments,
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

    fn verdict(&self) -> Verdict {
        let wanted = self.requested_bytes;
        let device = self.device_free_bytes;
        if device >= wanted {
            Verdict::DeviceHadEnough
        } else if !self.has_state {
            Verdict::Unknown
        } else if self.own_largest_bytes >= wanted {
            Verdict::OwnBlockFits
        } else if self.other_fitting > 0 {
            Verdict::OtherBlockFits
        } else if self.own_free_bytes >= wanted {
            Verdict::OwnPiecesSuffice
        } else if self.own_free_bytes.saturating_add(device) >= wanted {
            Verdict::PiecesAndDeviceSuffice
        } else if self.all_free_bytes() >= wanted {
            Verdict::AllFreeSuffices
        } else {
            Verdict::Short
        }
    }

    fn seen(&self, material: Material<'_>, failures: u64, at: &str) -> String {
        let streams = stream_numbers(material.recording.snapshot);
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

    fn all_free_bytes(&self) -> u64 {
        self.gap.free_bytes().saturating_add(self.device_free_bytes)
    }

    fn figures(&self) -> Vec<Figure> {
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

    fn may_mean(&self) -> String {
        let text = match self.verdict() {
            Verdict::DeviceHadEnough => {
                "Something other than the device's memory refused the request: a limit set by \
                 set_per_process_memory_fraction(), or another process that took memory at that instant."
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

    fn to_try(&self, config: &AllocatorConfig) -> Vec<String> {
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
            list.push("PYTORCH_ALLOC_CONF=expandable_segments:True (before torch 2.9: PYTORCH_CUDA_ALLOC_CONF), which joins free memory.");
        }
        if matches!(verdict, Verdict::OtherBlockFits | Verdict::AllFreeSuffices) {
            list.push("Allocate on fewer streams, share one pool between graphs, or free the other pool first.");
        }
        list.push("Look through what was live then: what the loop still holds from before, saved activations, optimizer state.");
        if verdict == Verdict::Short {
            list.push("A smaller batch or sequence, activation checkpointing, or sharding.");
        }
        list.into_iter().map(str::to_owned).collect()
    }

    /// Free memory by pool, stream and size, and whether the request could have used it.
    fn free_table(&self, material: Material<'_>, state: &AllocatorState) -> FindingTable {
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
                places.push(FreePlace::new(arena, segment.size_class));
                places.len() - 1
            });
            let place = &mut places[place];
            place.bytes = place.bytes.saturating_add(sums.free_bytes);
            place.blocks += sums.free_blocks;
            place.largest_bytes = place.largest_bytes.max(sums.largest_free_bytes);
        }
        places.sort_by_key(|place| std::cmp::Reverse(place.bytes));
        let streams = stream_numbers(material.recording.snapshot);
        let rows = places.iter().take(2 * ROWS);
        let rows = rows
            .map(|place| place.row(&streams, self.is_own(Some(place.arena), place.class)))
            .collect();
        FindingTable {
            title: "Free when it failed, by where it could be used".to_owned(),
            counted: "free blocks".to_owned(),
            rows,
        }
    }
}

/// Free memory that the same requests may use.
struct FreePlace {
    arena: Arena,
    class: Option<SizeClass>,
    bytes: u64,
    blocks: u64,
    largest_bytes: u64,
}

impl FreePlace {
    fn new(arena: Arena, class: Option<SizeClass>) -> Self {
        Self {
            arena,
            class,
            bytes: 0,
            blocks: 0,
            largest_bytes: 0,
        }
    }

    fn row(&self, streams: &[i64], is_own: bool) -> FindingRow {
        let place = place_label(streams, self.arena);
        let size = match self.class {
            Some(SizeClass::Small) => ", up to 1 MiB",
            Some(SizeClass::Large) => ", beyond 1 MiB",
            None => "",
        };
        let own = if is_own { "the request's own; " } else { "" };
        FindingRow {
            label: format!("{place}{size}"),
            site: None,
            bytes: self.bytes,
            count: self.blocks,
            remark: format!("{own}largest {}", Bytes(self.largest_bytes)),
        }
    }
}
