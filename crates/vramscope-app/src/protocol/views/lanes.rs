//! What the timeline asks beside its picture: lanes, markers, curves.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::capacity::Capacity;
use vramscope_core::analysis::lanes::{LaneKind, StepsBy};
use vramscope_core::analysis::markers::Marker;
use vramscope_core::analysis::range_totals::RangeTotals;
use vramscope_core::analysis::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{DeviceIndex, PoolId};
use vramscope_view::lanes::Item;
use vramscope_view::marks::Mark;
use vramscope_view::reserved::{Curve, Envelope};

use crate::protocol::{Axis, FilterId};

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What lies above and over a part of the x axis. Answered by [`Answer::Shown`].
    Shown(Part),
    /// The training steps. Answered by [`Answer::Steps`].
    Steps {
        /// The device.
        device: DeviceIndex,
        /// The x axis.
        axis: Axis,
    },
    /// One mark in full. Answered by [`Answer::Marker`].
    Marker {
        /// The device.
        device: DeviceIndex,
        /// The moment that it begins.
        moment: u32,
    },
    /// What the events between two moments do. Answered by [`Answer::Totals`].
    Totals {
        /// The device.
        device: DeviceIndex,
        /// The moments.
        moments: Moments,
    },
    /// The next allocation up or down in the stack of bands. Answered by [`Answer::Neighbour`].
    Neighbour {
        /// The device.
        device: DeviceIndex,
        /// Only what it matches.
        filter: FilterId,
        /// Live at this moment.
        moment: u32,
        /// From this one; `None` = from the end of the stack.
        from: Option<AllocationId>,
        /// Up rather than down.
        up: bool,
    },
}

/// A part of the x axis, and what to find for it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The device.
    pub device: DeviceIndex,
    /// The x axis.
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

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// See [`Question::Shown`].
    Shown(Box<Shown>),
    /// See [`Question::Steps`].
    Steps(StepMarks),
    /// See [`Question::Marker`].
    Marker(Marker),
    /// See [`Question::Totals`].
    Totals(RangeTotals),
    /// See [`Question::Neighbour`]; `None` at the end of the stack.
    Neighbour(Option<AllocationId>),
}

/// What lies above and over a part of the x axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Shown {
    /// In the order of [`LineFacts::lanes`].
    pub lanes: Vec<ShownLane>,
    /// Kind by kind, from left to right.
    pub marks: Vec<Mark>,
    /// Highest reserved memory per device px; empty if it was not asked for or is not known.
    pub reserved: Curve,
    /// The envelopes of the private pools, from the lowest.
    pub pools: Vec<ShownPool>,
}

/// A lane's part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShownLane {
    /// What it is made from.
    pub kind: LaneKind,
    /// Its rows, the outermost ranges first; of very deep lanes the first ones.
    pub rows: Vec<Vec<ShownItem>>,
}

/// A range, or several narrow ones.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShownItem {
    /// Where it is, and how many ranges it stands for.
    pub item: Item,
    /// Its name; of several their common one, if they have one.
    pub name: String,
    /// The same for a label: of JSON only the values.
    pub label: String,
    /// The moments before its first event and after its last.
    pub moments: Moments,
    /// Whether the beginning or the end of a single one was not recorded.
    pub is_open: bool,
}

/// A private pool's part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ShownPool {
    /// The pool; `None` for the smaller ones of very many, together.
    pub pool: Option<PoolId>,
    /// The number of its stream.
    pub stream_number: u32,
    /// Its place among the file's pools, after all of them where several are one: the number of its colour.
    pub ordinal: u32,
    /// Where what it holds but does not use lies, over the same columns as [`Shown::reserved`].
    pub envelope: Envelope,
}

/// The training steps on one axis.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepMarks {
    /// The axis.
    pub axis: Axis,
    /// What told them; `None` if there are none.
    pub by: Option<StepsBy>,
    /// Their name, numbers as `#`.
    pub pattern: String,
    /// How many there are.
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

/// A lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LaneFacts {
    /// What it is made from.
    pub kind: LaneKind,
    /// How many rows it has.
    pub rows: u32,
    /// How many ranges it has.
    pub ranges: u64,
}
