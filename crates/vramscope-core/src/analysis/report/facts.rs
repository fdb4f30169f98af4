//! What a file does not hold, what that means for what is seen, and how to record better.
//!
//! Nothing is hidden silently: whoever looks at a picture of a truncated trace must be told so. A
//! fact says what was seen, then what it means, then what to do; front ends only show it.

mod captured;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use super::summary::saturating_sum;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::history::{History, NEVER};
use crate::analysis::time::replay::mismatched_segment_events;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, DeviceIndex};

pub use words::warning_text;

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
        /// Those of them that are older than the recording; 0 without one.
        before_recording: u64,
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
        /// The number of that event in the trace, from 1: the moment that begins with it.
        event: u32,
    },
    /// Trace and segments were not copied at the same instant.
    Skew {
        /// Allocations live at the end of the trace without an active block.
        live_without_block: u64,
        /// Allocations whose block tells another requested size.
        size_differs: u64,
        /// Frees that were requested, but neither completed nor are they pending at the end.
        not_completed: u64,
        /// Segment events that cannot be undone from the final segments.
        segment_events: u64,
    },
    /// Allocations were made where others were still live: frees are missing.
    FreesMissing {
        /// How often.
        allocations: u64,
    },
    /// More memory was in use than was held from CUDA: trace and segments are not of one run.
    ActiveExceedsReserved {
        /// Highest sum of requested bytes.
        active_bytes: u64,
        /// Highest sum of segments.
        reserved_bytes: u64,
    },
    /// Pinned host memory is there, and no part of the devices' figures.
    HostMemory {
        /// Bytes held.
        bytes: u64,
    },
    /// A captured program ended without notice.
    EndedWithoutNotice,
    /// The recorder of a captured program switched itself off.
    RecorderFailed,
    /// The log of a captured program was full.
    RecordsLost {
        /// Records that found no room.
        records: u64,
    },
    /// Something that the recorder has to say; `text` is its own.
    CaptureNote,
    /// PyTorch's allocator was at work in a captured program.
    TorchCaptured,
    /// What a device held besides what was captured.
    OtherMemory {
        /// When last asked.
        last_bytes: u64,
        /// At its highest.
        highest_bytes: u64,
        /// Of the device in all; `None` if not told.
        device_bytes: Option<u64>,
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

/// The facts about a recording, those of the whole file first.
#[must_use]
pub fn facts(recording: &Recording) -> Vec<Fact> {
    let snapshot = &recording.snapshot;
    let kind_of = AllocatorKind::of(snapshot);
    let mut facts: Vec<Fact> = captured::facts(snapshot);
    let mut add = |kind, device| facts.push(words::fact(kind, device, kind_of));
    if snapshot.events.is_empty()
        && snapshot.segments.is_empty()
        && snapshot.host_segments.is_empty()
    {
        add(FactKind::Nothing, None);
        return facts;
    }
    let devices = recording.histories.len() as u64;
    if devices > 1 {
        add(FactKind::SeveralDevices { devices }, None);
    }
    let host_segments = snapshot.host_segments.rows.iter();
    let host_bytes = saturating_sum(host_segments.map(|segment| segment.total_size));
    if host_bytes > 0 {
        add(FactKind::HostMemory { bytes: host_bytes }, None);
    }
    for device in recording.devices() {
        for kind in device_facts(device) {
            add(kind, Some(device.index()));
        }
    }
    facts
}

fn device_facts(device: Device<'_>) -> Vec<FactKind> {
    let history = device.history;
    let actions = ActionsSeen::of(device);
    let mut kinds: Vec<FactKind> = Vec::new();
    match history.event_count {
        0 => kinds.push(FactKind::NoTrace),
        1 => kinds.push(FactKind::StateOnly),
        _ => {
            if !device.has_times() {
                kinds.push(FactKind::NoTimes);
            }
            kinds.extend(ring_full(device, &actions));
            kinds.extend(before_recording(history));
            kinds.extend(
                actions
                    .skipped()
                    .map(|action| FactKind::SkippedActions { action }),
            );
            kinds.extend(frees_missing(history));
            kinds.extend(skew(device, &actions));
        }
    }
    // Where all was given back there are none in the end, but the trace tells of them.
    if !device.knows_segments() && !has_segments(device) {
        kinds.push(FactKind::NoSegments);
    }
    kinds.extend(active_exceeds_reserved(device));
    kinds.extend(no_stacks(device));
    kinds.extend(out_of_memory(device));
    kinds.extend(pending_free(history));
    kinds
}

/// Whether the final state has segments.
fn has_segments(device: Device<'_>) -> bool {
    let segments = &device.snapshot().segments;
    i32::try_from(device.index()).is_ok_and(|index| segments.of_device(index).next().is_some())
}

/// How often each known action occurs in one device's trace.
struct ActionsSeen {
    counts: Vec<(Action, u64)>,
}

impl ActionsSeen {
    fn of(device: Device<'_>) -> Self {
        let mut counts: Vec<_> = Action::known()
            .iter()
            .map(|&(action, _)| (action, 0))
            .collect();
        for (_, action) in events(device) {
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

    /// Actions that are missing although their counterpart occurs more often than chance would have
    /// it. (A file of another tool may lack them by nature; the meaning is the same.)
    fn skipped(&self) -> impl Iterator<Item = Action> + '_ {
        // A request precedes each completion, so that a full ring can cut off one at most; frees
        // without allocs, and requests that still wait, occur in short genuine traces.
        let pairs = [
            (Action::Alloc, Action::FreeCompleted, 16),
            (Action::FreeRequested, Action::FreeCompleted, 2),
            (Action::FreeCompleted, Action::FreeRequested, 16),
        ];
        pairs
            .into_iter()
            .filter(|&(missing, counterpart, enough)| {
                self.count(missing) == 0 && self.count(counterpart) >= enough
            })
            .map(|(missing, _, _)| missing)
    }
}

/// Number and action of a device's events.
fn events(device: Device<'_>) -> impl Iterator<Item = (u32, Action)> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let start = history.first_event as usize;
    let end = start
        .saturating_add(history.event_count as usize)
        .min(snapshot.events.len());
    (0..).zip(snapshot.events.action[start.min(end)..end].iter().copied())
}

/// A full ring is not marked in the file. It is all but certain when the trace begins in the middle
/// of things (its first event ends or frees something) while memory has passed through the trace.
fn ring_full(device: Device<'_>, actions: &ActionsSeen) -> Option<FactKind> {
    let (settings, history) = (&device.snapshot().settings, device.history);
    let max_entries = settings
        .get("trace_alloc_max_entries")
        .and_then(serde_json::Value::as_u64);
    let overflowed = settings
        .get("trace_alloc_overflowed")
        .and_then(serde_json::Value::as_bool);
    if let Some(overflowed) = overflowed {
        return overflowed.then_some(FactKind::RingFull {
            max_entries,
            certain: true,
        });
    }
    let (_, first) = events(device).next()?;
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
    let bytes = saturating_sum(before.map(|(_, &bytes)| bytes));
    (allocations > 0).then_some(FactKind::BeforeRecording { allocations, bytes })
}

fn no_stacks(device: Device<'_>) -> Option<FactKind> {
    let history = device.history;
    let table = &history.allocations;
    let is_without = |row: &usize| {
        let (stack, _) = history.stack(device.snapshot(), AllocationId::from_index(*row));
        !stack.has_frames()
    };
    let (mut without, mut before_recording) = (0, 0);
    for row in (0..table.len()).filter(is_without) {
        without += 1;
        before_recording += u64::from(table.born[row] == 0 && history.event_count > 1);
    }
    let of = table.len() as u64;
    (without > 0).then_some(FactKind::NoStacks {
        without,
        before_recording,
        of,
    })
}

/// Requested bytes can never exceed the segments that hold them.
fn active_exceeds_reserved(device: Device<'_>) -> Option<FactKind> {
    let history = device.history;
    let active_bytes = history.active_bytes.iter().copied().max().unwrap_or(0);
    let reserved_bytes = history.most_reserved_bytes();
    let is_odd = has_segments(device) && active_bytes > reserved_bytes;
    is_odd.then_some(FactKind::ActiveExceedsReserved {
        active_bytes,
        reserved_bytes,
    })
}

fn out_of_memory(device: Device<'_>) -> Option<FactKind> {
    let moments = device.failed_requests();
    let &last = moments.last()?;
    let event = EventId(device.history.first_event + last - 1);
    let event = device.snapshot().events.get(event);
    Some(FactKind::OutOfMemory {
        events: moments.len() as u64,
        requested_bytes: event.size,
        device_free_bytes: event.addr,
        event: last,
    })
}

fn pending_free(history: &History) -> Option<FactKind> {
    let table = &history.allocations;
    let pending = (0..table.len())
        .filter(|&row| table.died[row] == NEVER && table.free_requested[row] != NEVER);
    let bytes = saturating_sum(pending.clone().map(|row| table.bytes[row]));
    let allocations = pending.count() as u64;
    (allocations > 0).then_some(FactKind::PendingFree { allocations, bytes })
}

fn frees_missing(history: &History) -> Option<FactKind> {
    let allocations = history.mismatches.alloc_at_live_address;
    (allocations > 0).then_some(FactKind::FreesMissing { allocations })
}

/// Where the trace does not lead to the final state. Nothing to compare where the file lists no segment.
fn skew(device: Device<'_>, actions: &ActionsSeen) -> Option<FactKind> {
    let (snapshot, history) = (device.snapshot(), device.history);
    if snapshot.segments.is_empty() {
        return None;
    }
    let found = &history.mismatches;
    // Without any completion they were not recorded; that is a fact of its own.
    let has_completions = actions.count(Action::FreeCompleted) > 0;
    let counts = [
        found.live_without_block,
        found.block_size_differs,
        if has_completions {
            found.requested_without_completion
        } else {
            0
        },
        mismatched_segment_events(snapshot, history),
    ];
    let [
        live_without_block,
        size_differs,
        not_completed,
        segment_events,
    ] = counts;
    counts
        .iter()
        .any(|&count| count > 0)
        .then_some(FactKind::Skew {
            live_without_block,
            size_differs,
            not_completed,
            segment_events,
        })
}
