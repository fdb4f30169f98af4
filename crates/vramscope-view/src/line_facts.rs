//! The lanes, marks and lines that a device can show above and on top of its picture.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::capacity::Capacity;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::byte_steps::most_bytes;
use vramscope_core::analysis::time::lanes::LaneKind;
use vramscope_core::analysis::time::markers::MarkerKind;
use vramscope_core::model::PoolId;

use crate::marks::track;

/// The lanes, marks and lines that a device has.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LineFacts {
    /// Lanes from the top down.
    pub lanes: Vec<LaneFacts>,
    /// Whether each [`track`] has marks: that of the program, and that of segments.
    pub tracks: [bool; 2],
    /// The device's memory; `None` if the file does not state it.
    pub capacity: Option<Capacity>,
    /// Whether there are private pools besides other pools.
    pub has_pools: bool,
    /// The most bytes of segments and of memory in no known segment, in captured snapshots; 0 if all memory is in segments.
    pub held_bytes: u64,
    /// Annotations before or after the recorded events.
    pub outside: u64,
    /// Annotations that cannot be placed because times are missing.
    pub unplaced: u64,
}

/// A lane of named ranges.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneFacts {
    /// The kind of its ranges.
    pub kind: LaneKind,
    /// The thread or stage of its ranges; empty if unknown.
    pub name: String,
    /// Number of rows.
    pub rows: u32,
    /// Number of ranges.
    pub ranges: u64,
}

impl LineFacts {
    /// Collects them from a device.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        let snapshot = device.snapshot();
        let (lanes, markers) = (device.lanes(), device.markers());
        let has = |on| {
            let mut kinds = MarkerKind::ALL
                .into_iter()
                .filter(|&kind| track(kind) == on);
            kinds.any(|kind| !markers.column(kind).is_empty())
        };
        let is_private = |pool: Option<PoolId>| pool.is_some_and(PoolId::is_private);
        let own = i32::try_from(device.index()).unwrap_or(i32::MIN);
        let mut segments = snapshot.segments.of_device(own);
        let mut contexts = snapshot.contexts.rows().iter();
        let facts = lanes.lanes.iter().map(|lane| LaneFacts {
            kind: lane.kind,
            name: lane.name.clone(),
            rows: lane.rows.len() as u32,
            ranges: lane.len() as u64,
        });
        Self {
            lanes: facts.collect(),
            tracks: [has(0), has(1)],
            capacity: device.capacity(),
            has_pools: !device.recording.is_within_pools()
                && (segments.any(|(_, segment)| is_private(segment.pool))
                    || contexts.any(|context| is_private(context.pool))),
            held_bytes: most_bytes(&device.pool_usage().held_steps),
            outside: lanes.outside,
            unplaced: lanes.unplaced,
        }
    }
}
