//! The allocator's state at any moment: mapped segments and live allocations.
//!
//! Events alone do not give the state before them. So the file's final state is undone event by event to find the first
//! state, and everything runs forwards from there. A keyframe is kept whenever the work since the last one has reached
//! its cost. So any moment is reached in time proportional to the number of live allocations, and all keyframes
//! together take less memory than the events.

mod ranges;

pub use self::ranges::MappedRange;
pub(crate) use self::ranges::Ranges;
use super::history::{AllocationTable, History};
use crate::Snapshot;
use crate::ids::AllocationId;
use crate::model::{Action, DeviceIndex};

/// Least distance between keyframes of live allocations, in moments.
const MIN_MOMENTS_BETWEEN: u32 = 4096;

/// Least distance between keyframes of live allocations, in moments per entry of the keyframe.
const MOMENTS_PER_ENTRY: u32 = 4;

/// Distance between keyframes of segments, in segment events per range of the keyframe.
const STEPS_PER_RANGE: usize = 2;

/// The state of one device at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// The moment.
    pub moment: u32,
    /// Memory held from the device, sorted by address. Touching ranges of expandable segments on the same stream
    /// are merged.
    pub segments: Vec<MappedRange>,
    /// Live allocations, ascending, including those whose free is pending.
    pub allocations: Vec<AllocationId>,
}

impl State {
    /// Bytes of all segments.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        self.segments
            .iter()
            .fold(0, |sum, range| sum.saturating_add(range.bytes))
    }
}

/// Random access to the states of one device.
pub struct Replay {
    /// Segment events that fit the state before them, oldest first.
    steps: Vec<SegmentStep>,
    /// (number of steps done, ranges then), ascending. The first is the state before any step.
    range_keyframes: Vec<(usize, Ranges)>,
    /// (moment, live allocations then), ascending. The first is at moment 0.
    live_keyframes: Vec<(u32, Vec<AllocationId>)>,
    /// Number of segment events that did not fit: their range was not mapped, or was already mapped.
    pub mismatched_segment_events: u64,
}

/// A change of the mapped ranges by one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentStep {
    /// The first moment after it.
    pub moment: u32,
    /// Whether the range was mapped, as opposed to given back.
    pub is_mapping: bool,
    /// The range as stated by the event.
    pub range: MappedRange,
}

impl Replay {
    /// Prepares the states of `history`'s device.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let mut steps = Vec::new();
        let (first, mismatched_segment_events) = undo(snapshot, history, |step| steps.push(step));
        steps.reverse();
        Self {
            range_keyframes: range_keyframes(first, &steps),
            live_keyframes: live_keyframes(history),
            steps,
            mismatched_segment_events,
        }
    }

    /// The state at a moment. `history` must be the one that the replay was made from.
    #[must_use]
    pub fn state_at(&self, history: &History, moment: u32) -> State {
        State {
            moment,
            segments: self.segments_at(moment),
            allocations: self.live_at(history, moment),
        }
    }

    /// The mapped ranges at a moment, by address.
    #[must_use]
    pub fn segments_at(&self, moment: u32) -> Vec<MappedRange> {
        let done = self.steps.partition_point(|step| step.moment <= moment);
        let keyframe = self
            .range_keyframes
            .partition_point(|&(steps, _)| steps <= done)
            .saturating_sub(1);
        let Some((from, ranges)) = self.range_keyframes.get(keyframe) else {
            return Vec::new();
        };
        let mut ranges = ranges.clone();
        for step in self.steps.get(*from..done).unwrap_or(&[]) {
            step.apply(&mut ranges);
        }
        ranges.to_vec()
    }

    /// The segment events that lead from one moment to a later one, oldest first, without events that do not fit the
    /// state before them.
    #[must_use]
    pub fn segment_steps(&self, from: u32, to: u32) -> &[SegmentStep] {
        let until = |moment| self.steps.partition_point(|step| step.moment <= moment);
        self.steps.get(until(from)..until(to)).unwrap_or(&[])
    }

    /// The live allocations at a moment, ascending.
    #[must_use]
    pub fn live_at(&self, history: &History, moment: u32) -> Vec<AllocationId> {
        let keyframe = self
            .live_keyframes
            .partition_point(|&(at, _)| at <= moment)
            .saturating_sub(1);
        match self.live_keyframes.get(keyframe) {
            Some((from, live)) => advance(&history.allocations, live, *from, moment),
            None => Vec::new(),
        }
    }
}

impl SegmentStep {
    fn apply(&self, ranges: &mut Ranges) {
        if self.is_mapping {
            ranges.insert(self.range);
        } else {
            ranges.remove(&self.range);
        }
    }
}

/// Computes only [`Replay::mismatched_segment_events`], without keyframes.
#[must_use]
pub fn mismatched_segment_events(snapshot: &Snapshot, history: &History) -> u64 {
    undo(snapshot, history, drop).1
}

/// Undoes the segment events from the final state, newest first, and passes those that fit to a callback. Returns the
/// ranges before all of them, and the number of events that did not fit.
pub(crate) fn undo(
    snapshot: &Snapshot,
    history: &History,
    mut fitting: impl FnMut(SegmentStep),
) -> (Ranges, u64) {
    let mut ranges = final_ranges(snapshot, history.device);
    let mut mismatched = 0;
    let rows = history.first_event..history.first_event + history.event_count;
    let actions = &snapshot.events.action[rows.start as usize..rows.end as usize];
    for (place, action) in actions.iter().enumerate().rev() {
        let Some(is_mapping) = action.maps() else {
            continue;
        };
        let row = rows.start as usize + place;
        let step = SegmentStep {
            moment: place as u32 + 1,
            is_mapping,
            range: range_of(snapshot, row),
        };
        let fits = if step.is_mapping {
            ranges.remove(&step.range)
        } else {
            ranges.insert(step.range)
        };
        if fits {
            fitting(step);
        } else {
            mismatched += 1;
        }
    }
    (ranges, mismatched)
}

fn final_ranges(snapshot: &Snapshot, device: DeviceIndex) -> Ranges {
    let mut ranges = Ranges::default();
    for segment in &snapshot.segments.rows {
        if u32::try_from(segment.device) == Ok(device) {
            ranges.insert_apart(MappedRange {
                address: segment.address,
                bytes: segment.total_size,
                stream: segment.stream.unwrap_or(0),
                pool: segment.pool,
                is_expandable: segment.is_expandable == Some(true),
            });
        }
    }
    ranges
}

/// The range that a segment event mapped or unmapped.
fn range_of(snapshot: &Snapshot, row: usize) -> MappedRange {
    let events = &snapshot.events;
    let context = snapshot.contexts.get(events.context[row]);
    let action = events.action[row];
    MappedRange {
        address: events.addr[row],
        bytes: events.size[row],
        stream: context.stream,
        pool: context.pool,
        is_expandable: matches!(action, Action::SegmentMap | Action::SegmentUnmap),
    }
}

fn range_keyframes(first: Ranges, steps: &[SegmentStep]) -> Vec<(usize, Ranges)> {
    let mut ranges = first.clone();
    let mut keyframes = vec![(0, first)];
    let mut since = 0;
    for (index, step) in steps.iter().enumerate() {
        step.apply(&mut ranges);
        since += 1;
        if since >= (STEPS_PER_RANGE * ranges.len()).max(64) {
            keyframes.push((index + 1, ranges.clone()));
            since = 0;
        }
    }
    keyframes
}

fn live_keyframes(history: &History) -> Vec<(u32, Vec<AllocationId>)> {
    let ids = (0..history.before_recording).map(AllocationId);
    let live: Vec<_> = ids.filter(|&id| history.is_live(id, 0)).collect();
    let mut keyframes = vec![(0, live)];
    let mut from = 0_u32;
    while let Some((_, last)) = keyframes.last() {
        let spacing = (last.len() as u32)
            .saturating_mul(MOMENTS_PER_ENTRY)
            .max(MIN_MOMENTS_BETWEEN);
        let moment = from.saturating_add(spacing);
        if moment > history.event_count {
            break;
        }
        let live = advance(&history.allocations, last, from, moment);
        keyframes.push((moment, live));
        from = moment;
    }
    keyframes
}

/// The allocations live at moment `to`, given those live at `from`. Allocations are numbered by birth, so newer ones
/// come after.
fn advance(
    allocations: &AllocationTable,
    live: &[AllocationId],
    from: u32,
    to: u32,
) -> Vec<AllocationId> {
    let is_live = |id: &AllocationId| allocations.died[id.index()] > to;
    let first_newer = allocations.born.partition_point(|&born| born <= from);
    let last_newer = allocations.born.partition_point(|&born| born <= to);
    let newer = (first_newer..last_newer).map(AllocationId::from_index);
    live.iter()
        .copied()
        .filter(is_live)
        .chain(newer.filter(is_live))
        .collect()
}
