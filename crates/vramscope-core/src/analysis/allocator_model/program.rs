//! What the program did, apart from what the allocator made of it: requests, frees, `empty_cache()`.
//!
//! A trace shows segments being given back, but not why. With stacks it is certain: `empty_cache` is on them, or
//! they are those of the request that follows. Without, what is given back just before memory is asked of CUDA, or
//! a request is refused, is taken as given back for that request, and all else as the program's wish.

use crate::analysis::allocator_state::{Recording, displaced};
use crate::analysis::places;
use crate::analysis::releases::stacks_of_empty_cache;
use crate::ids::{AllocationId, EventId, StackId};
use crate::model::{Action, PoolId};

/// Something a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// A request that was served.
    Malloc(AllocationId),
    /// A request that failed; rounded.
    Refused {
        bytes: u64,
        stream: i64,
        pool: PoolId,
    },
    /// A free; other streams may still be using the block.
    FreeRequested(AllocationId),
    /// The block can be used again.
    Free(AllocationId),
    /// `empty_cache()`.
    EmptyCache,
    /// The same for one private pool, which nobody will allocate from again.
    ReleasePool(PoolId),
}

/// A device's program.
pub(super) struct Program<'a> {
    pub(super) recording: Recording<'a>,
    /// Allocation → its pool.
    pools: Vec<Option<PoolId>>,
    /// Allocation → its stream.
    streams: Vec<Option<i64>>,
    /// Allocations that end by an event of another one: (moment, allocation), ascending.
    displaced: Vec<(u32, AllocationId)>,
    /// What the program gave back: (moment of the first event, pool), ascending.
    emptied: Vec<(u32, Option<PoolId>)>,
}

impl<'a> Program<'a> {
    pub(super) fn of(recording: Recording<'a>) -> Self {
        let Recording {
            snapshot, history, ..
        } = recording;
        Self {
            recording,
            pools: places::column(
                snapshot,
                history,
                |context| context.pool,
                |segment| segment.pool,
            ),
            streams: places::column(
                snapshot,
                history,
                |context| Some(context.stream),
                |segment| segment.stream,
            ),
            displaced: displaced(recording),
            emptied: emptied(recording),
        }
    }

    /// An allocation's requested bytes, stream and pool.
    pub(super) fn request(&self, id: AllocationId) -> (u64, i64, PoolId) {
        let row = id.index();
        let bytes = self.recording.history.allocations.bytes[row];
        (
            bytes,
            self.streams[row].unwrap_or(0),
            self.pools[row].unwrap_or_default(),
        )
    }

    /// What was live when the recording began, in the order in which it is taken to have been asked for: what
    /// outlives the recording by address, then what is freed last.
    pub(super) fn live_at_start(&self) -> impl Iterator<Item = AllocationId> {
        let before = self.recording.history.before_recording;
        let history = self.recording.history;
        (0..before)
            .map(AllocationId)
            .filter(|&id| history.is_live(id, 0))
    }

    /// What the event before a moment says that the program did.
    pub(super) fn calls(&self, moment: u32, mut each: impl FnMut(Call)) {
        let Recording {
            snapshot, history, ..
        } = self.recording;
        let emptied = self.emptied.partition_point(|&(at, _)| at < moment);
        for &(_, pool) in self.emptied[emptied..]
            .iter()
            .take_while(|&&(at, _)| at == moment)
        {
            each(pool.map_or(Call::EmptyCache, Call::ReleasePool));
        }
        let first = self.displaced.partition_point(|&(at, _)| at < moment);
        for &(_, id) in self.displaced[first..]
            .iter()
            .take_while(|&&(at, _)| at == moment)
        {
            each(Call::Free(id));
        }
        let row = (history.first_event + moment - 1) as usize;
        let id = AllocationId(history.allocation_of_event[moment as usize - 1]);
        match snapshot.events.action[row] {
            Action::Alloc if id.0 != u32::MAX => each(Call::Malloc(id)),
            Action::FreeRequested | Action::FreeCompleted if id.0 != u32::MAX => {
                if history.allocations.died[id.index()] == moment {
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
            _ => {}
        }
    }
}

/// The program's releases: by the moment of each run's first event, the private pools that alone were meant.
fn emptied(recording: Recording<'_>) -> Vec<(u32, Option<PoolId>)> {
    let Recording {
        snapshot, history, ..
    } = recording;
    let events = &snapshot.events;
    let emptying = stacks_of_empty_cache(snapshot);
    let empties = |stack: StackId| emptying.get(stack.index()).copied().unwrap_or(false);
    let row = |moment: u32| EventId(history.first_event + moment - 1).index();
    let mut emptied = Vec::new();
    let mut moment = 1;
    while moment <= history.event_count {
        let first = moment;
        while moment <= history.event_count
            && matches!(
                events.action[row(moment)],
                Action::SegmentFree | Action::SegmentUnmap
            )
        {
            moment += 1;
        }
        if moment == first {
            moment += 1;
            continue;
        }
        let stack = events.stack[row(first)];
        let next = (moment <= history.event_count).then(|| row(moment));
        let is_served = next.is_some_and(|next| {
            let after = events.stack[next];
            let known = stack.has_frames() && after.has_frames();
            matches!(
                events.action[next],
                Action::SegmentAlloc | Action::SegmentMap | Action::Oom
            ) && (!known || after == stack)
        });
        if is_served && !empties(stack) {
            continue;
        }
        let pools = (first..moment).map(|moment| {
            let context = snapshot.contexts.get(events.context[row(moment)]);
            context.pool.filter(|pool| pool.is_private())
        });
        let mut pools: Vec<_> = pools.collect();
        pools.sort_unstable();
        pools.dedup();
        if empties(stack) || pools.first() == Some(&None) {
            pools = pools
                .into_iter()
                .flatten()
                .map(Some)
                .chain([None])
                .collect();
        }
        emptied.extend(pools.into_iter().map(|pool| (first, pool)));
    }
    emptied
}
