//! Figures of a moment, of a range and of allocations, shown wherever these are pointed at or pinned.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::groups::live_at::TopSites;
use vramscope_core::analysis::report::details::{AllocationBrief, AllocationDetails, FrameDetails};
use vramscope_core::analysis::report::event_details::EventDetails;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::extent::AllocationExtent;
pub use vramscope_view::moment_facts::MomentFacts;

use super::Axis;

/// Asks for the figures of a moment.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MomentOf {
    pub device: DeviceIndex,
    /// The axis on which its place is asked for.
    pub axis: Axis,
    pub moment: u32,
}

/// The answer to [`MomentOf`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacedMoment {
    pub device: DeviceIndex,
    pub axis: Axis,
    pub facts: MomentFacts,
}

/// Asks for the moment at a place of the x axis. After the end that is the last one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MomentAt {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// The place, in the axis's unit.
    pub x: f64,
    /// Counts these questions, so that the same place can be asked for twice.
    pub count: u32,
}

/// Asks for the allocations made between two places of the x axis.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RangeOf {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// Both places, in the axis's unit.
    pub x: (f64, f64),
}

/// The allocations made between two places of the x axis.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RangeFacts {
    pub device: DeviceIndex,
    pub axis: Axis,
    pub x: (f64, f64),
    /// The moments before the first event between them and after the last.
    pub moments: (u32, u32),
    /// The places on the events axis.
    pub events_x: (f64, f64),
    /// The places on the time axis; `None` without times.
    pub time_x: Option<(f64, f64)>,
    pub allocated: u32,
    pub allocated_bytes: u64,
    /// Number of those allocations that are live after the range.
    pub surviving: u32,
    pub surviving_bytes: u64,
    /// Number of allocations that are freed in the range, whenever they were allocated.
    pub freed: u32,
    pub freed_bytes: u64,
}

/// An allocation in three lines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Preview {
    pub allocation: AllocationId,
    pub brief: AllocationBrief,
    /// Its call site, as `file:line function`; empty without a stack.
    pub user_frame: String,
    /// Its category or else its role, and its stream and pool unless they are the default ones; may be empty.
    pub remarks: String,
}

/// Several allocations together.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Composition {
    pub top: TopSites,
    /// The largest of the allocations, the largest first; at most [`MOST_LISTED`].
    pub largest: Vec<AllocationId>,
}

/// The most allocations of a group that are listed.
pub const MOST_LISTED: usize = 50;

/// Asks for allocations in three lines each.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreviewsOf {
    pub device: DeviceIndex,
    /// At most [`MOST_LISTED`].
    pub allocations: Vec<AllocationId>,
}

/// Asks for the event that leads to a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventOf {
    pub device: DeviceIndex,
    pub moment: u32,
}

/// An event in full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventAnswer {
    pub known: EventDetails,
    /// Name and value of its other properties, in order of display: stream, pool, metadata, compile context.
    pub properties: Vec<(String, String)>,
}

/// Asks for an allocation in full.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DetailsOf {
    pub device: DeviceIndex,
    pub allocation: AllocationId,
}

/// An allocation in full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Details {
    pub known: AllocationDetails,
    /// Its extent in the pictures, for fitting the view to it.
    pub place: AllocationExtent,
    /// Name and value of its other properties, in order of display: stream, pool, category, role, metadata,
    /// compile context, annotations.
    pub properties: Vec<(String, String)>,
    /// The stack of the free; `None` if it was not recorded or is that of the allocation.
    pub free_stack: Option<Vec<FrameDetails>>,
}
