//! One device of a recording, with the results that several analyses share.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use super::Recording;
use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::code::operators::{OperatorId, Operators};
use crate::analysis::memory::allocator_state::{
    AllocatorIndex, AllocatorState, BlockSizes, FinalCheck, Replayed, Stepper, check_final,
};
use crate::analysis::memory::capacity::{Capacity, capacity, may_be_stated};
use crate::analysis::memory::pool_usage::PoolUsage;
use crate::analysis::memory::pools::PoolMember;
use crate::analysis::memory::segment_history::SegmentHistory;
use crate::analysis::memory::streams_and_pools::{self, FewValues};
use crate::analysis::roles::{Phases, RoleEvidence, RuleId, infer, repetitions};
use crate::analysis::time::annotations::NamedRange;
use crate::analysis::time::history::{History, StackSource, is_reserved_known};
use crate::analysis::time::lanes::{
    FEW_STEPS, Lanes, StepGrowth, Steps, StepsBy, repeated_steps, steps,
};
use crate::analysis::time::markers::{MarkerKind, Markers};
use crate::analysis::time::range_totals::RangeSums;
use crate::analysis::time::replay::Replay;
use crate::analysis::time::trace_names::{Step, trace_steps};
use crate::ids::{AllocationId, ContextId, StackId, StringId};
use crate::model::{Action, Context, DeviceIndex, PoolId, Profile, ProfileKind};

/// Results about one device, each computed on first use. Columns have one value per allocation.
#[derive(Default)]
pub(super) struct Prepared {
    site_of: OnceLock<Vec<CallSiteId>>,
    operator_of: OnceLock<Vec<OperatorId>>,
    stack_of: OnceLock<Vec<StackId>>,
    context_of: OnceLock<Vec<ContextId>>,
    stream_of: OnceLock<FewValues<i64>>,
    pool_of: OnceLock<FewValues<PoolId>>,
    notes: OnceLock<Vec<(AllocationId, StringId)>>,
    rule_of: OnceLock<Vec<RuleId>>,
    told: OnceLock<Told>,
    markers: OnceLock<Markers>,
    pool_usage: OnceLock<PoolUsage>,
    capacity: OnceLock<Option<Capacity>>,
    sums: OnceLock<RangeSums>,
    steps: OnceLock<Option<Steps>>,
    segments: OnceLock<SegmentHistory>,
    replay: OnceLock<Replay>,
    allocator: OnceLock<AllocatorIndex>,
}

/// Results from ranges. Phases are inferred where no recorded range covers the events.
#[derive(Clone)]
struct Told {
    lanes: Lanes,
    phases: Phases,
}

/// One device of a recording.
#[derive(Clone, Copy)]
pub struct Device<'a> {
    /// The recording that the device belongs to.
    pub recording: &'a Recording,
    /// The device's allocations over time.
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

    /// The snapshot of the whole file.
    #[must_use]
    pub fn snapshot(self) -> &'a Snapshot {
        &self.recording.snapshot
    }

    /// The device's number in the file.
    #[must_use]
    pub fn index(self) -> DeviceIndex {
        self.history.device
    }

    /// Whether it is the host's memory, in a file that also has a device of another kind.
    #[must_use]
    pub fn is_host_beside_others(self) -> bool {
        let snapshot = self.snapshot();
        let mut all = self.recording.devices();
        snapshot.is_host(self.index()) && all.any(|device| !snapshot.is_host(device.index()))
    }

    /// Its name in titles: `device 0`, or `device 1 (CPU)`.
    #[must_use]
    pub fn title(self) -> String {
        self.snapshot().device_title(self.index())
    }

    /// Requested bytes of all live allocations at the peak.
    #[must_use]
    pub fn peak_bytes(self) -> u64 {
        self.history.peak_bytes()
    }

    /// Whether the events have times.
    #[must_use]
    pub fn has_times(self) -> bool {
        !self.history.moment_start_us.is_empty()
    }

    /// The time at which a moment begins, in µs since the Unix epoch and in µs since the first event. `None` if the
    /// file has no times, or the moment is after the last one.
    #[must_use]
    pub fn time(self, moment: u32) -> Option<(i64, i64)> {
        let at = self.history.moment_start_us.get(moment)?;
        Some((at, self.since_start_us(at)?))
    }

    /// µs from the first event that has a time to `time_us`, both since the Unix epoch. `None` without times.
    #[must_use]
    pub fn since_start_us(self, time_us: i64) -> Option<i64> {
        let first = self.history.moment_start_us.first()?;
        Some(time_us.saturating_sub(first))
    }

    /// Whether the file says anything about segments, in the final state or by events.
    #[must_use]
    pub fn knows_segments(self) -> bool {
        self.history.most_reserved_bytes() > 0
    }

    /// Whether the file would record a failed request: it has a trace, and is not a profiler's memory timeline.
    #[must_use]
    pub fn tells_failures(self) -> bool {
        let profile = Profile::of(self.snapshot());
        self.history.has_trace() && profile.is_none_or(|it| it.kind == ProfileKind::Trace)
    }

    /// Number of [failed requests](Self::failed_requests), 0 within pools; `None` if the file would not record one.
    #[must_use]
    pub fn failures(self) -> Option<u64> {
        self.tells_failures()
            .then(|| self.failed_requests().len() as u64)
    }

    /// Whether the file records the reserved memory at each moment.
    #[must_use]
    pub fn is_reserved_known(self) -> bool {
        is_reserved_known(self.history.most_reserved_bytes(), self.peak_bytes())
    }

    /// The most reserved bytes: of segments, or else the highest total that a profile states. `None` if the file has
    /// neither.
    #[must_use]
    pub fn peak_reserved_bytes(self) -> Option<u64> {
        if self.is_reserved_known() {
            return Some(self.history.most_reserved_bytes());
        }
        let profile = Profile::of(self.snapshot())?;
        profile.device(self.index())?.peak_reserved_bytes
    }

    /// Whether the final state has segments.
    #[must_use]
    pub fn has_final_segments(self) -> bool {
        let segments = &self.snapshot().segments;
        i32::try_from(self.index()).is_ok_and(|index| segments.of_device(index).next().is_some())
    }

    /// Whether the file has no segment of the device at all. After all were released the final state has none either,
    /// but the trace has their events.
    #[must_use]
    pub fn is_without_segments(self) -> bool {
        !self.knows_segments() && !self.has_final_segments()
    }

    /// Bytes of all segments at a moment; `None` if the file says nothing about segments.
    #[must_use]
    pub fn reserved_bytes(self, moment: u32) -> Option<u64> {
        self.knows_segments()
            .then(|| self.history.reserved_bytes(moment))
    }

    /// Whether an allocation with this id exists.
    #[must_use]
    pub fn has(self, allocation: AllocationId) -> bool {
        allocation.index() < self.history.allocations.len()
    }

    /// The call sites of all devices.
    #[must_use]
    pub fn call_sites(self) -> &'a CallSites {
        self.recording.call_sites()
    }
}

/// Columns over the allocations.
impl<'a> Device<'a> {
    /// The call site of each allocation, from the recording's [`call_sites`](Self::call_sites).
    #[must_use]
    pub fn site_of(self) -> &'a [CallSiteId] {
        self.prepared.site_of.get_or_init(|| {
            let sites = self.call_sites();
            sites.of_allocations(self.snapshot(), self.history)
        })
    }

    /// The operators of all stacks.
    pub fn operators(self) -> &'a Operators {
        self.recording.operators()
    }

    /// The operator that made each allocation, a row of [`operators`](Self::operators).
    #[must_use]
    pub fn operator_of(self) -> &'a [OperatorId] {
        let operator = |id| self.operator(id);
        self.prepared
            .operator_of
            .get_or_init(|| self.allocations().map(operator).collect())
    }

    /// The operator that made an allocation, without computing all others; [`OperatorId::NONE`] if only the code that
    /// freed it is known.
    #[must_use]
    pub fn operator(self, allocation: AllocationId) -> OperatorId {
        match self.history.stack(self.snapshot(), allocation) {
            (_, StackSource::Free) if self.recording.frees_tell() => OperatorId::NONE,
            (stack, _) => self.operators().of_stack(stack),
        }
    }

    /// The stack of each allocation, see [`History::stack`].
    #[must_use]
    pub fn stack_of(self) -> &'a [StackId] {
        let stack = |id| self.history.stack(self.snapshot(), id).0;
        self.prepared
            .stack_of
            .get_or_init(|| self.allocations().map(stack).collect())
    }

    /// The context of each allocation's event; [`ContextId::ABSENT`] if none of its events was recorded.
    #[must_use]
    pub fn context_of(self) -> &'a [ContextId] {
        let context = |id| {
            let context = streams_and_pools::context_id_of(self.snapshot(), self.history, id);
            context.unwrap_or(ContextId::ABSENT)
        };
        self.prepared
            .context_of
            .get_or_init(|| self.allocations().map(context).collect())
    }

    /// The context of an allocation's event; `None` if none of its events was recorded.
    #[must_use]
    pub fn context(self, allocation: AllocationId) -> Option<&'a Context> {
        let context = self.context_of().get(allocation.index()).copied();
        let known = context.filter(|&context| context != ContextId::ABSENT)?;
        Some(self.snapshot().contexts.get(known))
    }

    /// The handle of the stream of each allocation; `None` if unknown.
    #[must_use]
    pub fn stream_of(self) -> &'a FewValues<i64> {
        self.prepared.stream_of.get_or_init(|| {
            let of_context = |context: &Context| Some(context.stream);
            let of_segment = |segment: &crate::model::Segment| segment.stream;
            streams_and_pools::few_values(self.snapshot(), self.history, of_context, of_segment)
        })
    }

    /// The memory pool of each allocation; `None` if unknown.
    #[must_use]
    pub fn pool_of(self) -> &'a FewValues<PoolId> {
        self.prepared.pool_of.get_or_init(|| {
            let of_context = |context: &Context| context.pool;
            let of_segment = |segment: &crate::model::Segment| segment.pool;
            streams_and_pools::few_values(self.snapshot(), self.history, of_context, of_segment)
        })
    }

    /// The rule that gave each allocation its role.
    #[must_use]
    pub fn rule_of(self) -> &'a [RuleId] {
        self.prepared.rule_of.get_or_init(|| {
            infer(RoleEvidence {
                snapshot: self.snapshot(),
                history: self.history,
                phases: self.phases(),
                signals: self.recording.signals(),
                frees_tell: self.recording.frees_tell(),
            })
        })
    }

    /// Allocations and the texts that `annotate` events attached to them, in the order of the events.
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

    /// The allocations whose pool is known.
    pub(super) fn pool_members(self) -> impl Iterator<Item = PoolMember<'a>> {
        let pools = self.pool_of().iter().zip(self.allocations());
        pools.filter_map(move |(&pool, id)| {
            let row = id.index();
            Some(PoolMember {
                pool: pool?,
                bytes: self.history.allocations.bytes[row],
                stream: self.stream_of()[row],
                stack: self.stack_of()[row],
                site: self.site_of()[row],
                context: self.context(id),
            })
        })
    }

    /// All allocations, in stacking order.
    pub fn allocations(self) -> impl Iterator<Item = AllocationId> {
        (0..self.history.allocations.len()).map(AllocationId::from_index)
    }
}

/// Results about the course of time.
impl<'a> Device<'a> {
    /// The moments after each failed request, ascending. None [within pools](Recording::within_pools), because a
    /// failure concerns the whole device.
    #[must_use]
    pub fn failed_requests(self) -> &'a [u32] {
        if self.recording.is_part {
            return &[];
        }
        self.oom_moments()
    }

    /// The moments after each failed request of the device in any pool, ascending.
    #[must_use]
    pub fn oom_moments(self) -> &'a [u32] {
        &self.markers().column(MarkerKind::Oom).moments
    }

    /// The annotated ranges.
    pub fn ranges(self) -> impl Iterator<Item = &'a NamedRange> + Clone {
        let here = i64::from(self.index());
        let ranges = self.recording.ranges().iter();
        ranges.filter(move |range| i64::from(range.device) == here)
    }

    /// The annotated and the inferred ranges, arranged in lanes.
    #[must_use]
    pub fn lanes(self) -> &'a Lanes {
        &self.told().lanes
    }

    /// The phases of the program, inferred from stacks; empty if no stack shows any.
    #[must_use]
    pub fn phases(self) -> &'a Phases {
        &self.told().phases
    }

    /// The results that a recording [within pools](Recording::within_pools) takes over from this device: roles, phases,
    /// the moments of steps and failures, and the capacity. `ids` are the numbers of its allocations here.
    pub(super) fn told_within_pools(
        self,
        inner: Device<'_>,
        ids: Option<Vec<AllocationId>>,
    ) -> Prepared {
        let rules = ids.map(|ids| {
            let rules = ids.into_iter().map(|id| self.rule_of()[id.index()]);
            OnceLock::from(rules.collect::<Vec<_>>())
        });
        let markers = Markers::of(inner.snapshot(), inner.history);
        let steps = self.steps();
        let steps = steps.map(|steps| steps.totalled(inner.history, inner.sums()));
        Prepared {
            rule_of: rules.unwrap_or_default(),
            told: self.told().clone().into(),
            markers: markers.on_device(self.markers()).into(),
            capacity: self.capacity().into(),
            steps: steps.into(),
            ..Prepared::default()
        }
    }

    fn told(self) -> &'a Told {
        self.prepared.told.get_or_init(|| {
            let (recording, history) = (self.recording, self.history);
            let recorded = Lanes::of(self.snapshot(), history);
            let phases = Phases::of(
                self.snapshot(),
                history,
                &recorded,
                recording.signals(),
                recording.frees_tell(),
            );
            let lanes = recorded.with_phases(history, phases.unnamed());
            Told { lanes, phases }
        })
    }

    /// The moments that a time axis marks.
    #[must_use]
    pub fn markers(self) -> &'a Markers {
        let markers = || Markers::of(self.snapshot(), self.history);
        self.prepared.markers.get_or_init(markers)
    }

    /// Prefix sums that give the totals of any range of moments.
    #[must_use]
    pub fn sums(self) -> &'a RangeSums {
        let sums = || RangeSums::of(self.history);
        self.prepared.sums.get_or_init(sums)
    }

    /// The events in order, each with the name that torch's `trace` gives to its allocation or segment.
    pub fn trace_steps(self) -> impl Iterator<Item = Step> + use<'a> {
        trace_steps(self.snapshot(), self.history)
    }

    /// The steps; `None` if no range looks like a step and no code repeats.
    #[must_use]
    pub fn steps(self) -> Option<&'a Steps> {
        let repeated = || {
            let signals = self.recording.signals();
            let begins = repetitions(self.snapshot(), self.history, signals);
            let by = StepsBy::InferredRepetition;
            repeated_steps(self.history, self.sums(), by, &begins)
        };
        let passes = || {
            let begins = self.phases().forward_passes()?;
            if !self.begin_alike(&begins) {
                return None;
            }
            let by = StepsBy::InferredForward;
            repeated_steps(self.history, self.sums(), by, &begins)
        };
        let named = || steps(self.snapshot(), self.history, self.lanes(), self.sums());
        let found = || named().or_else(repeated).or_else(passes);
        self.prepared.steps.get_or_init(found).as_ref()
    }

    /// Whether enough passes, given by the moment before each, begin with the same code. Otherwise they are parts of
    /// one pass.
    fn begin_alike(self, begins: &[u32]) -> bool {
        let mut times: HashMap<Option<StackId>, usize> = HashMap::new();
        begins.iter().any(|&begin| {
            let times = times.entry(self.stack_after(begin)).or_default();
            *times += 1;
            *times >= FEW_STEPS
        })
    }

    /// The stack of the event after a moment; `None` after the last one.
    pub(crate) fn stack_after(self, moment: u32) -> Option<StackId> {
        let row = (self.history.first_event + moment) as usize;
        self.snapshot().events.stack.get(row).copied()
    }

    /// The growth of live memory per step. `None` with too few steps, or if frees may be missing.
    #[must_use]
    pub fn growth(self) -> Option<StepGrowth> {
        let knows_frees = !self.snapshot().warnings.hide_frees();
        self.steps().filter(|_| knows_frees)?.growth()
    }
}

/// Segments and the allocator's state.
impl<'a> Device<'a> {
    /// All memory that was reserved from the device during the recording.
    #[must_use]
    pub fn segments(self) -> &'a SegmentHistory {
        let segments = || SegmentHistory::of(self.snapshot(), self.history);
        self.prepared.segments.get_or_init(segments)
    }

    /// Random access to segments and live allocations at any moment.
    #[must_use]
    pub fn replay(self) -> &'a Replay {
        let replay = || Replay::of(self.snapshot(), self.history);
        self.prepared.replay.get_or_init(replay)
    }

    /// The device's memory, over all pools; `None` if unknown.
    #[must_use]
    pub fn capacity(self) -> Option<Capacity> {
        let known = || capacity(self.snapshot(), self.history, self.failed_requests());
        *self.prepared.capacity.get_or_init(known)
    }

    /// What the driver reported about all memory pools; empty [within pools](Recording::within_pools).
    #[must_use]
    pub fn pool_usage(self) -> &'a PoolUsage {
        self.prepared
            .pool_usage
            .get_or_init(|| match self.recording.is_within_pools() {
                true => PoolUsage::default(),
                false => PoolUsage::of(self.snapshot(), self.history),
            })
    }

    /// Whether the file may state the device's memory. Cheaper than [`capacity`](Self::capacity).
    #[must_use]
    pub fn may_state_capacity(self) -> bool {
        may_be_stated(self.snapshot(), self.index())
    }

    /// The block sizes of all allocations.
    #[must_use]
    pub fn block_sizes(self) -> &'a BlockSizes {
        &self.allocator().sizes
    }

    /// Allocations that ended by an event of another allocation, as (moment, allocation), ascending.
    #[must_use]
    pub fn displaced(self) -> &'a [(u32, AllocationId)] {
        &self.allocator().displaced
    }

    /// The allocator's segments and blocks at a moment. Moments after the last one count as the last one.
    #[must_use]
    pub fn state_at(self, moment: u32) -> AllocatorState {
        self.allocator().state_at(self.replayed(), moment)
    }

    /// Like [`state_at`](Self::state_at), as a state that can be moved to other moments.
    #[must_use]
    pub fn stepper_at(self, moment: u32) -> Stepper {
        Stepper::at(self.replayed(), self.allocator(), moment)
    }

    /// Moves a state of this device to another moment. Costs little if the moment is near. Moments after the last one
    /// count as the last one.
    pub fn move_to(self, stepper: &mut Stepper, moment: u32) {
        stepper.go_to(self.replayed(), self.allocator(), moment);
    }

    /// Compares the state after the last event with the final state in the file. Meaningless for a file without
    /// segments.
    #[must_use]
    pub fn final_check(self) -> FinalCheck {
        let last = self.state_at(self.history.event_count);
        check_final(self.snapshot(), self.index(), &last)
    }

    fn allocator(self) -> &'a AllocatorIndex {
        let index = || AllocatorIndex::of(self.snapshot(), self.replayed());
        self.prepared.allocator.get_or_init(index)
    }

    fn replayed(self) -> Replayed<'a> {
        Replayed {
            history: self.history,
            replay: self.replay(),
        }
    }
}

impl fmt::Debug for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {}", self.index())
    }
}
