//! What the timeline asks beside its picture: lanes, markers, curves.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::capacity::Capacity;
use vramscope_core::analysis::time::lanes::{LaneKind, StepsBy};
use vramscope_core::analysis::time::markers::Marker;
use vramscope_core::analysis::time::range_totals::RangeTotals;
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::decorations::{DecoratedLane, Decorations, NamedItem, PoolEnvelope};

use super::filter::FilterText;
use crate::protocol::Axis;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// What lies above and over a part of the x axis. Answered by [`Answer::Decorations`].
    Decorations(Part),
    /// The training steps. Answered by [`Answer::Steps`].
    Steps { device: DeviceIndex, axis: Axis },
    /// One mark in full. Answered by [`Answer::Marker`].
    Marker {
        device: DeviceIndex,
        /// The moment that it begins.
        moment: u32,
    },
    /// What the events between two moments do. Answered by [`Answer::Totals`].
    Totals {
        device: DeviceIndex,
        moments: Moments,
    },
    /// The next allocation up or down in the stack of bands. Answered by [`Answer::Neighbour`].
    Neighbour {
        device: DeviceIndex,
        filter: Option<FilterText>,
        moment: u32,
        /// From this one; `None` = from the end of the stack.
        from: Option<AllocationId>,
        up: bool,
    },
}

/// A part of the x axis, and what to find for it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// From … to, in the axis's unit.
    pub x: (f64, f64),
    /// How wide it is drawn, device px.
    pub width_px: u32,
    /// Device px per CSS px.
    pub pixel_ratio: f64,
    /// Whether to trace reserved memory.
    pub reserved: bool,
    /// Whether to trace private pools.
    pub pools: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Decorations(Box<Decorations>),
    Steps(StepMarks),
    Marker(Marker),
    Totals(RangeTotals),
    /// See [`Question::Neighbour`]; `None` at the end of the stack.
    Neighbour(Option<AllocationId>),
}

/// The training steps on one axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepMarks {
    pub axis: Axis,
    /// What told them; `None` if there are none.
    pub by: Option<StepsBy>,
    /// Their name, numbers as `#`.
    pub pattern: String,
    pub count: u64,
    /// Where each begins; evenly thinned where there are very many.
    pub starts: Vec<f64>,
}

/// What a device has to show above and over its picture.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LineFacts {
    /// Its lanes, from the top.
    pub lanes: Vec<LaneFacts>,
    /// Whether there are marks of the program, and marks of segments.
    pub tracks: [bool; 2],
    /// The device's memory, where the file tells.
    pub capacity: Option<Capacity>,
    /// Whether there are private pools.
    pub has_pools: bool,
    /// Annotations before or after the recorded events.
    pub outside: u64,
    /// Annotations that cannot be placed for want of times.
    pub without_time: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneFacts {
    /// What it is made from.
    pub kind: LaneKind,
    /// Whose ranges it holds; empty where that is not known.
    pub name: String,
    /// How many rows it has.
    pub rows: u32,
    /// How many ranges it has.
    pub ranges: u64,
}
