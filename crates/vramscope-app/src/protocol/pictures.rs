//! Pictures over the x axis: what is drawn, what is under a pixel, what the colours mean.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::details::Life;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::details::{Composition, MomentFacts, Preview};
use super::views::filter::FilterText;
use super::{Axis, ColourBy, Picture, ThemeName, Viewport};

/// Which picture: all but the place and the size.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Look {
    pub device: DeviceIndex,
    pub picture: Picture,
    /// What does not match it is dimmed.
    pub filter: Option<FilterText>,
    /// How often the packing has got better: so that the picture of an older one is known as that. 0 for
    /// all other pictures.
    pub packing: u32,
    pub axis: Axis,
    pub colour_by: ColourBy,
    pub theme: ThemeName,
}

/// A picture to draw. It comes as an `ImageBitmap`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawRequest {
    pub look: Look,
    /// What part of it, and its size in device px.
    pub viewport: Viewport,
}

/// A finished picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawnFrame {
    pub draw: DrawRequest,
    /// How long the drawing took, in ms.
    pub draw_ms: f64,
    /// Recorded events of the device.
    pub events: u32,
    /// Its allocations: all of them are in the picture.
    pub allocations: u32,
}

/// Asks what is at a place of a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HitOf {
    /// The picture that the page shows.
    pub draw: DrawRequest,
    /// The place, in device px of the picture from the top left.
    pub at_px: (f64, f64),
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hit {
    pub draw: DrawRequest,
    /// The place asked about, in device px of the picture.
    pub at_px: (f64, f64),
    /// The moment that the pixel column shows; `None` left or right of the recording.
    pub moment: Option<MomentFacts>,
    pub on: HitOn,
}

/// Something that a picture shows, and that can be outlined and pinned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Thing {
    Allocation(AllocationId),
    /// A segment, by one of its pieces: a row of the device's segment history.
    Segment(u32),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum HitOn {
    Nothing,
    One(Preview),
    /// Several, none of which fills half the pixel.
    Several(Composition),
    /// A segment, in the segment timeline.
    Segment(Box<SegmentPreview>),
    /// Free memory, in the map.
    Free(Box<FreePreview>),
    /// An address that is not held at this moment, in the map.
    Unmapped {
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

/// A segment under the pointer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SegmentPreview {
    /// The piece under the pointer.
    pub piece: u32,
    /// Where the segment begins: the lowest address that was ever mapped.
    pub address: u64,
    pub piece_bytes: u64,
    /// Bytes of the whole segment at the moment under the pointer.
    pub bytes: u64,
    /// Whether it can grow, shrink and be cut.
    pub is_expandable: bool,
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
    pub bytes: u64,
    /// The segment that it lies in.
    pub segment: SegmentPreview,
}

/// Asks where something is in a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutlineOf {
    /// The picture that the page shows.
    pub draw: DrawRequest,
    pub thing: Thing,
}

/// Where an allocation's band runs in a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutlineColumns {
    pub draw: DrawRequest,
    pub thing: Thing,
    /// The band's outline as a closed polygon, in device px of the picture; empty if it is not in it.
    pub points_px: Vec<(f64, f64)>,
}

/// Asks for the curves over the whole recording.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MinimapOf {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// Into how many columns to cut the whole, at most.
    pub columns: u32,
}

/// The curves of the strip above the timeline, over the whole recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Minimap {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// Left and right end, in the axis's unit.
    pub x: (f64, f64),
    /// Per column of equal width, the highest sum of live bytes in it.
    pub active_bytes: Vec<u64>,
    /// Per column, the highest sum of segments in it. Empty where segments are not known.
    pub reserved_bytes: Vec<u64>,
    /// Where allocations failed, ascending; where there are more than columns, only the last of each column.
    pub ooms: Vec<OomMark>,
    pub peak_x: f64,
}

/// An allocation that failed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OomMark {
    /// Where, in the axis's unit.
    pub x: f64,
    /// The moment that begins with it.
    pub moment: u32,
    pub requested_bytes: u64,
    /// What the device had free.
    pub free_bytes: u64,
}

/// Asks what the colours mean.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LegendOf {
    pub device: DeviceIndex,
    pub picture: Picture,
    pub colour_by: ColourBy,
    pub theme: ThemeName,
    /// How many entries at most, the largest first.
    pub entries: u32,
}

/// What the colours mean.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Legend {
    /// The largest first.
    pub entries: Vec<LegendEntry>,
}

/// One colour.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LegendEntry {
    /// sRGB.
    pub rgb: [u8; 3],
    pub label: String,
    /// Bytes that it has at the peak.
    pub bytes: u64,
    /// How many allocations that live at the peak have it.
    pub allocations: u32,
    /// The filter that finds the allocations that have it; `None` for segments.
    pub search: Option<String>,
}
