//! The questions of the timeline beside its picture: lanes, marks, lines, training steps, neighbours.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::markers::Marker;
use vramscope_core::analysis::time::range_totals::RangeTotals;
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::decorations::{DecoratedLane, Decorations, NamedItem, PoolEnvelope};
pub use vramscope_view::line_facts::{LaneFacts, LineFacts};
pub use vramscope_view::step_marks::StepMarks;

use super::filter::FilterText;
use crate::Axis;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// The lanes, marks and lines of a part of the x axis. Answered by [`Answer::Decorations`].
    Decorations(Part),
    /// The training steps. Answered by [`Answer::Steps`].
    Steps { device: DeviceIndex, axis: Axis },
    /// One mark in full. Answered by [`Answer::Marker`].
    Marker {
        device: DeviceIndex,
        /// The moment that begins with it.
        moment: u32,
    },
    /// Sums over the events between two moments. Answered by [`Answer::Totals`].
    Totals {
        device: DeviceIndex,
        moments: Moments,
    },
    /// The next allocation up or down in the stack of bands. Answered by [`Answer::Neighbour`].
    Neighbour {
        device: DeviceIndex,
        filter: Option<FilterText>,
        moment: u32,
        /// The allocation to start from; `None` = the end of the stack.
        from: Option<AllocationId>,
        up: bool,
    },
}

/// A part of the x axis, and the lines to trace over it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    pub device: DeviceIndex,
    pub axis: Axis,
    /// Both ends, in the axis's unit.
    pub x: (f64, f64),
    /// Width of its picture, device px.
    pub width_px: u32,
    /// Device px per CSS px.
    pub pixel_ratio: f64,
    /// Whether to trace reserved memory.
    pub reserved: bool,
    /// Whether to trace private pools.
    pub pools: bool,
    /// The changed settings of the replay whose reserved memory to trace. It must have been asked for before.
    pub replay: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Decorations(Box<Decorations>),
    Steps(StepMarks),
    Marker {
        marker: Marker,
        /// The name of its pool, when the event names one.
        pool: Option<String>,
    },
    Totals(RangeTotals),
    /// `None` at the end of the stack.
    Neighbour(Option<AllocationId>),
}
