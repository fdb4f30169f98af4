//! The lanes of the map.

use vramscope_protocol::views::segments::MapLanes;

use super::super::document::{Device, Document};

pub(super) fn lanes(document: &Document, device: Device<'_>) -> MapLanes {
    let (lanes, segments) = (device.map_lanes(), device.segments());
    let (lanes, groups) = lanes.marks(segments, document);
    MapLanes { lanes, groups }
}
