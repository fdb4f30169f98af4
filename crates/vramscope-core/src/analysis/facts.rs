//! What a file does not hold, what that means for what is seen, and how to record better.
//!
//! Nothing is hidden silently: whoever looks at a picture of a truncated trace must be told so. A
//! fact says what was seen, then what it means, then what to do; front ends only show it.

use serde::{Deserialize, Serialize};

use super::history::{History, NEVER};
use crate::Snapshot;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, DeviceIndex, WarningKind};
use crate::units::{Bytes, Count};

/// How much a fact matters to what is seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactLevel {
    /// Part of the picture is missing or not to be trusted.
    Gap,
    /// Something happened that one should know of.
    Notice,
}

/// What kind of fact, with its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum FactKind {
    /// Neither segments nor events at all.
    Nothing,
    /// No event of this device was recorded.
    NoTrace,
    /// Exactly one event: recorded with `enabled="state"`.
    StateOnly,
    /// The events have no times.
    NoTimes,
    /// There is a trace but no segment.
    NoSegments,
    /// Records of allocations that lack a stack.
    NoStacks {
        /// Allocations without one.
        without: u64,
        /// All allocations.
        of: u64,
    },
    /// Allocations from before the recording.
    BeforeRecording {
        /// How many.
        allocations: u64,
        /// Requested bytes.
        bytes: u64,
    },
    /// Older events were overwritten, as far as can be told.
    RingFull {
        /// The buffer's size in events, when the file names it.
        max_entries: Option<u64>,
        /// Whether the file says so itself.
        certain: bool,
    },
    /// A kind of event is missing whose counterpart is there: recorded with `skip_actions`.
    SkippedActions {
        /// The missing one.
        action: Action,
    },
    /// Several devices.
    SeveralDevices {
        /// How many.
        devices: u64,
    },
    /// Allocations failed.
    OutOfMemory {
        /// How often.
        events: u64,
        /// The last one's request, rounded.
        requested_bytes: u64,
        /// What the device then reported free.
        device_free_bytes: u64,
        /// The number of that event in the trace.
        event: u32,
    },
    /// Trace and segments were not copied at the same instant.
    Skew {
        /// Places at which they disagree.
        places: u64,
    },
    /// Pinned host memory is there, and no part of the devices' figures.
    HostMemory {
        /// Bytes held.
        bytes: u64,
    },
    /// Blocks that wait for other streams.
    PendingFree {
        /// How many at the end.
        allocations: u64,
        /// Requested bytes.
        bytes: u64,
    },
}

/// One fact in figures and in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// What kind.
    #[serde(flatten)]
    pub kind: FactKind,
    /// How much it matters.
    pub level: FactLevel,
    /// Which device it concerns; `None` = the whole file.
    pub device: Option<DeviceIndex>,
    /// What was seen, in one line.
    pub text: String,
    /// What it means for what is shown.
    pub meaning: String,
    /// How to record better; empty when there is nothing to better.
    pub advice: String,
}

/// The facts about a snapshot, those of the whole file first. `histories` are those of all its devices.
#[must_use]
pub fn facts(snapshot: &Snapshot, histories: &[History]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    let mut add = |kind, device| facts.push(fact(kind, device));
    if snapshot.events.is_empty()
        && snapshot.segments.is_empty()
        && snapshot.host_segments.is_empty()
    {
        add(FactKind::Nothing, None);
        return facts;
    }
    if histories.len() > 1 {
        add(
            FactKind::SeveralDevices {
                devices: histories.len() as u64,
            },
            None,
        );
    }
    if let Some(kind) = skew(snapshot) {
        add(kind, None);
    }
    let host_bytes: u64 = snapshot
        .host_segments
        .rows
        .iter()
        .map(|segment| segment.total_size)
        .sum();
    if host_bytes > 0 {
        add(FactKind::HostMemory { bytes: host_bytes }, None);
    }
    for history in histories {
        for kind in device_facts(snapshot, history) {
            add(kind, Some(history.device));
        }
    }
    facts
}

fn device_facts(snapshot: &Snapshot, history: &History) -> Vec<FactKind> {
    let actions = ActionsSeen::of(snapshot, history);
    let mut kinds: Vec<FactKind> = Vec::new();
    match history.event_count {
        0 => kinds.push(FactKind::NoTrace),
        1 => kinds.push(FactKind::StateOnly),
        _ => {
            if history.moment_start_us.is_empty() {
                kinds.push(FactKind::NoTimes);
            }
            kinds.extend(ring_full(snapshot, history, &actions));
            kinds.extend(before_recording(history));
            kinds.extend(
                actions
                    .skipped()
                    .map(|action| FactKind::SkippedActions { action }),
            );
        }
    }
    if !has_segments(snapshot, history.device) {
        kinds.push(FactKind::NoSegments);
    }
    kinds.extend(no_stacks(snapshot, history));
    kinds.extend(out_of_memory(snapshot, history));
    kinds.extend(pending_free(history));
    kinds
}

fn has_segments(snapshot: &Snapshot, device: DeviceIndex) -> bool {
    i32::try_from(device).is_ok_and(|device| snapshot.segments.of_device(device).next().is_some())
}

/// How often each known action occurs in one device's trace.
struct ActionsSeen {
    counts: Vec<(Action, u64)>,
}

impl ActionsSeen {
    fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut counts: Vec<_> = Action::known()
            .iter()
            .map(|&(action, _)| (action, 0))
            .collect();
        for (_, action) in events(snapshot, history) {
            if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == action) {
                *count += 1;
            }
        }
        Self { counts }
    }

    fn count(&self, action: Action) -> u64 {
        self.counts
            .iter()
            .find(|(known, _)| *known == action)
            .map_or(0, |&(_, count)| count)
    }

    /// Actions that are missing although their counterpart occurs often enough to tell. (A file of
    /// `_profile_to_snapshot` or of another tool may lack them by nature; the meaning is the same.)
    fn skipped(&self) -> impl Iterator<Item = Action> + '_ {
        const ENOUGH: u64 = 16;
        let pairs = [
            (Action::Alloc, Action::FreeCompleted),
            (Action::FreeRequested, Action::FreeCompleted),
            (Action::FreeCompleted, Action::FreeRequested),
        ];
        pairs
            .into_iter()
            .filter(|&(missing, counterpart)| {
                self.count(missing) == 0 && self.count(counterpart) >= ENOUGH
            })
            .map(|(missing, _)| missing)
    }
}

/// Number and action of a device's events.
fn events<'a>(
    snapshot: &'a Snapshot,
    history: &History,
) -> impl Iterator<Item = (u32, Action)> + use<'a> {
    let start = history.first_event as usize;
    let end = start
        .saturating_add(history.event_count as usize)
        .min(snapshot.events.len());
    (0..).zip(snapshot.events.action[start.min(end)..end].iter().copied())
}

/// A full ring is not marked in the file. It is all but certain when the trace begins in the middle
/// of things (its first event ends or frees something) while memory has passed through the trace.
fn ring_full(snapshot: &Snapshot, history: &History, actions: &ActionsSeen) -> Option<FactKind> {
    let max_entries = snapshot
        .settings
        .get("trace_alloc_max_entries")
        .and_then(serde_json::Value::as_u64);
    let overflowed = snapshot
        .settings
        .get("trace_alloc_overflowed")
        .and_then(serde_json::Value::as_bool);
    if let Some(overflowed) = overflowed {
        return overflowed.then_some(FactKind::RingFull {
            max_entries,
            certain: true,
        });
    }
    let (_, first) = events(snapshot, history).next()?;
    // PyTorch's own default, and the round numbers that people choose.
    let is_round = |count: u32| {
        count >= 1000 && (count.is_multiple_of(10_000) || count.is_power_of_two() || count == 1000)
    };
    let freed_unknown = freed_without_alloc(history);
    // The free of a pair whose request was overwritten.
    let begins_inside = first == Action::FreeCompleted;
    let is_likely = begins_inside || (is_round(history.event_count) && freed_unknown > 0);
    let has_allocs = actions.count(Action::Alloc) > 0;
    (is_likely && has_allocs && freed_unknown > 0).then_some(FactKind::RingFull {
        max_entries,
        certain: false,
    })
}

fn freed_without_alloc(history: &History) -> u64 {
    let table = &history.allocations;
    table
        .born
        .iter()
        .zip(&table.died)
        .filter(|&(&born, &died)| born == 0 && died != NEVER)
        .count() as u64
}

fn before_recording(history: &History) -> Option<FactKind> {
    let table = &history.allocations;
    let before = table
        .born
        .iter()
        .zip(&table.bytes)
        .filter(|(born, _)| **born == 0);
    let allocations = before.clone().count() as u64;
    let bytes = before.map(|(_, bytes)| bytes).sum();
    (allocations > 0).then_some(FactKind::BeforeRecording { allocations, bytes })
}

fn no_stacks(snapshot: &Snapshot, history: &History) -> Option<FactKind> {
    let of = history.allocations.len();
    let without = (0..of)
        .filter(|&row| {
            !history
                .stack(snapshot, AllocationId::from_index(row))
                .0
                .has_frames()
        })
        .count();
    (without > 0).then_some(FactKind::NoStacks {
        without: without as u64,
        of: of as u64,
    })
}

fn out_of_memory(snapshot: &Snapshot, history: &History) -> Option<FactKind> {
    let ooms = events(snapshot, history).filter(|&(_, action)| action == Action::Oom);
    let (count, last) = ooms.fold((0, None), |(count, _), (number, _)| {
        (count + 1, Some(number))
    });
    let number = last?;
    let event = snapshot.events.get(EventId(history.first_event + number));
    Some(FactKind::OutOfMemory {
        events: count,
        requested_bytes: event.size,
        device_free_bytes: event.addr,
        event: number,
    })
}

fn pending_free(history: &History) -> Option<FactKind> {
    let table = &history.allocations;
    let pending = (0..table.len())
        .filter(|&row| table.died[row] == NEVER && table.free_requested[row] != NEVER);
    let bytes = pending.clone().map(|row| table.bytes[row]).sum();
    let allocations = pending.count() as u64;
    (allocations > 0).then_some(FactKind::PendingFree { allocations, bytes })
}

fn skew(snapshot: &Snapshot) -> Option<FactKind> {
    let places = snapshot
        .warnings
        .list()
        .iter()
        .filter(|warning| {
            matches!(
                warning.kind,
                WarningKind::LiveAllocationWithoutBlock | WarningKind::SegmentEventMismatch
            )
        })
        .map(|warning| warning.count)
        .sum();
    (places > 0).then_some(FactKind::Skew { places })
}

/// Adds the words to the figures.
fn fact(kind: FactKind, device: Option<DeviceIndex>) -> Fact {
    let level = match kind {
        FactKind::SeveralDevices { .. }
        | FactKind::OutOfMemory { .. }
        | FactKind::HostMemory { .. }
        | FactKind::BeforeRecording { .. }
        | FactKind::PendingFree { .. } => FactLevel::Notice,
        _ => FactLevel::Gap,
    };
    let [meaning, advice] = meaning_and_advice(kind).map(str::to_owned);
    Fact {
        kind,
        level,
        device,
        text: text(kind),
        meaning,
        advice,
    }
}

fn text(kind: FactKind) -> String {
    match kind {
        FactKind::Nothing => "The file holds no segment and no event.".to_owned(),
        FactKind::NoTrace => "No events were recorded.".to_owned(),
        FactKind::StateOnly => {
            "The trace has exactly one event: recorded with enabled=\"state\".".to_owned()
        }
        FactKind::NoTimes => "The events have no times.".to_owned(),
        FactKind::NoSegments => "The file has no segments for this device.".to_owned(),
        FactKind::NoStacks { without, of } if without == of => {
            "No stacks were recorded with the allocations.".to_owned()
        }
        FactKind::NoStacks { without, of } => {
            format!(
                "{} of {} allocations have no stack.",
                Count(without),
                Count(of)
            )
        }
        FactKind::BeforeRecording { allocations, bytes } => format!(
            "Recording began after {} live {} of {} in all.",
            Count(allocations),
            plural(allocations, "allocation", "allocations"),
            Bytes(bytes)
        ),
        FactKind::RingFull {
            certain,
            max_entries,
        } => {
            let likely = if certain { "was" } else { "was probably" };
            let size = max_entries
                .map(|entries| format!(" ({} entries)", Count(entries)))
                .unwrap_or_default();
            format!("The event buffer{size} {likely} full: the oldest events are lost.")
        }
        FactKind::SkippedActions { action } => {
            format!(
                "There is no {} event at all.",
                action.name().unwrap_or("such")
            )
        }
        FactKind::SeveralDevices { devices } => format!("The file covers {devices} devices."),
        FactKind::OutOfMemory {
            events,
            requested_bytes,
            device_free_bytes,
            event,
        } => format!(
            "Out of memory {}: the last request, at event {}, was for {} with {} free on the device.",
            if events == 1 {
                "once".to_owned()
            } else {
                format!("{} times", Count(events))
            },
            Count(u64::from(event)),
            Bytes(requested_bytes),
            Bytes(device_free_bytes)
        ),
        FactKind::Skew { places } => format!(
            "Trace and final state disagree in {} {}.",
            Count(places),
            plural(places, "place", "places")
        ),
        FactKind::HostMemory { bytes } => format!(
            "Pinned host memory was recorded: {} at the end.",
            Bytes(bytes)
        ),
        FactKind::PendingFree { allocations, bytes } => format!(
            "{} freed {} of {} in all still wait for other streams at the end.",
            Count(allocations),
            plural(allocations, "allocation", "allocations"),
            Bytes(bytes)
        ),
    }
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

const RECORD_ALL: &str = "Call torch.cuda.memory._record_memory_history() (without enabled=\"state\") before the \
     code in question, and _dump_snapshot() after it.";

fn meaning_and_advice(kind: FactKind) -> [&'static str; 2] {
    match kind {
        FactKind::Nothing => [
            "There is nothing to show: the allocator had not been used on any device.",
            "Dump in the process that uses the GPU, after it has allocated, and not with \
             PYTORCH_NO_CUDA_MEMORY_CACHING=1 or the cudaMallocAsync backend.",
        ],
        FactKind::NoTrace => [
            "Only the final state is known; it is shown as flat bands.",
            RECORD_ALL,
        ],
        FactKind::StateOnly => [
            "Only the final state is known; it is shown as flat bands. What was allocated and freed before is not in the file.",
            RECORD_ALL,
        ],
        FactKind::NoTimes => [
            "The order of events is exact, but not when they happened: only the event axis can be shown.",
            "PyTorch writes times since 2.2.",
        ],
        FactKind::NoSegments => [
            "Reserved memory, block sizes and fragmentation are not known; allocations are.",
            "Dump with torch.cuda.memory._dump_snapshot(), which writes segments too.",
        ],
        FactKind::NoStacks { .. } => [
            "Allocations without a stack cannot be told apart by where they were made.",
            "Record with context=\"all\" and, for C++ frames too, stacks=\"all\" (the default); start recording \
             before the memory is allocated.",
        ],
        FactKind::BeforeRecording { .. } => [
            "They are at the bottom from the start; what happened to them before is not known, and \
             where they were allocated often not either.",
            "Start recording before the model is built to see where they come from.",
        ],
        FactKind::RingFull { .. } => [
            "The trace shows only the latest part; memory from before stands at the bottom as if it had always been there.",
            "Record with a larger max_entries, or dump earlier.",
        ],
        FactKind::SkippedActions { .. } => [
            "Lives of allocations may look longer or shorter than they were.",
            "Record without skip_actions.",
        ],
        FactKind::SeveralDevices { .. } => [
            "Each is shown on its own; the one with the highest peak comes first.",
            "",
        ],
        FactKind::OutOfMemory { .. } => [
            "PyTorch had already given its cached memory back to CUDA by then and still could not get the request.",
            "",
        ],
        FactKind::Skew { .. } => [
            "PyTorch copies the trace before it walks the segments; another thread may allocate in between. \
             A few places are normal, many mean that the file was altered.",
            "Dump while no other thread allocates.",
        ],
        FactKind::HostMemory { .. } => ["It is no part of any device's figures.", ""],
        FactKind::PendingFree { .. } => [
            "Their memory cannot be used again until the streams of record_stream() have passed.",
            "",
        ],
    }
}

/// A warning's kind in words.
#[must_use]
pub fn warning_text(kind: &WarningKind) -> String {
    let text = match kind {
        WarningKind::UnknownKey(key) => return format!("unknown key {key}, not read"),
        WarningKind::UnknownAction(action) => {
            return format!("unknown action {action}, kept as it is");
        }
        WarningKind::MissingKey(key) => return format!("missing {key}, taken as 0 or empty"),
        WarningKind::WrongType(key) => {
            return format!("{key} has a value of another type, ignored");
        }
        WarningKind::BlocksDoNotFillSegment => "blocks do not add up to their segment's total_size",
        WarningKind::BlocksNotContiguous => "a block does not begin where the one before it ends",
        WarningKind::SegmentSumsDiffer => "a segment's sums are not those of its blocks",
        WarningKind::SegmentsUnsorted => "segments are not in address order",
        WarningKind::SegmentsOverlap => "segments overlap",
        WarningKind::TimeRunsBackwards => "an event's time lies before its predecessor's",
        WarningKind::AllocAtLiveAddress => {
            "an allocation at an address where another is still live"
        }
        WarningKind::LiveAllocationWithoutBlock => {
            "an allocation that is live at the end has no active block of its size"
        }
        WarningKind::SegmentEventMismatch => "a segment event does not fit the final state",
        WarningKind::InvalidUtf8 => "text is not valid UTF-8; the bad bytes are replaced",
        WarningKind::TrailingBytes => "bytes after the end of the data",
        WarningKind::DamagedEnd => {
            "the snapshot is complete, but what follows it in its container is damaged"
        }
        WarningKind::FurtherFiles => "further snapshots in the same container; the first was read",
    };
    text.to_owned()
}
