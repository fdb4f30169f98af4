//! A block that was large enough for a failed request, but waited for another stream.
//!
//! torch waits for such blocks before it gives up. But then it asks the device for new memory without looking at its own
//! block again (pytorch#189504): the request fails, and the same request right after it is served. So the last events
//! before the failure are ends of frees, one of them the block's.

use crate::analysis::memory::allocator_state::{AllocatorState, BlockUse, PlacedBlock};
use crate::analysis::recording::Device;
use crate::ids::{AllocationId, EventId};
use crate::model::Action;

/// Maximum number of events after the failure to search for the same request.
const LOOKED_AT: u32 = 10_000;

/// A block that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitedBlock {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The moment after a later request that it served without new memory from the device, if any.
    pub served: Option<u32>,
}

/// The largest of the blocks that waited until the request had failed, or until right before. `moment` is the one after
/// the failure, `fitting` are the request's own blocks that are large enough.
pub(super) fn waited<'a>(
    device: Device<'_>,
    moment: u32,
    fitting: impl Iterator<Item = &'a PlacedBlock>,
) -> Option<WaitedBlock> {
    let ended = ended_before(device, moment);
    let has_waited = |block: &&PlacedBlock| match block.usage {
        BlockUse::PendingFree => true,
        BlockUse::Free => {
            let inside = block.address..block.address.saturating_add(block.bytes);
            ended.iter().any(|address| inside.contains(address))
        }
        BlockUse::Allocated => false,
    };
    let block = fitting.filter(has_waited).max_by_key(|block| block.bytes)?;
    Some(WaitedBlock {
        address: block.address,
        bytes: block.bytes,
        served: served(device, moment, block),
    })
}

/// The blocks of a state that a request of this size could use if they were free.
pub(super) fn fitting(
    state: &AllocatorState,
    is_own: impl Fn(u32) -> bool,
    bytes: u64,
) -> impl Iterator<Item = &PlacedBlock> {
    let segments = (0..).zip(&state.segments);
    let own = segments.filter(move |&(place, _)| is_own(place));
    let blocks = own.flat_map(|(_, segment)| &segment.blocks);
    blocks.filter(move |block| block.usage != BlockUse::Allocated && block.bytes >= bytes)
}

/// The addresses of the allocations whose waiting frees ended right before the failure.
fn ended_before(device: Device<'_>, moment: u32) -> Vec<u64> {
    let (events, history) = (&device.snapshot().events, device.history);
    let table = &history.allocations;
    let mut ended = Vec::new();
    for before in (1..moment).rev() {
        let row = (history.first_event + before - 1) as usize;
        match events.action[row] {
            Action::FreeCompleted => {
                let id = AllocationId(history.allocation_of_event[before as usize - 1]);
                let requested = table.free_requested.get(id.index());
                if requested.is_some_and(|&requested| requested.saturating_add(1) < before) {
                    ended.push(table.address[id.index()]);
                }
            }
            Action::SegmentFree | Action::SegmentUnmap => {}
            _ => break,
        }
    }
    ended
}

/// The moment after the next alloc of the same size, if the block serves it and CUDA provided no memory in between.
fn served(device: Device<'_>, moment: u32, block: &PlacedBlock) -> Option<u32> {
    let (snapshot, history) = (device.snapshot(), device.history);
    let event = |moment: u32| {
        let row = EventId(history.first_event + moment - 1);
        snapshot.events.get(row)
    };
    let wanted = event(moment).size;
    let inside = block.address..block.address.saturating_add(block.bytes);
    let after = (moment + 1)..=history.event_count.min(moment.saturating_add(LOOKED_AT));
    for later in after {
        let event = event(later);
        match event.action {
            Action::SegmentAlloc | Action::SegmentMap => return None,
            // The request is rounded; the size of an allocation is not.
            Action::Alloc if event.size <= wanted && wanted - event.size < 512 => {
                return inside.contains(&event.addr).then_some(later);
            }
            _ => {}
        }
    }
    None
}
