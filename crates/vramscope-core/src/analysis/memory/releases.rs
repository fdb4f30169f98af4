//! Segments that the allocator released to CUDA, and why, as far as stacks show it.
//!
//! PyTorch caches free segments. It releases them when the program calls `empty_cache()`, when
//! `garbage_collection_threshold` is exceeded, or when `cudaMalloc` fails: then it releases all cached segments and
//! tries again, which waits for the device. The trace has no event for such a retry. But segments released for a
//! request have the stack of that request, and segments released by `empty_cache` have `empty_cache` on their stack.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::allocator_rules::SMALL_SEGMENT_BYTES;
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::ids::{EventId, StackId};
use crate::model::{Action, PoolId};
use crate::sorting::SortFew;

/// Maximum number of runs; the largest are kept.
const RUNS_KEPT: usize = 256;

/// The reason for a release.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// To serve the request that follows: after a failed `cudaMalloc`, or by garbage collection.
    ForRequest,
    /// The program called `empty_cache()`.
    EmptyCache,
    /// Unknown: the stacks do not show it.
    Unknown,
}

/// Consecutive events that release segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReleaseRun {
    /// The moment before the first event.
    pub from: u32,
    /// The moment after the last event.
    pub to: u32,
    /// Released bytes.
    pub bytes: u64,
    /// Why they were released.
    pub cause: ReleaseCause,
    /// Whether the next event is a failed request.
    pub before_oom: bool,
}

/// Sums over the runs with the same cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReleaseTotal {
    /// Number of runs.
    pub runs: u64,
    /// Number of segment events in them.
    pub events: u64,
    /// Released bytes.
    pub bytes: u64,
}

/// Segments obtained from the device and released to it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Releases {
    /// `cudaMalloc` calls (`segment_alloc`).
    pub mallocs: u64,
    /// Bytes of the `segment_alloc` events.
    pub malloc_bytes: u64,
    /// `cudaFree` calls (`segment_free`).
    pub frees: u64,
    /// Bytes of the `segment_free` events.
    pub free_bytes: u64,
    /// Mappings into expandable segments (`segment_map`).
    pub maps: u64,
    /// Bytes of the `segment_map` events.
    pub map_bytes: u64,
    /// Unmappings from expandable segments (`segment_unmap`).
    pub unmaps: u64,
    /// Bytes of the `segment_unmap` events.
    pub unmap_bytes: u64,
    /// Segments obtained in place of released ones of the same pool, stream and size class, where the release did not
    /// serve a request.
    pub again: u64,
    /// Bytes of the segments counted in `again`.
    pub again_bytes: u64,
    /// Runs released to serve a request.
    pub for_request: ReleaseTotal,
    /// Runs released by `empty_cache()`.
    pub empty_cache: ReleaseTotal,
    /// Runs released for an unknown reason.
    pub unknown: ReleaseTotal,
    /// The runs with the most bytes, in order of time. At most 256.
    pub runs: Vec<ReleaseRun>,
}

/// Counts a device's segment events, and finds its releases.
#[must_use]
pub fn releases(snapshot: &Snapshot, history: &History) -> Releases {
    let mut found = Releases::default();
    let emptying = stacks_of_empty_cache(snapshot);
    let mut open: Option<Run> = None;
    // Segments given back and not yet obtained again.
    let mut given: HashMap<Kind, u64> = HashMap::new();
    for moment in 1..=history.event_count {
        let id = EventId(history.first_event + moment - 1);
        let Some(&action) = snapshot.events.action.get(id.index()) else {
            break;
        };
        let bytes = snapshot.events.size[id.index()];
        let stack = snapshot.events.stack[id.index()];
        match action {
            Action::SegmentFree | Action::SegmentUnmap => {
                found.count(action, bytes);
                open.get_or_insert_with(|| Run::new(moment, stack)).add(
                    bytes,
                    stack,
                    kind_of(snapshot, id),
                );
                continue;
            }
            _ => {}
        }
        if let Some(run) = open.take()
            && found.close(&run, Some((action, stack)), &emptying) != ReleaseCause::ForRequest
        {
            for kind in run.kinds {
                *given.entry(kind).or_default() += 1;
            }
        }
        if matches!(action, Action::SegmentAlloc | Action::SegmentMap) {
            found.count(action, bytes);
            let given = given.get_mut(&kind_of(snapshot, id));
            if let Some(given) = given.filter(|given| **given > 0) {
                *given -= 1;
                found.again += 1;
                found.again_bytes = found.again_bytes.saturating_add(bytes);
            }
        }
    }
    if let Some(run) = open {
        found.close(&run, None, &emptying);
    }
    found
        .runs
        .sort_few_by_key(|run| std::cmp::Reverse(run.bytes));
    found.runs.truncate(RUNS_KEPT);
    found.runs.sort_few_by_key(|run| run.from);
    found
}

/// A run that may continue.
struct Run {
    first: u32,
    events: u32,
    bytes: u64,
    /// The stack of its events; `None` if they differ.
    stack: Option<StackId>,
    kinds: Vec<Kind>,
}

/// The requests that a segment serves: pool, stream, and whether they are small.
type Kind = (Option<PoolId>, i64, bool);

fn kind_of(snapshot: &Snapshot, id: EventId) -> Kind {
    let event = snapshot.events.get(id);
    let context = snapshot.contexts.get(event.context);
    (
        context.pool,
        context.stream,
        event.size <= SMALL_SEGMENT_BYTES,
    )
}

impl Run {
    fn new(first: u32, stack: StackId) -> Self {
        Self {
            first,
            events: 0,
            bytes: 0,
            stack: Some(stack),
            kinds: Vec::new(),
        }
    }

    fn add(&mut self, bytes: u64, stack: StackId, kind: Kind) {
        self.kinds.push(kind);
        self.events += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.stack = self.stack.filter(|&shared| shared == stack);
    }
}

impl Releases {
    fn count(&mut self, action: Action, size: u64) {
        let (number, bytes) = match action {
            Action::SegmentAlloc => (&mut self.mallocs, &mut self.malloc_bytes),
            Action::SegmentFree => (&mut self.frees, &mut self.free_bytes),
            Action::SegmentMap => (&mut self.maps, &mut self.map_bytes),
            _ => (&mut self.unmaps, &mut self.unmap_bytes),
        };
        *number += 1;
        *bytes = bytes.saturating_add(size);
    }

    fn close(
        &mut self,
        run: &Run,
        next: Option<(Action, StackId)>,
        emptying: &[bool],
    ) -> ReleaseCause {
        let stack = run.stack.filter(|stack| stack.has_frames());
        let empties = |stack: StackId| emptying.get(stack.index()).copied().unwrap_or(false);
        let serves = |action| {
            matches!(
                action,
                Action::Alloc | Action::SegmentAlloc | Action::SegmentMap | Action::Oom
            )
        };
        let cause = match (stack, next) {
            (Some(stack), _) if empties(stack) => ReleaseCause::EmptyCache,
            (Some(stack), Some((action, after))) if serves(action) && after == stack => {
                ReleaseCause::ForRequest
            }
            _ => ReleaseCause::Unknown,
        };
        let total = match cause {
            ReleaseCause::ForRequest => &mut self.for_request,
            ReleaseCause::EmptyCache => &mut self.empty_cache,
            ReleaseCause::Unknown => &mut self.unknown,
        };
        total.runs += 1;
        total.events += u64::from(run.events);
        total.bytes = total.bytes.saturating_add(run.bytes);
        self.runs.push(ReleaseRun {
            from: run.first - 1,
            to: run.first + run.events - 1,
            bytes: run.bytes,
            cause,
            before_oom: next.is_some_and(|(action, _)| action == Action::Oom),
        });
        // Sort only when there are twice as many as needed, so that memory and time stay bounded in a long trace.
        if self.runs.len() >= 2 * RUNS_KEPT {
            self.runs
                .sort_few_by_key(|run| std::cmp::Reverse(run.bytes));
            self.runs.truncate(RUNS_KEPT);
        }
        cause
    }
}

/// For each stack whether `empty_cache` is on it. Empty if no stack has it.
pub fn stacks_of_empty_cache(snapshot: &Snapshot) -> Vec<bool> {
    let frames: Vec<bool> = (0..snapshot.frames.len())
        .map(|row| {
            let frame = snapshot.frames.get(crate::ids::FrameId::from_index(row));
            let name = crate::analysis::code::frames::clip(snapshot.strings.get(frame.name), 256);
            name.contains("empty_cache") || name.contains("emptyCache")
        })
        .collect();
    if !frames.contains(&true) {
        return Vec::new();
    }
    let empties = |row| {
        let mut stack = snapshot.stacks.frames(StackId::from_index(row));
        stack.any(|frame| frames.get(frame.index()).copied().unwrap_or(false))
    };
    (0..snapshot.stacks.len()).map(empties).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use vramscope_synth::snapshot::Producer;
    use vramscope_synth::text;

    fn releases_of(story: &str) -> Releases {
        let bytes = text::pickle(story, Producer::Python(2, 12)).unwrap();
        let snapshot = decode(&bytes[..]).unwrap();
        releases(&snapshot, &History::of(&snapshot, 0))
    }

    #[test]
    fn a_retry_gives_back_for_its_own_request() {
        let found = releases_of(
            "capacity 100MiB\nalloc a 40MiB a.py:1:f\nalloc b 40MiB a.py:2:f\nfree a\nalloc c 60MiB a.py:9:g",
        );
        assert_eq!((found.mallocs, found.frees), (3, 1));
        assert_eq!(
            (found.malloc_bytes >> 20, found.free_bytes >> 20),
            (140, 40)
        );
        assert_eq!(
            (found.for_request.runs, found.for_request.bytes >> 20),
            (1, 40)
        );
        assert_eq!(found.empty_cache.runs + found.unknown.runs, 0);
        let [run] = found.runs[..] else {
            panic!("{found:?}")
        };
        assert!(!run.before_oom);
        assert_eq!(run.to, run.from + 1);
    }

    #[test]
    fn what_was_given_back_is_obtained_again() {
        let of = |more: &str| {
            releases_of(&format!(
                "alloc a 40MiB a.py:1:f\nalloc b 40MiB a.py:2:f\nfree a\nfree b\nempty_cache\n{more}"
            ))
        };
        assert_eq!(of("").again, 0, "what was obtained before does not count");
        assert_eq!(of("alloc c 40MiB a.py:3:f").again, 1);
        let all = of("alloc c 40MiB a.py:3:f\nalloc d 40MiB a.py:3:f\nalloc e 40MiB a.py:3:f");
        assert_eq!((all.again, all.again_bytes >> 20), (2, 80));
        let other = of("alloc c 40MiB stream=7 a.py:3:f\nalloc d 4KiB a.py:3:f");
        assert_eq!(other.again, 0, "another stream, and another size class");
    }

    #[test]
    fn what_goes_before_an_oom_is_said_so() {
        let found = releases_of(
            "capacity 100MiB\nalloc a 40MiB a.py:1:f\nalloc b 40MiB a.py:2:f\nfree a\nalloc c 90MiB a.py:9:g",
        );
        assert!(found.runs.iter().all(|run| run.before_oom), "{found:?}");
        assert_eq!(found.for_request.runs, 1);
    }

    #[test]
    fn a_release_of_another_stack_is_not_a_retry() {
        // The synthesised empty_cache() carries the stack that had obtained the segment.
        let found =
            releases_of("alloc a 40MiB a.py:1:f\nfree a\nempty_cache\nalloc b 60MiB a.py:2:f");
        assert_eq!((found.for_request.runs, found.unknown.runs), (0, 1));
        let found = releases_of(
            "alloc a 40MiB a.py:1:f > memory.py:9:empty_cache\nfree a\nempty_cache\nalloc b 60MiB a.py:2:f",
        );
        assert_eq!((found.empty_cache.runs, found.unknown.runs), (1, 0));
    }
}
