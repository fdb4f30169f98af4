//! What the segment timeline and the map ask beside their pictures.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::details::{FrameDetails, Life};
use vramscope_core::model::DeviceIndex;
use vramscope_view::map::{GroupMark, LaneMark};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// The lanes of a device's map. Answered by [`Answer::Lanes`].
    Lanes { device: DeviceIndex },
    /// All that is known of a segment. Answered by [`Answer::Segment`].
    Segment {
        device: DeviceIndex,
        piece: u32,
        /// The moment at which to say what is in it: the last one if none.
        moment: Option<u32>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Lanes(MapLanes),
    Segment(Box<SegmentDetails>),
}

/// The map's y axis from the bottom up.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MapLanes {
    pub device: DeviceIndex,
    /// The lanes; of more than the page can label the largest.
    pub lanes: Vec<LaneMark>,
    /// Neighbouring lanes of one pool and stream, likewise.
    pub groups: Vec<GroupMark>,
}

/// A segment in full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentDetails {
    pub device: DeviceIndex,
    /// The piece that was asked about.
    pub piece: u32,
    /// Lowest address that was ever mapped.
    pub address: u64,
    /// Bytes mapped at the moment.
    pub bytes: u64,
    /// Whether it can grow, shrink and be cut.
    pub is_expandable: bool,
    /// From the first piece's mapping to the last one's end.
    pub life: Life,
    /// Stream, pool and the like, and what is in it at the moment; in order of display.
    pub properties: Vec<(String, String)>,
    /// The stack that made the allocator ask for the piece.
    pub stack: Option<Vec<FrameDetails>>,
}
