//! A moment, a range, an allocation: what the page says of them wherever they are pointed at or pinned.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::details::{AllocationBrief, AllocationDetails, FrameDetails};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::Axis;

/// Asks what is known of a moment.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MomentOf {
    pub device: DeviceIndex,
    /// The axis on which to place it.
    pub axis: Axis,
    pub moment: u32,
}

/// Answers [`MomentOf`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacedMoment {
    pub device: DeviceIndex,
    pub axis: Axis,
    pub facts: MomentFacts,
}

/// What the timeline is at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MomentFacts {
    /// The moment: the state after this many events.
    pub moment: u32,
    /// Where it begins on the x axis asked for.
    pub x: f64,
    /// µs since the Unix epoch.
    pub time_us: Option<i64>,
    /// µs since the first event.
    pub since_start_us: Option<i64>,
    pub active_bytes: u64,
    /// Bytes of all segments; `None` where they are not known.
    pub reserved_bytes: Option<u64>,
}

/// Asks what happens between two places of the x axis.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RangeOf {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// From … to, in the axis's unit.
    pub x: (f64, f64),
}

/// What happens between two places of the x axis.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RangeFacts {
    pub device: DeviceIndex,
    /// The x axis asked about.
    pub axis: Axis,
    pub x: (f64, f64),
    /// The moments before the first event between them and after the last.
    pub moments: (u32, u32),
    /// The same places on the events axis.
    pub events_x: (f64, f64),
    /// The same places on the time axis; `None` without times.
    pub time_x: Option<(f64, f64)>,
    pub allocated: u32,
    pub allocated_bytes: u64,
    /// Those of them that are still live at its end.
    pub surviving: u32,
    pub surviving_bytes: u64,
}

/// Three lines about an allocation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Preview {
    pub allocation: AllocationId,
    pub brief: AllocationBrief,
    /// The user's frame that allocated it, as `file:line function`; empty without a stack.
    pub user_frame: String,
    /// Its category, stream and pool where they are not the usual ones; may be empty.
    pub remarks: String,
}

/// Several allocations together.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Composition {
    pub moment: u32,
    pub allocations: u32,
    pub bytes: u64,
    /// The call sites with the most bytes, descending.
    pub call_sites: Vec<CallSite>,
    /// How many allocations are of other call sites.
    pub further: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallSite {
    /// `file:line function`; empty for those without a stack.
    pub frame: String,
    pub allocations: u32,
    pub bytes: u64,
}

/// Asks for all that is known of an allocation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DetailsOf {
    pub device: DeviceIndex,
    pub allocation: AllocationId,
}

/// All that is known of an allocation, and where it lies.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Details {
    pub known: AllocationDetails,
    /// Its place on either axis and in height over its whole life, for fitting the view to it.
    pub place: EventPlace,
    /// Rows for the panel that a file has or has not: stream, pool, category, metadata, compile context,
    /// annotations; (name, value), in order of display.
    pub properties: Vec<(String, String)>,
    /// The stack of the free, if it was recorded and the allocation's own is another.
    pub free_stack: Option<Vec<FrameDetails>>,
}

/// Where an allocation lies in the timeline.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EventPlace {
    /// First and last moment, the last exclusive.
    pub moments: (u32, u32),
    /// The same on the time axis, in µs since the first event.
    pub time_us: Option<(f64, f64)>,
    /// Lowest and highest edge of its band over its life.
    pub edges_bytes: (f64, f64),
    /// Its lower and upper edge on the map.
    pub map_bytes: (f64, f64),
}
