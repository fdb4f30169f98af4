//! The program's own actions, separated from those of the allocator: requests, frees, `empty_cache()`.
//!
//! A trace shows that segments were returned to CUDA, but not why. Stacks are conclusive: they contain `empty_cache`, or
//! they equal the stack of the following request. Without stacks, a release directly before memory is obtained from the device, or
//! before a request fails, is assumed to serve that request. All others are assumed to be the program's `empty_cache()`.

use vramscope_core::analysis::memory::releases::stacks_of_empty_cache;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::history::{History, NEVER};
use vramscope_core::ids::{AllocationId, EventId, StackId};
use vramscope_core::model::{Action, PoolId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Malloc(AllocationId),
    /// A request that failed; its size is rounded.
    Refused {
        bytes: u64,
        stream: i64,
        pool: PoolId,
    },
    /// A free after which other streams may still be using the block.
    FreeRequested(AllocationId),
    /// A free that completes: the block can be used again.
    Free(AllocationId),
    EmptyCache,
    /// A private pool is released, and nothing will be allocated from it again.
    ReleasePool(PoolId),
    /// Nothing will be allocated from a private pool again. From here on the allocator may return its memory to CUDA.
    Abandon(PoolId),
    /// No action of the program: the allocator returns memory to CUDA for the following request.
    ForRequest,
}

/// The actions of a program on one device. Always used with the device from which they were read.
pub(super) struct Program {
    /// The reason of each run of releases, by the moment of its first event.
    releases: Vec<(u32, Call)>,
    /// Frees that completed only because a request waited for all streams: (moment of completion, moment of the
    /// request, allocation), ascending.
    awaited: Vec<(u32, u32, AllocationId)>,
}

impl Program {
    pub(super) fn of(device: Device<'_>) -> Self {
        Self {
            releases: releases(device),
            awaited: Vec::new(),
        }
    }

    /// Moves frees that completed because a request waited for all streams behind that request, because an allocator
    /// with other settings may not have to wait.
    pub(super) fn with_late_frees(mut self, device: Device<'_>) -> Self {
        self.awaited = awaited(device, &self.releases);
        self
    }

    /// Requested bytes, stream and pool of an allocation.
    pub(super) fn request(device: Device<'_>, id: AllocationId) -> (u64, i64, PoolId) {
        let row = id.index();
        let bytes = device.history.allocations.bytes[row];
        (
            bytes,
            device.stream_of()[row].unwrap_or(0),
            device.pool_of()[row].unwrap_or_default(),
        )
    }

    /// Calls `each` with the program's actions in the event before a moment.
    pub(super) fn calls(&self, device: Device<'_>, moment: u32, mut each: impl FnMut(Call)) {
        let (snapshot, history) = (device.snapshot(), device.history);
        let first = self.releases.partition_point(|&(at, _)| at < moment);
        let now = self.releases[first..].iter();
        for &(_, call) in now.take_while(|&&(at, _)| at == moment) {
            each(call);
        }
        let displaced = device.displaced();
        let first = displaced.partition_point(|&(at, _)| at < moment);
        let now = displaced[first..].iter();
        for &(_, id) in now.take_while(|&&(at, _)| at == moment) {
            each(Call::Free(id));
        }
        let row = (history.first_event + moment - 1) as usize;
        let id = AllocationId(history.allocation_of_event[moment as usize - 1]);
        match snapshot.events.action[row] {
            Action::Alloc if id.0 != u32::MAX => each(Call::Malloc(id)),
            Action::FreeRequested | Action::FreeCompleted if id.0 != u32::MAX => {
                if self
                    .awaited
                    .binary_search_by_key(&moment, |&(at, ..)| at)
                    .is_ok()
                {
                } else if history.allocations.died[id.index()] == moment {
                    each(Call::Free(id));
                } else {
                    each(Call::FreeRequested(id));
                }
            }
            Action::Oom => {
                let context = snapshot.contexts.get(snapshot.events.context[row]);
                each(Call::Refused {
                    bytes: snapshot.events.size[row],
                    stream: context.stream,
                    pool: context.pool.unwrap_or_default(),
                });
            }
            _ => return,
        }
        let first = self.awaited.partition_point(|&(_, at, _)| at < moment);
        for &(.., id) in self.awaited[first..]
            .iter()
            .take_while(|&&(_, at, _)| at == moment)
        {
            each(Call::Free(id));
        }
    }
}

/// Whether an allocation's free completed later than with its own free event.
pub(super) fn is_late(history: &History, id: AllocationId, died: u32) -> bool {
    let requested = history.allocations.free_requested[id.index()];
    requested != NEVER && requested + 1 < died
}

/// The allocations that were live when the recording began, in the assumed order of their requests: by address, because
/// segments are filled upwards and newer segments mostly lie above older ones.
pub(super) fn live_at_start(history: &History) -> Vec<AllocationId> {
    let before = (0..history.before_recording).map(AllocationId);
    let mut live: Vec<_> = before.filter(|&id| history.is_live(id, 0)).collect();
    live.sort_by_key(|&id| history.allocations.address[id.index()]);
    live
}

/// The reasons of all runs of releases.
fn releases(device: Device<'_>) -> Vec<(u32, Call)> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let events = &snapshot.events;
    let emptying = stacks_of_empty_cache(snapshot);
    let has_own = frees_have_stacks(device);
    let row = |moment: u32| (history.first_event + moment - 1) as usize;
    let mut releases = Vec::new();
    let mut moment = 1;
    // The moment of the next event that is neither a release nor a completed free. It only ever increases.
    let mut other = 1;
    while moment <= history.event_count {
        let first = moment;
        let stack = events.stack[row(first)];
        while moment <= history.event_count
            && is_release(events.action[row(moment)])
            && (!has_own || events.stack[row(moment)] == stack)
        {
            moment += 1;
        }
        if moment == first {
            moment += 1;
            continue;
        }
        other = other.max(moment);
        while other <= history.event_count && is_between(events.action[row(other)]) {
            other += 1;
        }
        let empties = emptying.get(stack.index()).copied().unwrap_or(false);
        let is_for_request = !empties && serves(device, other, stack, has_own);
        let mut pools: Vec<_> = (first..moment)
            .map(|moment| {
                let context = snapshot.contexts.get(events.context[row(moment)]);
                context.pool.filter(|pool| pool.is_private())
            })
            .collect();
        pools.sort_unstable();
        pools.dedup();
        let of_default = empties || pools.first() == Some(&None);
        for pool in pools.into_iter().flatten() {
            let call = if is_for_request {
                Call::Abandon(pool)
            } else {
                Call::ReleasePool(pool)
            };
            releases.push((first, call));
        }
        if is_for_request {
            releases.push((first, Call::ForRequest));
        } else if of_default {
            releases.push((first, Call::EmptyCache));
        }
    }
    releases
}

fn is_release(action: Action) -> bool {
    action.maps() == Some(false)
}

/// Whether such an event may lie between a release and the request that it serves.
fn is_between(action: Action) -> bool {
    action == Action::FreeCompleted || is_release(action)
}

/// Whether the event before a moment is the request served by a release with this stack. `has_own`: frees have stacks of
/// their own.
fn serves(device: Device<'_>, moment: u32, stack: StackId, has_own: bool) -> bool {
    let (snapshot, history) = (device.snapshot(), device.history);
    let events = &snapshot.events;
    if moment > history.event_count {
        return false;
    }
    let next = (history.first_event + moment - 1) as usize;
    let after = events.stack[next];
    let is_known = has_own && stack.has_frames() && after.has_frames();
    let action = events.action[next];
    let is_served = action.maps() == Some(true) || action == Action::Oom;
    is_served && (!is_known || after == stack)
}

/// Frees that complete just before memory is returned to CUDA for a request.
fn awaited(device: Device<'_>, releases: &[(u32, Call)]) -> Vec<(u32, u32, AllocationId)> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let action = |moment: u32| snapshot.events.action[(history.first_event + moment - 1) as usize];
    let mut awaited = Vec::new();
    // Releases ascend, so the search for the request that each served never starts over.
    let mut served = 1;
    for &(first, call) in releases {
        if call != Call::ForRequest {
            continue;
        }
        served = served.max(first);
        while served <= history.event_count
            && !matches!(action(served), Action::Alloc | Action::Oom)
        {
            served += 1;
        }
        if served > history.event_count {
            break;
        }
        for moment in (1..first).rev() {
            let id = AllocationId(history.allocation_of_event[moment as usize - 1]);
            if action(moment) != Action::FreeCompleted
                || id.0 == u32::MAX
                || !is_late(history, id, moment)
            {
                break;
            }
            awaited.push((moment, served, id));
        }
    }
    awaited.sort_unstable();
    awaited.dedup();
    awaited
}

/// Whether frees carry the stack of the free. With `context="alloc"` they carry the stack of the allocation.
fn frees_have_stacks(device: Device<'_>) -> bool {
    let (snapshot, history) = (device.snapshot(), device.history);
    let stack = |event: Option<EventId>| event.map(|event| snapshot.events.stack[event.index()]);
    (0..history.allocations.len())
        .map(AllocationId::from_index)
        .any(|id| {
            let alloc = stack(history.alloc_event(id));
            let free = stack(history.free_requested_event(id));
            alloc.is_some() && free.is_some_and(StackId::has_frames) && alloc != free
        })
}
