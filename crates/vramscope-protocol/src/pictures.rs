//! Pictures over the x axis: drawing them, the things under their pixels, and the meaning of their colours.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::details::Life;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::band_labels::BandLabels;
use vramscope_view::minimap;
pub use vramscope_view::oom_marks::OomMark;
pub use vramscope_view::reserved::Curve;
use vramscope_view::restacked::Stacking;

use super::details::{Composition, MomentFacts, Preview};
use super::views::filter::FilterText;
use super::views::flame::BoxOf;
use super::{Axis, ColourBy, Picture, ThemeName, Viewport};

/// The properties of a picture, without its place and size.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Look {
    pub device: DeviceIndex,
    pub picture: Picture,
    /// Everything that does not match it is dimmed.
    pub filter: Option<FilterText>,
    /// A box of the flame graph. Everything that is not in it is dimmed, whatever the filter.
    pub lit: Option<Box<BoxOf>>,
    /// The number of the packing, so that pictures of older packings can be told apart. 0 for all other pictures.
    pub packing: u32,
    /// The version of the file, as [`Adopt`](super::Adopt) numbers them; 0 for the first.
    pub version: u32,
    pub axis: Axis,
    /// Whether the recording is a state alone: then nothing is told of when.
    pub is_state: bool,
    pub colour_by: ColourBy,
    pub theme: ThemeName,
    /// The order of the timeline's bands. The default in all other pictures.
    pub stacking: Stacking,
}

/// Asks for a picture, which is attached as an `ImageBitmap`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawRequest {
    pub look: Look,
    /// The part to draw, and its size in device px.
    pub viewport: Viewport,
}

/// A finished picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawnFrame {
    pub draw: DrawRequest,
    /// Duration of the drawing, in ms.
    pub draw_ms: f64,
    /// Number of the device's recorded events.
    pub events: u32,
    /// Number of the device's allocations.
    pub allocations: u32,
}

/// Asks for the reserved memory over a timeline, which [`lanes`](super::views::lanes) tell along with much else.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReservedOf {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// The part of the timeline, and its size in device px.
    pub viewport: Viewport,
}

/// Asks for the thing at a place of a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HitOf {
    /// The picture that the page shows.
    pub draw: DrawRequest,
    /// The place, in device px from the picture's top left corner.
    pub at_px: (f64, f64),
}

/// The thing under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Hit {
    pub draw: DrawRequest,
    /// The place that was asked about.
    pub at_px: (f64, f64),
    /// The moment that the pixel column shows; `None` outside of the recording.
    pub moment: Option<MomentFacts>,
    pub on: HitOn,
}

/// A thing in a picture that can be outlined and pinned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Thing {
    Allocation(AllocationId),
    /// A segment, named by one of its pieces: a row of the device's segment history.
    Segment(u32),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum HitOn {
    Nothing,
    One(Box<Preview>),
    /// Several allocations, none of which fills half of the pixel.
    Several(Composition),
    /// A segment, in the segment timeline.
    Segment(Box<SegmentPreview>),
    /// Free memory, in the map.
    Free {
        /// First address of the free range around the pointer.
        address: u64,
        bytes: u64,
        /// The segment that it lies in.
        segment: Box<SegmentPreview>,
    },
    /// An address of no segment at this moment, in the map.
    Unmapped {
        address: u64,
    },
}

impl HitOn {
    /// The thing to outline, if there is a single one.
    #[must_use]
    pub fn thing(&self) -> Option<Thing> {
        match self {
            Self::One(preview) => Some(Thing::Allocation(preview.allocation)),
            Self::Segment(preview) => Some(Thing::Segment(preview.piece)),
            Self::Nothing | Self::Several(_) | Self::Free { .. } | Self::Unmapped { .. } => None,
        }
    }
}

/// A segment under the pointer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SegmentPreview {
    /// The piece under the pointer.
    pub piece: u32,
    /// The segment's lowest address over its whole life.
    pub address: u64,
    pub piece_bytes: u64,
    /// Bytes of the whole segment at the moment under the pointer.
    pub bytes: u64,
    /// Whether it is an expandable segment.
    pub is_expandable: bool,
    pub life: Life,
    /// The call site that made the allocator reserve the piece; empty if not recorded.
    pub user_frame: String,
    /// The size of requests that it serves, and its stream and pool unless they are the default ones; may be empty.
    pub remarks: String,
    /// The segment's left and right edge in the picture, in the axis's unit.
    pub x: (f64, f64),
    /// Its lower and upper edge, in bytes.
    pub y: (f64, f64),
}

/// Asks for the outline of a thing in a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutlineOf {
    /// The picture that the page shows.
    pub draw: DrawRequest,
    pub thing: Thing,
}

/// The outline of a thing in a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OutlineColumns {
    pub draw: DrawRequest,
    pub thing: Thing,
    /// A closed polygon in device px of the picture; empty if the thing is not in it.
    pub points_px: Vec<(f64, f64)>,
}

/// Asks for the texts in the bands of the timeline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BandLabelsOf {
    /// The picture that the page shows.
    pub draw: DrawRequest,
    /// Device px per css px.
    pub pixel_ratio: f64,
}

/// Asks for the curves of the strip above the timeline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MinimapOf {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// The most columns that the curves may have.
    pub columns: u32,
}

/// The curves of the strip above the timeline, over the whole recording.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Minimap {
    /// Left and right end, in the axis's unit.
    pub x: (f64, f64),
    pub curves: minimap::Minimap,
    /// Failed allocations in ascending order; of more than there are columns, the last of each column.
    pub ooms: Vec<OomMark>,
    pub peak_x: f64,
}

/// Asks for the meaning of a picture's colours.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LegendOf {
    pub device: DeviceIndex,
    pub picture: Picture,
    pub colour_by: ColourBy,
    pub theme: ThemeName,
    /// What is summed: allocations or, in the segment timeline, pieces of segments. `None` for those at the peak of
    /// active or, there, of reserved memory.
    pub selection: Option<Selection>,
    /// The most entries to list: those with the most bytes, the largest first.
    pub entries: u32,
}

/// A colour of a picture, and the things that have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LegendEntry {
    /// sRGB.
    pub rgb: [u8; 3],
    pub label: String,
    /// Selected bytes with this colour.
    pub bytes: u64,
    /// Number of selected allocations with this colour.
    pub allocations: u32,
    /// The filter that finds the allocations with this colour; `None` for segments.
    pub search: Option<String>,
}
