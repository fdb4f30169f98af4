//! What a file does not hold, what that means for what is seen, and how to record better.
//!
//! Nothing is hidden silently: whoever looks at a picture of a truncated trace must be told so. A
//! fact says what was seen, then what it means, then what to do; front ends only show it.

mod captured;
mod words;

use serde::{Deserialize, Serialize};

use super::summary::saturating_sum;
use crate::Snapshot;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::time::history::{History, NEVER};
use crate::analysis::time::markers::failed_requests;
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

/// The facts about a snapshot, those of the whole file first. `histories` are those of all its devices.
#[must_use]
pub fn facts(snapshot: &Snapshot, histories: &[History]) -> Vec<Fact> {
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
    if histories.len() > 1 {
        add(
            FactKind::SeveralDevices {
                devices: histories.len() as u64,
            },
            None,
        );
    }
    let host_segments = snapshot.host_segments.rows.iter();
    let host_bytes = saturating_sum(host_segments.map(|segment| segment.total_size));
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
            kinds.extend(frees_missing(history));
            kinds.extend(skew(snapshot, history, &actions));
        }
    }
    // Where all was given back there are none in the end, but the trace tells of them.
    if history.most_reserved_bytes() == 0 && !has_segments(snapshot, history.device) {
        kinds.push(FactKind::NoSegments);
    }
    kinds.extend(active_exceeds_reserved(snapshot, history));
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
    let bytes = saturating_sum(before.map(|(_, &bytes)| bytes));
    (allocations > 0).then_some(FactKind::BeforeRecording { allocations, bytes })
}

fn no_stacks(snapshot: &Snapshot, history: &History) -> Option<FactKind> {
    let table = &history.allocations;
    let is_without = |row: &usize| {
        let (stack, _) = history.stack(snapshot, AllocationId::from_index(*row));
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
fn active_exceeds_reserved(snapshot: &Snapshot, history: &History) -> Option<FactKind> {
    let active_bytes = history.active_bytes.iter().copied().max().unwrap_or(0);
    let reserved_bytes = history.most_reserved_bytes();
    let is_odd = has_segments(snapshot, history.device) && active_bytes > reserved_bytes;
    is_odd.then_some(FactKind::ActiveExceedsReserved {
        active_bytes,
        reserved_bytes,
    })
}

fn out_of_memory(snapshot: &Snapshot, history: &History) -> Option<FactKind> {
    let moments = failed_requests(snapshot, history);
    let &last = moments.last()?;
    let event = EventId(history.first_event + last - 1);
    let event = snapshot.events.get(event);
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
fn skew(snapshot: &Snapshot, history: &History, actions: &ActionsSeen) -> Option<FactKind> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    /// The kinds of facts of a snapshot written as JSON.
    fn kinds(json: &str) -> Vec<FactKind> {
        let snapshot = decode(json.as_bytes()).unwrap();
        let devices = snapshot.devices();
        let histories: Vec<_> = devices
            .iter()
            .map(|&device| History::of(&snapshot, device))
            .collect();
        facts(&snapshot, &histories)
            .into_iter()
            .map(|fact| fact.kind)
            .collect()
    }

    const SEGMENT: &str = r#"{"device": 0, "address": 4096, "total_size": 1024, "blocks": [
        {"address": 4096, "size": 512, "requested_size": 500, "state": "active_allocated", "frames": []},
        {"address": 4608, "size": 512, "requested_size": 0, "state": "inactive", "frames": []}]}"#;

    #[test]
    fn a_file_without_anything() {
        assert_eq!(
            kinds(r#"{"segments": [], "device_traces": []}"#),
            [FactKind::Nothing]
        );
    }

    #[test]
    fn a_file_without_a_trace() {
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[]]}}"#
        ));
        let no_stacks = FactKind::NoStacks {
            without: 1,
            before_recording: 0,
            of: 1,
        };
        assert_eq!(found, [FactKind::NoTrace, no_stacks]);
    }

    #[test]
    fn a_file_in_state_mode() {
        let event = r#"{"action": "snapshot", "addr": 0, "size": 500, "stream": 0}"#;
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[{event}]]}}"#
        ));
        assert_eq!(found.first(), Some(&FactKind::StateOnly));
    }

    #[test]
    fn a_trace_that_leads_to_its_end_is_no_skew() {
        let events = r#"{"action": "segment_alloc", "addr": 4096, "size": 1024, "stream": 0},
            {"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#
        ));
        let is_mismatch =
            |kind: &FactKind| matches!(kind, FactKind::Skew { .. } | FactKind::FreesMissing { .. });
        assert!(!found.iter().any(is_mismatch), "{found:?}");
    }

    #[test]
    fn a_file_may_have_no_segments_because_all_were_given_back() {
        let alloc = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
        let segment = |action: &str| {
            format!(r#"{{"action": "{action}", "addr": 4096, "size": 1024, "stream": 0}}"#)
        };
        let told = |events: &str| {
            let found = kinds(&format!(
                r#"{{"segments": [], "device_traces": [[{events}]]}}"#
            ));
            !found.contains(&FactKind::NoSegments)
        };
        assert!(!told(alloc));
        let [came, went] = ["segment_alloc", "segment_free"].map(segment);
        assert!(told(&format!("{came}, {went}")));
    }

    #[test]
    fn places_where_trace_and_final_state_disagree_are_counted() {
        // One block of another size, one allocation without a block, one free that is not completed
        // while another one is, one segment that was never mapped.
        let events = r#"{"action": "alloc", "addr": 4096, "size": 400, "stream": 0},
            {"action": "alloc", "addr": 4608, "size": 10, "stream": 0},
            {"action": "alloc", "addr": 9000, "size": 10, "stream": 0},
            {"action": "free_requested", "addr": 9000, "size": 10, "stream": 0},
            {"action": "alloc", "addr": 9600, "size": 10, "stream": 0},
            {"action": "free_requested", "addr": 9600, "size": 10, "stream": 0},
            {"action": "free_completed", "addr": 9600, "size": 10, "stream": 0},
            {"action": "segment_alloc", "addr": 8192, "size": 2048, "stream": 0}"#;
        let json = format!(r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#);
        let skew = FactKind::Skew {
            live_without_block: 1,
            size_differs: 1,
            not_completed: 1,
            segment_events: 1,
        };
        assert!(kinds(&json).contains(&skew), "{:?}", kinds(&json));
        assert_eq!(
            words::fact(skew, Some(0), AllocatorKind::Torch).text,
            "Trace and final state disagree in 4 places: 1 live allocation without a block, 1 block of another \
             size, 1 requested free never completed, 1 segment event that does not fit."
        );
    }

    #[test]
    fn an_allocation_where_another_is_live() {
        let alloc = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0}"#;
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[{alloc}, {alloc}]]}}"#
        ));
        assert!(
            found.contains(&FactKind::FreesMissing { allocations: 1 }),
            "{found:?}"
        );
    }

    #[test]
    fn a_free_that_was_requested_before_the_recording_is_nothing_odd() {
        let free = r#"{"action": "free_completed", "addr": 8192, "size": 500, "stream": 0}"#;
        let map = r#"{"action": "segment_alloc", "addr": 4096, "size": 1024, "stream": 0}"#;
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[{free}, {map}]]}}"#
        ));
        assert!(
            !found
                .iter()
                .any(|kind| matches!(kind, FactKind::Skew { .. })),
            "{found:?}"
        );
    }

    #[test]
    fn a_few_missing_stacks_are_no_gap() {
        let level = |without| {
            let kind = FactKind::NoStacks {
                without,
                before_recording: 0,
                of: 542,
            };
            words::fact(kind, Some(0), AllocatorKind::Torch).level
        };
        assert_eq!(level(1), FactLevel::Notice);
        assert_eq!(level(27), FactLevel::Notice);
        assert_eq!(level(28), FactLevel::Gap);
        assert_eq!(level(542), FactLevel::Gap);
    }

    #[test]
    fn an_out_of_memory_event_with_its_figures() {
        let events = r#"{"action": "alloc", "addr": 4096, "size": 500, "stream": 0},
            {"action": "oom", "device_free": 100, "size": 2048, "stream": 0}"#;
        let found = kinds(&format!(
            r#"{{"segments": [{SEGMENT}], "device_traces": [[{events}]]}}"#
        ));
        let oom = FactKind::OutOfMemory {
            events: 1,
            requested_bytes: 2048,
            device_free_bytes: 100,
            event: 2,
        };
        assert!(found.contains(&oom), "{found:?}");
        assert!(found.contains(&FactKind::NoTimes), "{found:?}");
    }
}
