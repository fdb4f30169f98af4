//! What is said about a part of an open file.

use serde::{Deserialize, Serialize};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::{Axis, DrawRequest, Look, OutlineSlot, RequestId};

/// A finished picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawnFrame {
    /// The question.
    pub request: RequestId,
    /// What was drawn.
    pub draw: DrawRequest,
    /// How long the drawing took, in ms.
    pub draw_ms: f64,
    /// Recorded events of the device.
    pub events: u32,
    /// Its allocations: all of them are in the picture.
    pub allocations: u32,
}

/// The curves of the strip above the timeline, over the whole recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Overview {
    /// The device.
    pub device: DeviceIndex,
    /// The x axis.
    pub axis: Axis,
    /// Left and right end, in the axis's unit.
    pub x: (f64, f64),
    /// Per column of equal width, the highest sum of live bytes in it.
    pub active_bytes: Vec<u64>,
    /// Per column, the highest sum of segments in it. Empty where segments are not known.
    pub reserved_bytes: Vec<u64>,
    /// Where allocations failed, ascending; where there are more than columns, only the last of each column.
    pub ooms: Vec<OomMark>,
    /// The peak's place.
    pub peak_x: f64,
}

/// An allocation that failed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OomMark {
    /// Where, in the axis's unit.
    pub x: f64,
    /// The moment that begins with it.
    pub moment: u32,
    /// What was asked for.
    pub requested_bytes: u64,
    /// What the device had free.
    pub free_bytes: u64,
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
    /// Live bytes.
    pub active_bytes: u64,
    /// Bytes of all segments; `None` where they are not known.
    pub reserved_bytes: Option<u64>,
}

/// What happens between two places of the x axis.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RangeFacts {
    /// The device.
    pub device: DeviceIndex,
    /// The x axis asked about.
    pub axis: Axis,
    /// The places asked about.
    pub x: (f64, f64),
    /// The moments before the first event between them and after the last.
    pub moments: (u32, u32),
    /// The same places on the events axis.
    pub events_x: (f64, f64),
    /// The same places on the time axis; `None` without times.
    pub time_x: Option<(f64, f64)>,
    /// Allocations made in it.
    pub allocated: u32,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Those of them that are still live at its end.
    pub surviving: u32,
    /// Their bytes.
    pub surviving_bytes: u64,
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hit {
    /// The question.
    pub request: RequestId,
    /// The picture asked about.
    pub draw: DrawRequest,
    /// The place asked about, in device px of the picture.
    pub at_px: (f64, f64),
    /// The moment that the pixel column shows; `None` left or right of the recording.
    pub moment: Option<MomentFacts>,
    /// What is there.
    pub on: HitOn,
}

/// Something that a picture shows, and that can be outlined and pinned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thing {
    /// An allocation.
    Allocation(AllocationId),
    /// A segment, by one of its pieces: a row of the device's segment history.
    Segment(u32),
}

/// A segment under the pointer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SegmentPreview {
    /// The piece under the pointer.
    pub piece: u32,
    /// Where the segment begins: the lowest address that was ever mapped.
    pub address: u64,
    /// Bytes of the piece.
    pub piece_bytes: u64,
    /// Bytes of the whole segment at the moment under the pointer.
    pub bytes: u64,
    /// Whether it can grow, shrink and be cut.
    pub is_expandable: bool,
    /// The piece's.
    pub life: Life,
    /// Where in the code the allocator was made to ask for it; empty if not recorded.
    pub user_frame: String,
    /// What is unusual: private pool, other stream; and which requests it serves.
    pub remarks: String,
    /// Where the segment lies in the picture: left and right, in the axis's unit.
    pub x: (f64, f64),
    /// Lower and upper edge.
    pub y: (f64, f64),
}

/// Held memory under the pointer that nothing lives in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FreePreview {
    /// First address of the free range around the pointer.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The segment that it lies in.
    pub segment: SegmentPreview,
}

/// See [`Hit::on`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HitOn {
    /// No allocation.
    Nothing,
    /// One allocation.
    One(Preview),
    /// Several, none of which fills half the pixel.
    Several(Composition),
    /// A segment, in the segment timeline.
    Segment(Box<SegmentPreview>),
    /// Free memory, in the map.
    Free(Box<FreePreview>),
    /// An address that is not held at this moment, in the map.
    Unmapped {
        /// The address.
        address: u64,
    },
}

impl HitOn {
    /// What is outlined.
    #[must_use]
    pub fn thing(&self) -> Option<Thing> {
        match self {
            Self::One(preview) => Some(Thing::Allocation(preview.allocation)),
            Self::Segment(preview) => Some(Thing::Segment(preview.piece)),
            Self::Nothing | Self::Several(_) | Self::Free(_) | Self::Unmapped { .. } => None,
        }
    }
}

/// Three lines about an allocation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Preview {
    /// The allocation.
    pub allocation: AllocationId,
    /// `b<address>_<version>`, as in [`Details::id`].
    pub id: String,
    /// Requested bytes.
    pub bytes: u64,
    /// Its life.
    pub life: Life,
    /// The user's frame that allocated it, as `file:line function`; empty without a stack.
    pub user_frame: String,
    /// Its category, stream and pool where they are not the usual ones; may be empty.
    pub remarks: String,
}

/// An event in the life of an allocation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventMark {
    /// The moment that begins with it, which is the event's number within the device's trace, from 1.
    pub moment: u32,
    /// µs since the Unix epoch.
    pub time_us: Option<i64>,
    /// µs since the device's first event.
    pub since_start_us: Option<i64>,
}

/// When an allocation came and went. `None` at the start: before recording; at the end: still live.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Life {
    /// The alloc event.
    pub alloc: Option<EventMark>,
    /// The program's free.
    pub free_requested: Option<EventMark>,
    /// The end.
    pub free_completed: Option<EventMark>,
    /// How long it was live, as far as recorded, in events.
    pub events: u32,
    /// The same in µs.
    pub duration_us: Option<i64>,
}

/// Several allocations together.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Composition {
    /// The moment.
    pub moment: u32,
    /// How many.
    pub allocations: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The call sites with the most bytes, descending.
    pub call_sites: Vec<CallSite>,
    /// How many allocations are of other call sites.
    pub further: u32,
}

/// What one call site has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallSite {
    /// `file:line function`; empty for those without a stack.
    pub frame: String,
    /// How many allocations.
    pub allocations: u32,
    /// Their bytes.
    pub bytes: u64,
}

/// Where an allocation's band runs in a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutlineColumns {
    /// What it is for.
    pub slot: OutlineSlot,
    /// The picture.
    pub draw: DrawRequest,
    /// What is outlined.
    pub thing: Thing,
    /// The band's outline as a closed polygon, in device px of the picture; empty if it is not in it.
    pub points_px: Vec<(f64, f64)>,
}

/// All that is known about an allocation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Details {
    /// The device.
    pub device: DeviceIndex,
    /// The allocation.
    pub allocation: AllocationId,
    /// `b<address>_<version>`, e.g. `b7f0000000000_0`: the same as in PyTorch's viewer.
    pub id: String,
    /// Its address.
    pub address: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Bytes of its block, where the final state still has it.
    pub block_bytes: Option<u64>,
    /// Its life.
    pub life: Life,
    /// Its place on either axis and in height over its whole life, for fitting the view to it.
    pub place: EventPlace,
    /// Rows for the panel that a file has or has not: stream, pool, category, metadata, compile context,
    /// annotations; (name, value), in order of display.
    pub properties: Vec<(String, String)>,
    /// The stack.
    pub stack: StackLines,
    /// The forward pass's stack, for an allocation of the backward pass.
    pub forward_lines: Vec<String>,
    /// The stack of the free, if it was recorded and the allocation's own is another.
    pub free_stack: Option<StackLines>,
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

/// Which record had the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackOrigin {
    /// The alloc event.
    Alloc,
    /// The block of the final state: the alloc event was not recorded.
    Block,
    /// The event that freed it: neither of the others was recorded.
    Free,
}

/// A stack to show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StackLines {
    /// Where it was recorded.
    pub origin: StackOrigin,
    /// Its frames, innermost first. Empty: no stack was recorded.
    pub frames: Vec<FrameLine>,
    /// The frame to show first and to name the allocation by: row of `frames`.
    pub user_frame: Option<u32>,
}

/// One frame to show.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrameLine {
    /// Function name.
    pub name: String,
    /// Source file; empty if unknown.
    pub file: String,
    /// Line; 0 = unknown.
    pub line: u32,
    /// Whether it belongs to the interpreter, the dispatcher or the C library.
    pub is_runtime: bool,
    /// Whether it is the user's own code, not that of PyTorch or another installed package.
    pub is_user: bool,
    /// What torch.fx knew.
    pub fx: Option<FxDetails>,
}

/// See [`FrameLine::fx`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FxDetails {
    /// E.g. `call_function`.
    pub op: String,
    /// The node's name.
    pub name: String,
    /// The node's target.
    pub target: String,
    /// The lines of the model's own code.
    pub original_trace: String,
}

/// What the colours mean.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Legend {
    /// Device and colouring.
    pub look: Look,
    /// The largest first.
    pub entries: Vec<LegendEntry>,
}

/// One colour.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LegendEntry {
    /// sRGB.
    pub rgb: [u8; 3],
    /// What has it.
    pub label: String,
    /// Bytes that it has at the peak.
    pub bytes: u64,
    /// How many allocations that live at the peak have it.
    pub allocations: u32,
}
