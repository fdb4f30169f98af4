//! Some memory pools as a recording of their own, with the moments of the whole recording.
//!
//! The events of other pools keep their rows and do nothing, so a moment means the same in both recordings. Results
//! about memory (allocations, peaks, segments, free memory) come from the remaining pools. Results about code and time
//! (call sites, roles, phases, the moments of steps) come from the whole recording.
//!
//! An allocation or a segment without a known pool is in no pool. The same goes for failed requests: their moments are
//! kept, but their cause depends on the whole device.

use std::collections::HashMap;

use super::{Device, Recording};
use crate::Snapshot;
use crate::analysis::memory::streams_and_pools::segment_of_addresses;
use crate::analysis::time::history::{History, NEVER};
use crate::ids::AllocationId;
use crate::model::{Action, BlockState, PoolId};

/// The action of an event of another pool.
const ELSEWHERE: &str = "in another pool";

impl Recording {
    /// The same devices in the same order, reduced to the pools that `is_meant` accepts.
    #[must_use]
    pub fn within_pools(&self, is_meant: impl Fn(PoolId) -> bool) -> Self {
        let snapshot = snapshot_within(self, is_meant);
        let devices = self.devices().map(Device::index);
        let histories = devices.map(|device| History::of(&snapshot, device));
        let histories = histories.collect();
        let mut narrowed = Self::with(snapshot, histories);
        narrowed.is_part = true;
        narrowed.classes = self.classes().clone().into();
        narrowed.call_sites = self.call_sites().clone().into();
        narrowed.signals = self.signals().clone().into();
        narrowed.frees_tell = self.frees_tell().into();
        narrowed.ranges = self.ranges().to_vec().into();
        narrowed.streams = self.streams().clone().into();
        narrowed.pools = self.pools().clone().into();
        let numbers: Vec<_> = (narrowed.devices().zip(self.devices()))
            .map(|(inner, whole)| inner.numbered_in(whole))
            .collect();
        // An allocation keeps its name, which counts all allocations at its address.
        let histories = narrowed.histories.iter_mut().zip(&self.histories);
        for ((history, whole), ids) in histories.zip(&numbers) {
            let names = &mut history.allocations.version;
            for (name, id) in names.iter_mut().zip(ids.iter().flatten()) {
                *name = whole.allocations.version[id.index()];
            }
        }
        narrowed.prepared = (narrowed.devices().zip(self.devices()).zip(numbers))
            .map(|((inner, whole), ids)| whole.told_within_pools(inner, ids))
            .collect();
        narrowed
    }
}

impl Device<'_> {
    /// The allocations of a device [within pools](Recording::within_pools), as the whole device numbers them. `None` if
    /// one of them is unknown there, which happens only in damaged files.
    #[must_use]
    pub fn numbered_in(self, whole: Device<'_>) -> Option<Vec<AllocationId>> {
        let (own, whole) = (self.history, whole.history);
        let blocks = whole.final_blocks.iter();
        let by_block: HashMap<_, _> = blocks.map(|&(id, block)| (block, id)).collect();
        let ids = (0..own.allocations.len()).map(AllocationId::from_index);
        ids.map(|id| {
            let event = own
                .alloc_event(id)
                .or_else(|| own.free_requested_event(id))
                .or_else(|| own.free_completed_event(id));
            match event {
                Some(event) => {
                    let place = event.0.checked_sub(whole.first_event)?;
                    let row = *whole.allocation_of_event.get(place as usize)?;
                    (row != u32::MAX).then_some(AllocationId(row))
                }
                None => by_block.get(&own.final_block(id)?).copied(),
            }
        })
        .collect()
    }
}

/// The snapshot reduced to the pools that `is_meant` accepts.
fn snapshot_within(whole: &Recording, is_meant: impl Fn(PoolId) -> bool) -> Snapshot {
    let mut snapshot = whole.snapshot.clone();
    let elsewhere = elsewhere(&mut snapshot);
    for device in whole.devices() {
        let history = device.history;
        let first = history.first_event as usize;
        let actions = &mut snapshot.events.action[first..first + history.event_count as usize];
        for (action, is_kept) in actions.iter_mut().zip(kept_events(device, &is_meant)) {
            if !is_kept {
                *action = elsewhere;
            }
        }
        // The pool of an allocation's event counts, even if its block is in a segment of another pool.
        for &(id, block) in &history.final_blocks {
            if !device.pool_of()[id.index()].is_some_and(&is_meant) {
                snapshot.blocks.rows[block.index()].state = BlockState::Inactive;
            }
        }
    }
    snapshot.host_trace = 0..0;
    snapshot.host_segments.rows.clear();
    let segments = &mut snapshot.segments.rows;
    segments.retain(|segment| segment.pool.is_some_and(&is_meant));
    snapshot
}

/// An action without effect, named [`ELSEWHERE`].
fn elsewhere(snapshot: &mut Snapshot) -> Action {
    let name = snapshot.strings.intern(ELSEWHERE);
    let names = &mut snapshot.events.other_actions;
    if names.len() < usize::from(u8::MAX) {
        names.push(name);
    }
    Action::Other((names.len() - 1) as u8)
}

/// For each event of a device, whether it belongs to one of these pools. Unknown actions always do.
fn kept_events(device: Device<'_>, is_meant: &impl Fn(PoolId) -> bool) -> Vec<bool> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let segments = device.segments();
    let mut mapped: HashMap<u32, Option<PoolId>> = HashMap::new();
    for piece in 0..segments.len() {
        let pool = segments.segment_of(piece).pool;
        for moment in [segments.born[piece], segments.died[piece]] {
            if moment != 0 && moment != NEVER {
                mapped.insert(moment, pool);
            }
        }
    }
    let segment_at = segment_of_addresses(snapshot, device.index());
    let is_kept = |place: u32| {
        let row = (history.first_event + place) as usize;
        let in_context = snapshot.contexts.get(snapshot.events.context[row]).pool;
        let pool = match snapshot.events.action[row] {
            Action::Alloc | Action::FreeRequested | Action::FreeCompleted | Action::Annotate => {
                let allocation = history.allocation_of_event[place as usize] as usize;
                device.pool_of().get(allocation).copied().flatten()
            }
            Action::SegmentAlloc
            | Action::SegmentFree
            | Action::SegmentMap
            | Action::SegmentUnmap => in_context
                .or_else(|| mapped.get(&(place + 1)).copied().flatten())
                .or_else(|| {
                    snapshot
                        .segments
                        .get(segment_at(snapshot.events.addr[row])?)
                        .pool
                }),
            // They concern the whole device.
            Action::Snapshot | Action::Oom => None,
            Action::Other(_) => return true,
        };
        pool.is_some_and(is_meant)
    };
    (0..history.event_count).map(is_kept).collect()
}
