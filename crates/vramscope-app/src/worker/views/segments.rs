//! The lanes of the map.

use super::super::document::{Device, Document};
use crate::protocol::views::segments::MapLanes;

pub(super) fn lanes(document: &Document, device: Device<'_>) -> MapLanes {
    let (lanes, segments) = (device.map_lanes(), device.segments());
    let (lanes, groups) = lanes.marks(segments, document);
    MapLanes { lanes, groups }
}
