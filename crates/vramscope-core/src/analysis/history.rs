//! One device's memory over its recorded events: every allocation's life, and the total at every moment.

use crate::Snapshot;
use crate::ids::{AllocationId, BlockId, EventId, StackId};
use crate::model::DeviceIndex;

/// The moment that never comes: a free that was not recorded.
pub const NEVER: u32 = u32::MAX;

/// Allocations as columns, in stacking order: those from before recording first, then by birth.
///
/// An allocation is live in the moments `born .. died`.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct AllocationTable {
    /// Start address.
    pub address: Vec<u64>,
    /// Requested bytes.
    pub bytes: Vec<u64>,
    /// First moment at which it is live; 0 = since before recording began.
    pub born: Vec<u32>,
    /// Moment from which it is pending free; [`NEVER`] = not, or not recorded.
    pub free_requested: Vec<u32>,
    /// First moment at which it is gone; [`NEVER`] = still live at the end.
    pub died: Vec<u32>,
    /// How many tenancies of the same address were completed before it.
    pub version: Vec<u32>,
}

impl AllocationTable {
    /// Number of allocations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the device never had any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// One device's recorded life.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// The device.
    pub device: DeviceIndex,
    /// Row of its first event in [`Snapshot::events`](crate::Snapshot); moment `m > 0` follows event row
    /// `first_event + m - 1`.
    pub first_event: u32,
    /// Number of recorded events; there is one moment more.
    pub event_count: u32,
    /// Every allocation.
    pub allocations: AllocationTable,
    /// Event (counted from `first_event`) → the allocation it concerns, or `u32::MAX`.
    pub allocation_of_event: Vec<u32>,
    /// Moment → requested bytes of all live allocations, pending ones included. `event_count + 1` long.
    pub active_bytes: Vec<u64>,
    /// Bytes of all segments, as steps: (first moment, bytes from then on), ascending; the first is moment 0.
    pub reserved_steps: Vec<(u32, u64)>,
    /// Moment → microseconds since the Unix epoch at which it begins, non-decreasing; moment 0 begins
    /// with moment 1. Empty when the trace has no times.
    pub moment_start_us: Vec<i64>,
    /// The final state's blocks by allocation, for those that were live at the end; ascending.
    pub final_blocks: Vec<(AllocationId, BlockId)>,
    /// The first moment of the highest `active_bytes`.
    pub peak_moment: u32,
}

impl History {
    /// The life of one device's memory; empty columns and one moment for a device without events.
    #[must_use]
    pub fn of(_snapshot: &Snapshot, device: DeviceIndex) -> Self {
        Self { device, active_bytes: vec![0], reserved_steps: vec![(0, 0)], ..Self::default() }
    }

    /// The event that created an allocation; `None` if it is older than the recording.
    #[must_use]
    pub fn alloc_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.born[id.index()])
    }

    /// The event by which the program freed an allocation, if it was recorded.
    #[must_use]
    pub fn free_requested_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.free_requested[id.index()])
    }

    /// The event that ended an allocation, if it was recorded.
    #[must_use]
    pub fn free_completed_event(&self, id: AllocationId) -> Option<EventId> {
        self.event_before(self.allocations.died[id.index()])
    }

    /// The block of the final state in which an allocation lives, if it is still live.
    #[must_use]
    pub fn final_block(&self, id: AllocationId) -> Option<BlockId> {
        let row = self.final_blocks.binary_search_by_key(&id, |&(allocation, _)| allocation).ok()?;
        Some(self.final_blocks[row].1)
    }

    /// The stack that allocated: the alloc event's, else the block's, else the stack of the free
    /// (`is_of_free` in [`StackSource`]), which is all there is for an allocation from before the recording.
    #[must_use]
    pub fn stack(&self, snapshot: &Snapshot, id: AllocationId) -> (StackId, StackSource) {
        if let Some(event) = self.alloc_event(id) {
            return (snapshot.events.stack[event.index()], StackSource::Alloc);
        }
        if let Some(block) = self.final_block(id) {
            return (snapshot.blocks.stack(snapshot.blocks.get(block)), StackSource::Block);
        }
        match self.free_requested_event(id).or(self.free_completed_event(id)) {
            Some(event) => (snapshot.events.stack[event.index()], StackSource::Free),
            None => (StackId::ABSENT, StackSource::Free),
        }
    }

    /// The event after which a moment begins.
    fn event_before(&self, moment: u32) -> Option<EventId> {
        (1..=self.event_count).contains(&moment).then(|| EventId(self.first_event + moment - 1))
    }
}

/// Where the stack of an allocation was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSource {
    /// With its alloc event.
    Alloc,
    /// With its block in the final state; the alloc event was not recorded.
    Block,
    /// With the event that freed it; neither of the others was recorded.
    Free,
}
