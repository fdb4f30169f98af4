//! Moves a state between moments, and rebuilds only the segments that changed.

use std::collections::BTreeSet;

use super::index::{end_before, live_by_address, within};
use super::{AllocatorIndex, AllocatorState, MappedRange, Replayed, SegmentState};
use crate::ids::AllocationId;

/// Maximum distance, in events, to move step by step; beyond it, the state is computed anew.
const WALK_AT_MOST: u32 = 256;

/// A state that can move to another moment, made by [`Device::stepper_at`] and moved by [`Device::move_to`]. The result
/// always equals [`Device::state_at`].
///
/// [`Device::stepper_at`]: crate::analysis::recording::Device::stepper_at
/// [`Device::move_to`]: crate::analysis::recording::Device::move_to
/// [`Device::state_at`]: crate::analysis::recording::Device::state_at
pub struct Stepper {
    state: AllocatorState,
    /// The live allocations by address.
    live: Vec<(u64, AllocationId)>,
}

impl Stepper {
    /// Computes the state at a first moment. Moments after the last one count as the last one.
    pub(crate) fn at(replayed: Replayed<'_>, index: &AllocatorIndex, moment: u32) -> Self {
        let moment = moment.min(replayed.history.event_count);
        Self {
            state: index.state_at(replayed, moment),
            live: live_by_address(replayed, moment),
        }
    }

    /// The state at the current moment.
    #[must_use]
    pub fn state(&self) -> &AllocatorState {
        &self.state
    }

    /// Moves to a moment. Moments after the last one count as the last one. `replayed` and `index` must be the same as
    /// for [`at`](Self::at).
    pub(crate) fn go_to(&mut self, replayed: Replayed<'_>, index: &AllocatorIndex, moment: u32) {
        let moment = moment.min(replayed.history.event_count);
        let (first, last) = ordered(self.state.moment, moment);
        if first == last {
            return;
        }
        if last - first > WALK_AT_MOST {
            *self = Self::at(replayed, index, moment);
            return;
        }
        let touched = self.walk(replayed, index, moment);
        if replayed.replay.segment_steps(first, last).is_empty() {
            self.rebuild(replayed, index, moment, &touched);
        } else {
            self.remap(replayed, index, moment, &touched);
        }
    }

    /// Moves `live` to a moment. Returns the addresses at which an allocation came or went.
    fn walk(
        &mut self,
        replayed: Replayed<'_>,
        index: &AllocatorIndex,
        moment: u32,
    ) -> BTreeSet<u64> {
        let history = replayed.history;
        let table = &history.allocations;
        let (first, last) = ordered(self.state.moment, moment);
        let events = history
            .allocation_of_event
            .get(first as usize..last as usize);
        let own = events.unwrap_or(&[]).iter().copied();
        let own = own.filter(|&row| row != u32::MAX).map(AllocationId);
        let displaced = &index.displaced;
        let from = displaced.partition_point(|&(died, _)| died <= first);
        let to = displaced.partition_point(|&(died, _)| died <= last);
        let displaced = displaced.get(from..to).unwrap_or(&[]);
        let mut touched = BTreeSet::new();
        for id in own.chain(displaced.iter().map(|&(_, id)| id)) {
            let entry = (table.address[id.index()], id);
            touched.insert(entry.0);
            match (self.live.binary_search(&entry), history.is_live(id, moment)) {
                (Ok(place), false) => {
                    self.live.remove(place);
                }
                (Err(place), true) => self.live.insert(place, entry),
                _ => {}
            }
        }
        touched
    }

    /// Rebuilds the segments that contain a changed address. The mapped ranges must not have changed.
    fn rebuild(
        &mut self,
        replayed: Replayed<'_>,
        index: &AllocatorIndex,
        moment: u32,
        touched: &BTreeSet<u64>,
    ) {
        let mut rows: Vec<_> = touched
            .iter()
            .filter_map(|&address| self.state.segment_at(address))
            .collect();
        rows.dedup();
        for row in rows {
            let range = self.state.segments[row].range();
            let next = self.state.segments.get(row + 1);
            let end = end_before(&range, next.map(|next| next.address));
            let live = within(&self.live, range.address, end);
            self.state.segments[row] = index.segment(replayed, moment, &range, live);
        }
        self.state.moment = moment;
        index.sum_up(replayed, &mut self.state, &self.live);
    }

    /// Rebuilds the segments that contain a changed address, or that were mapped, unmapped, split or merged.
    fn remap(
        &mut self,
        replayed: Replayed<'_>,
        index: &AllocatorIndex,
        moment: u32,
        touched: &BTreeSet<u64>,
    ) {
        let (first, last) = ordered(self.state.moment, moment);
        let steps = replayed.replay.segment_steps(first, last);
        let segments = std::mem::take(&mut self.state.segments);
        let mut old: Vec<_> = segments.into_iter().map(Some).collect();
        let mut row = 0;
        let mut known = |range: &MappedRange, end: u128| {
            // Both lists are in address order, so a segment that begins before the range is no longer mapped.
            while let Some(segment) = old.get_mut(row) {
                let Some(found) = segment.take_if(|segment| segment.address <= range.address)
                else {
                    break;
                };
                row += 1;
                let is_touched = touched
                    .range(range.address..)
                    .next()
                    .is_some_and(|&address| u128::from(address) < end)
                    || steps.iter().any(|step| covers(&step.range, range.address));
                let next = old.get(row).and_then(Option::as_ref);
                let old_end = end_before(&found.range(), next.map(|next| next.address));
                if is_same(&found, range) && old_end == end && !is_touched {
                    return Some(found);
                }
            }
            None
        };
        let ranges = replayed.replay.segments_at(moment);
        self.state = index.assemble(replayed, moment, &ranges, &self.live, &mut known);
    }
}

fn is_same(segment: &SegmentState, range: &MappedRange) -> bool {
    let old = segment.range();
    (old.address, old.bytes, old.stream, old.is_expandable)
        == (
            range.address,
            range.bytes,
            range.stream,
            range.is_expandable,
        )
}

fn covers(range: &MappedRange, address: u64) -> bool {
    let offset = address.checked_sub(range.address);
    offset.is_some_and(|offset| offset < range.bytes)
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}
