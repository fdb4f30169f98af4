//! The lanes of the map.

use super::super::describe::stream_label;
use super::super::document::{Device, Document};
use crate::protocol::views::segments::MapLanes;

pub(super) fn lanes(document: &Document, device: Device<'_>) -> MapLanes {
    let stream = |stream| stream_label(document, stream);
    let (lanes, segments) = (device.map_lanes(), device.segments());
    let (lanes, groups) = lanes.marks(segments, stream);
    MapLanes { lanes, groups }
}
