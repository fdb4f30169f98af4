//! Facts about the file itself: what it lacks, what that means for the results, and how to record better.
//!
//! Results from an incomplete file must say so. Each fact says what was found, what it means, and what to do. Front
//! ends only display it.

mod captured;
mod profiled;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

use super::summary::saturating_sum;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::report::device_words;
use crate::analysis::time::history::{History, NEVER};
use crate::analysis::time::replay::mismatched_segment_events;
use crate::ids::{AllocationId, EventId};
use crate::model::{Action, DeviceIndex, Profile, ProfileKind, cut_off};

pub use captured::{LOST, MORE_ROOM};
pub use words::{DRY_RUN, warning_line, warning_text};

/// How much a fact affects the results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactLevel {
    /// A part of the results is missing or unreliable.
    Gap,
    /// Worth knowing.
    Notice,
}

/// The kind of a fact, with its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum FactKind {
    /// The file has neither segments nor events.
    Nothing,
    /// The device has no events.
    NoTrace,
    /// The trace is one event: recorded with `enabled="state"`.
    StateOnly,
    /// The events have no times.
    NoTimes,
    /// The file has a trace but no segments.
    NoSegments,
    /// Some allocations have no stack.
    NoStacks {
        /// Number of allocations without a stack.
        without: u64,
        /// Number of those allocated before the recording; 0 if the trace has at most one event.
        before_recording: u64,
        /// Number of all allocations.
        of: u64,
    },
    /// Some allocations are from before the recording.
    BeforeRecording {
        /// Number of these allocations.
        allocations: u64,
        /// Their requested bytes.
        bytes: u64,
    },
    /// The first events repeat the live allocations at the cut of the file.
    CarriedOver {
        /// Number of these events.
        events: u64,
    },
    /// The event buffer was full, so older events were overwritten.
    RingFull {
        /// Capacity of the buffer in events; `None` if the file does not say.
        max_entries: Option<u64>,
        /// Whether the file says so. Otherwise it is inferred.
        certain: bool,
    },
    /// One kind of event is missing although its counterpart occurs: recorded with `skip_actions`.
    SkippedActions {
        /// The kind that is missing.
        action: Action,
    },
    /// The file has several devices.
    SeveralDevices {
        /// Number of devices.
        devices: u64,
    },
    /// The traces of several ranks were probably put into one rank's file.
    TracesGathered {
        /// Number of devices that hold memory at the end of their trace, but have no segments.
        without_segments: u64,
        /// Number of devices with segments.
        with_segments: u64,
    },
    /// Requests failed.
    OutOfMemory {
        /// Number of failed requests.
        events: u64,
        /// Size of the last failed request in bytes, rounded.
        requested_bytes: u64,
        /// Bytes that the device reported free at that time; `None` if unknown.
        device_free_bytes: Option<u64>,
        /// The moment after the last failed request, which is also its number in the trace, counted from 1.
        event: u32,
    },
    /// Trace and final state disagree: they were not copied at the same time.
    Skew {
        /// Allocations live at the end of the trace without an active block.
        live_without_block: u64,
        /// Allocations whose requested size differs from their block's.
        size_differs: u64,
        /// Frees that were requested, but are neither completed nor pending at the end.
        not_completed: u64,
        /// Segment events that contradict the final state.
        segment_events: u64,
    },
    /// Allocations were made at addresses of live ones, so frees are missing.
    FreesMissing {
        /// Number of such allocations.
        allocations: u64,
    },
    /// The file has pinned host memory, which is not included in the devices' figures.
    HostMemory {
        /// Reserved bytes at the end.
        bytes: u64,
    },
    /// The program ran on a stand-in for CUDA.
    DryRun,
    /// The file comes from a profiler.
    Profiled {
        /// The form of the file.
        form: ProfileKind,
    },
    /// A captured program ended without notifying the recorder.
    EndedWithoutNotice,
    /// The recorder of a captured program stopped because of an error of its own.
    RecorderFailed,
    /// The log of a captured program was full.
    RecordsLost {
        /// Number of records that were dropped.
        records: u64,
    },
    /// Something could not be recorded, or only in part. The fact's `text` says what.
    NotRecorded {
        /// Number of times.
        times: u64,
    },
    /// A remark of the recorder, in the fact's `text`.
    CaptureNote,
    /// A captured program used PyTorch's allocator.
    TorchCaptured,
    /// Memory of a device that was in use but not captured.
    OtherMemory {
        /// Bytes at the last sample.
        last_bytes: u64,
        /// The most bytes of any sample.
        highest_bytes: u64,
        /// Capacity of the device; `None` if unknown.
        device_bytes: Option<u64>,
    },
    /// Frees are pending at the end: other streams may still use the memory.
    PendingFree {
        /// Number of these allocations.
        allocations: u64,
        /// Their requested bytes.
        bytes: u64,
    },
}

/// A fact, in figures and in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fact {
    /// The kind, with its figures.
    #[serde(flatten)]
    pub kind: FactKind,
    /// How much it affects the results.
    pub level: FactLevel,
    /// The device in question; `None` for the whole file.
    pub device: Option<DeviceIndex>,
    /// The finding, in one sentence.
    pub text: String,
    /// The meaning for the results; may be empty.
    pub meaning: String,
    /// How to record better; empty if there is no better way.
    pub advice: String,
}

/// Collects the facts about a recording, those about the whole file first.
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
    if snapshot.dry_run().is_some() {
        add(FactKind::DryRun, None);
    }
    let profile = Profile::of(snapshot);
    if let Some(profile) = &profile {
        let form = profile.kind;
        add(FactKind::Profiled { form }, None);
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
    let gathered = traces_gathered(recording);
    if let Some(kind) = gathered {
        add(kind, None);
    }
    for device in recording.devices() {
        for kind in device_facts(device) {
            // A missing final state contradicts nothing.
            let is_told = gathered.is_some() && !device.has_final_segments();
            if is_told && matches!(kind, FactKind::Skew { .. }) {
                continue;
            }
            add(kind, Some(device.index()));
        }
    }
    if let Some(profile) = &profile {
        facts
            .iter_mut()
            .for_each(|fact| profiled::reword(fact, profile));
    }
    if snapshot.dry_run().is_some() {
        let without_stacks = |fact: &&mut Fact| matches!(fact.kind, FactKind::NoStacks { .. });
        for fact in facts.iter_mut().filter(without_stacks) {
            "A dry run records the stacks of Python alone, which autograd's threads do not have."
                .clone_into(&mut fact.advice);
        }
    }
    device_words::of_facts(snapshot, &mut facts);
    facts
}

/// Whether traces come from other processes than the segments: some devices end with live memory that is missing in the
/// final state, while the final state is complete for the others. If the final state also lacks memory of a device that
/// it contains, the snapshot may cover only a single pool, and there is no fact.
fn traces_gathered(recording: &Recording) -> Option<FactKind> {
    let (with, without): (Vec<_>, Vec<_>) = recording
        .devices()
        .filter(|device| device.history.event_count > 1)
        .partition(|device| device.has_final_segments());
    let agree = with
        .iter()
        .all(|device| device.history.mismatches.live_without_block == 0);
    let is_live = |device: &&Device<'_>| device.history.mismatches.live_without_block > 0;
    let without_segments = without.iter().filter(is_live).count() as u64;
    let with_segments = with.len() as u64;
    (agree && with_segments > 0 && without_segments > 0).then_some(FactKind::TracesGathered {
        without_segments,
        with_segments,
    })
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
            kinds.extend(carried_over(device));
            kinds.extend(
                actions
                    .skipped()
                    .map(|action| FactKind::SkippedActions { action }),
            );
            kinds.extend(frees_missing(history));
            kinds.extend(skew(device, &actions));
        }
    }
    if device.is_without_segments() {
        kinds.push(FactKind::NoSegments);
    }
    kinds.extend(no_stacks(device));
    kinds.extend(out_of_memory(device));
    kinds.extend(pending_free(history));
    kinds
}

/// Number of alloc and free events in one device's trace.
struct ActionsSeen([(Action, u64); 3]);

impl ActionsSeen {
    fn of(device: Device<'_>) -> Self {
        let mut counts = [
            (Action::Alloc, 0),
            (Action::FreeRequested, 0),
            (Action::FreeCompleted, 0),
        ];
        for (_, action) in events(device) {
            for (counted, count) in &mut counts {
                *count += u64::from(action == *counted);
            }
        }
        Self(counts)
    }

    fn count(&self, action: Action) -> u64 {
        self.0
            .iter()
            .find(|(known, _)| *known == action)
            .map_or(0, |&(_, count)| count)
    }

    /// The actions that are missing although their counterpart occurs more often than by chance. (Files from other
    /// tools may never contain them; the meaning is the same.)
    fn skipped(&self) -> impl Iterator<Item = Action> + '_ {
        // Each completed free follows its request, so a full buffer can cut off at most one request. Frees without
        // allocs, and pending requests, also occur in short traces from torch.
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

/// The index and action of each event of a device.
fn events(device: Device<'_>) -> impl Iterator<Item = (u32, Action)> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let start = history.first_event as usize;
    let end = start
        .saturating_add(history.event_count as usize)
        .min(snapshot.events.len());
    (0..).zip(snapshot.events.action[start.min(end)..end].iter().copied())
}

/// Before torch wrote `trace_alloc_overflowed`, files did not say whether the buffer was full. It is almost certain if
/// the trace begins with the completion of a free whose request is missing.
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
    // The user chose this number of events, so nothing is missing by accident.
    if cut_off(&device.snapshot().extras, history.device).is_some() {
        return None;
    }
    let (_, first) = events(device).next()?;
    // PyTorch's default, and round numbers that people choose.
    let is_round = |count: u32| {
        count >= 1000 && (count.is_multiple_of(10_000) || count.is_power_of_two() || count == 1000)
    };
    let freed_unknown = freed_without_alloc(history);
    // The request of this free was overwritten.
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
    let (allocations, bytes) = history.allocations.before_recording();
    (allocations > 0).then_some(FactKind::BeforeRecording { allocations, bytes })
}

fn carried_over(device: Device<'_>) -> Option<FactKind> {
    let carried = cut_off(&device.snapshot().extras, device.index())?.carried;
    let events = carried.min(device.history.event_count.into());
    (events > 0 && device.is_without_segments()).then_some(FactKind::CarriedOver { events })
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
        before_recording += u64::from(table.born[row] == 0 && history.has_trace());
    }
    let of = table.len() as u64;
    (without > 0).then_some(FactKind::NoStacks {
        without,
        before_recording,
        of,
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
        device_free_bytes: event.device_free_bytes(),
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

/// Counts contradictions between trace and final state. `None` for a file without segments, which cannot be compared.
fn skew(device: Device<'_>, actions: &ActionsSeen) -> Option<FactKind> {
    let (snapshot, history) = (device.snapshot(), device.history);
    if snapshot.segments.is_empty() {
        return None;
    }
    let found = &history.mismatches;
    // If there are no completions at all, they were not recorded, which is a separate fact.
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
