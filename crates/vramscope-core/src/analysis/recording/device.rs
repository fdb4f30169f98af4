//! One device of a recording, and the results that its questions share.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;

use super::Recording;
use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::memory::allocator_state::{self, AllocatorIndex, AllocatorState};
use crate::analysis::memory::places;
use crate::analysis::memory::segment_history::SegmentHistory;
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::{Lanes, Steps, steps};
use crate::analysis::time::markers::{Markers, failed_requests};
use crate::analysis::time::range_totals::RangeSums;
use crate::analysis::time::replay::Replay;
use crate::ids::{AllocationId, ContextId, StackId, StringId};
use crate::model::{Action, Context, DeviceIndex, PoolId};

/// Results about one device. Columns have a value per allocation.
#[derive(Default)]
pub(super) struct Prepared {
    site_of: OnceCell<Vec<CallSiteId>>,
    stack_of: OnceCell<Vec<StackId>>,
    context_of: OnceCell<Vec<ContextId>>,
    stream_of: OnceCell<Vec<Option<i64>>>,
    pool_of: OnceCell<Vec<Option<PoolId>>>,
    notes: OnceCell<Vec<(AllocationId, StringId)>>,
    failed_requests: OnceCell<Vec<u32>>,
    lanes: OnceCell<Lanes>,
    markers: OnceCell<Markers>,
    sums: OnceCell<RangeSums>,
    steps: OnceCell<Option<Steps>>,
    segments: OnceCell<SegmentHistory>,
    replay: OnceCell<Replay>,
    allocator: OnceCell<AllocatorIndex>,
}

/// One device of a recording.
#[derive(Clone, Copy)]
pub struct Device<'a> {
    /// The whole file.
    pub recording: &'a Recording,
    /// What happened on the device.
    pub history: &'a History,
    prepared: &'a Prepared,
}

impl<'a> Device<'a> {
    pub(super) fn new(
        recording: &'a Recording,
        history: &'a History,
        prepared: &'a Prepared,
    ) -> Self {
        Self {
            recording,
            history,
            prepared,
        }
    }

    /// The file's tables.
    #[must_use]
    pub fn snapshot(self) -> &'a Snapshot {
        &self.recording.snapshot
    }

    /// The device's number in the file.
    #[must_use]
    pub fn index(self) -> DeviceIndex {
        self.history.device
    }

    /// The most bytes that were ever live at once.
    #[must_use]
    pub fn peak_bytes(self) -> u64 {
        self.history.peak_bytes()
    }

    /// Whether the events have times.
    #[must_use]
    pub fn has_times(self) -> bool {
        !self.history.moment_start_us.is_empty()
    }

    /// When a moment begins: µs since the Unix epoch, and µs since the first event. `None` without times.
    #[must_use]
    pub fn time(self, moment: u32) -> Option<(i64, i64)> {
        let times = &self.history.moment_start_us;
        let (&first, &at) = (times.first()?, times.get(moment as usize)?);
        Some((at, at.saturating_sub(first)))
    }

    /// Whether anything is known of segments.
    #[must_use]
    pub fn knows_segments(self) -> bool {
        self.history.most_reserved_bytes() > 0
    }

    /// Bytes of all segments at a moment; `None` if the file has neither segments nor their events.
    #[must_use]
    pub fn reserved_bytes(self, moment: u32) -> Option<u64> {
        self.knows_segments()
            .then(|| self.history.reserved_bytes(moment))
    }

    /// Whether the device has this allocation.
    #[must_use]
    pub fn has(self, allocation: AllocationId) -> bool {
        allocation.index() < self.history.allocations.len()
    }

    /// Every place in the code that allocated, on any device.
    #[must_use]
    pub fn call_sites(self) -> &'a CallSites {
        self.recording.call_sites()
    }
}

/// Columns over the allocations.
impl<'a> Device<'a> {
    /// The call site of each allocation.
    #[must_use]
    pub fn site_of(self) -> &'a [CallSiteId] {
        self.prepared.site_of.get_or_init(|| {
            let sites = self.call_sites();
            sites.of_allocations(self.snapshot(), self.history)
        })
    }

    /// The stack of each allocation, from whichever record has one.
    #[must_use]
    pub fn stack_of(self) -> &'a [StackId] {
        let stack = |id| self.history.stack(self.snapshot(), id).0;
        self.prepared
            .stack_of
            .get_or_init(|| self.allocations().map(stack).collect())
    }

    /// The context of each allocation's event, [`ContextId::ABSENT`] where only the final state tells of it.
    #[must_use]
    pub fn context_of(self) -> &'a [ContextId] {
        let context = |id| {
            let context = places::context_id_of(self.snapshot(), self.history, id);
            context.unwrap_or(ContextId::ABSENT)
        };
        self.prepared
            .context_of
            .get_or_init(|| self.allocations().map(context).collect())
    }

    /// The context of one allocation's event, if it has one.
    #[must_use]
    pub fn context(self, allocation: AllocationId) -> Option<&'a Context> {
        let context = self.context_of().get(allocation.index()).copied();
        let known = context.filter(|&context| context != ContextId::ABSENT)?;
        Some(self.snapshot().contexts.get(known))
    }

    /// The stream of each allocation.
    #[must_use]
    pub fn stream_of(self) -> &'a [Option<i64>] {
        self.prepared.stream_of.get_or_init(|| {
            let of_context = |context: &Context| Some(context.stream);
            let of_segment = |segment: &crate::model::Segment| segment.stream;
            places::column(self.snapshot(), self.history, of_context, of_segment)
        })
    }

    /// The memory pool of each allocation.
    #[must_use]
    pub fn pool_of(self) -> &'a [Option<PoolId>] {
        self.prepared.pool_of.get_or_init(|| {
            let of_context = |context: &Context| context.pool;
            let of_segment = |segment: &crate::model::Segment| segment.pool;
            places::column(self.snapshot(), self.history, of_context, of_segment)
        })
    }

    /// The texts that `annotate` events attached to allocations, in the order of the events.
    #[must_use]
    pub fn notes(self) -> &'a [(AllocationId, StringId)] {
        self.prepared.notes.get_or_init(|| {
            let events = &self.snapshot().events;
            let rows = self.history.first_event as usize..;
            let notes = rows.zip(&self.history.allocation_of_event);
            let notes = notes.filter(|&(row, _)| events.action.get(row) == Some(&Action::Annotate));
            let notes = notes.filter_map(|(row, &allocation)| {
                let context = self.snapshot().contexts.get(events.context[row]);
                Some((AllocationId(allocation), context.user_metadata?))
            });
            notes
                .filter(|&(allocation, _)| self.has(allocation))
                .collect()
        })
    }

    fn allocations(self) -> impl Iterator<Item = AllocationId> {
        (0..self.history.allocations.len()).map(AllocationId::from_index)
    }
}

/// What happened when.
impl<'a> Device<'a> {
    /// The moments that begin with a failed request, ascending.
    #[must_use]
    pub fn failed_requests(self) -> &'a [u32] {
        let found = || failed_requests(self.snapshot(), self.history);
        self.prepared.failed_requests.get_or_init(found)
    }

    /// The ranges that the program named, in lanes.
    #[must_use]
    pub fn lanes(self) -> &'a Lanes {
        let lanes = || Lanes::of(self.snapshot(), self.history);
        self.prepared.lanes.get_or_init(lanes)
    }

    /// Moments worth a mark on the axis.
    #[must_use]
    pub fn markers(self) -> &'a Markers {
        let markers = || Markers::of(self.snapshot(), self.history);
        self.prepared.markers.get_or_init(markers)
    }

    /// Sums from which the totals of any range follow.
    #[must_use]
    pub fn sums(self) -> &'a RangeSums {
        let sums = || RangeSums::of(self.history);
        self.prepared.sums.get_or_init(sums)
    }

    /// The training steps, if any named range looks like one.
    #[must_use]
    pub fn steps(self) -> Option<&'a Steps> {
        let found = || steps(self.snapshot(), self.history, self.lanes(), self.sums());
        self.prepared.steps.get_or_init(found).as_ref()
    }
}

/// Where memory was.
impl<'a> Device<'a> {
    /// Every piece of memory that the device held from CUDA.
    #[must_use]
    pub fn segments(self) -> &'a SegmentHistory {
        let segments = || SegmentHistory::of(self.snapshot(), self.history);
        self.prepared.segments.get_or_init(segments)
    }

    /// Segments and live allocations at any moment.
    #[must_use]
    pub fn replay(self) -> &'a Replay {
        let replay = || Replay::of(self.snapshot(), self.history);
        self.prepared.replay.get_or_init(replay)
    }

    /// The index from which the allocator's state at any moment follows.
    #[must_use]
    pub fn allocator(self) -> &'a AllocatorIndex {
        let index = || AllocatorIndex::of(self.replayed());
        self.prepared.allocator.get_or_init(index)
    }

    /// The allocator's state at a moment.
    #[must_use]
    pub fn state_at(self, moment: u32) -> AllocatorState {
        self.allocator().state_at(self.replayed(), moment)
    }

    /// The device as the allocator's states take it.
    #[must_use]
    pub fn replayed(self) -> allocator_state::Recording<'a> {
        allocator_state::Recording {
            snapshot: self.snapshot(),
            history: self.history,
            replay: self.replay(),
        }
    }

    /// The number of each stream of the file by its handle.
    #[must_use]
    pub fn stream_numbers(self) -> HashMap<i64, u32> {
        self.recording.streams().iter().copied().zip(0..).collect()
    }
}

impl fmt::Debug for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}", self.index())
    }
}
