//! The questions of the segment timeline and the map beside their pictures.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::details::{FrameDetails, Life};
use vramscope_core::model::DeviceIndex;
use vramscope_view::map::{GroupMark, LaneMark};

/// Asks for the lanes of a device's map.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MapLanesOf {
    pub device: DeviceIndex,
}

/// Asks for a segment in full.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentOf {
    pub device: DeviceIndex,
    /// A piece of the segment: a row of the device's segment history.
    pub piece: u32,
    /// The moment of its contents; `None` = the last one.
    pub moment: Option<u32>,
}

/// The map's y axis from the bottom up.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MapLanes {
    /// The lanes; the largest ones, if they are more than the page can label.
    pub lanes: Vec<LaneMark>,
    /// Neighbouring lanes of one pool and stream, likewise.
    pub groups: Vec<GroupMark>,
}

/// A segment in full.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SegmentDetails {
    /// Lowest address that was ever mapped.
    pub address: u64,
    /// Bytes mapped at the moment.
    pub bytes: u64,
    /// The text of the filter that finds what was ever allocated at its addresses.
    pub filter: String,
    /// Whether it is an expandable segment.
    pub is_expandable: bool,
    /// From the mapping of its first piece to the unmapping of its last.
    pub life: Life,
    /// Name and value of its properties and contents, in order of display.
    pub properties: Vec<(String, String)>,
    /// The stack that made the allocator reserve the piece; `None` if not recorded.
    pub stack: Option<Vec<FrameDetails>>,
}
