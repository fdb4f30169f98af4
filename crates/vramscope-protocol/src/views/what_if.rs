//! The questions of the what-if view: plans with less memory, and replays with other settings.
//!
//! [`ProgramOf`] and [`ConclusionOf`] are the worker's to answer, each [`Question`] the planner's, which has a copy of the snapshot.
//! A plan takes long, so it is asked for again and again until it is done. What the planner finds and the worker has to know is
//! attached to its answers: [`Found`].

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::findings::Finding;
use vramscope_core::analysis::report::program_changes::ProgramChange;
use vramscope_core::model::{DeviceIndex, PoolId};
use vramscope_plan::what_if::WhatIf;
use vramscope_plan::{ArenaPlan, DevicePlan};
use vramscope_view::map::GroupMark;

use crate::Axis;

/// Asks what changes of the program would leave of the peak.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramOf {
    pub device: DeviceIndex,
}

/// Asks what replays with other settings amount to, as far as that is known without them. Answered by [`Concluded`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConclusionOf {
    pub device: DeviceIndex,
}

/// What the planner found in the snapshot, or in these memory pools of it. Its bytes go to the worker with
/// [`Request::Take`](crate::Request::Take).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The pools, as a search; `None` for all.
    pub within: Option<String>,
    pub device: DeviceIndex,
    pub what: What,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum What {
    /// A packing, to be drawn: its groups from the bottom up.
    Packing(Vec<PackedPlaces>),
    /// Reserved memory in a replay, to be drawn over the timeline: bytes from each moment on.
    Replay {
        changes: String,
        reserved_steps: Vec<(u32, u64)>,
    },
    /// What replays amount to.
    Conclusion(Option<Box<Finding>>),
}

/// Places in the packing of one pool and stream; see [`PackedGroup`](vramscope_view::map::PackedGroup).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PackedPlaces {
    pub stream: Option<i64>,
    pub pool: PoolId,
    pub rows: Vec<u32>,
    pub offset: Vec<u64>,
    pub bytes: Vec<u64>,
    pub height: u64,
}

/// A question to the planner.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// Work on the plan of a device for a while, and say what is known. Answered by [`Answer::Plan`].
    Plan {
        device: DeviceIndex,
        /// Counts the questions, so that each is another one.
        round: u32,
        /// Time to search for better packings, in ms of work.
        search_ms: u32,
    },
    /// Pools and streams in the packing that is drawn. Answered by [`Answer::Groups`].
    Groups {
        device: DeviceIndex,
        /// The packing that is drawn, see [`Planned::packing`].
        packing: u32,
    },
    /// Figures by pool and stream. Answered by [`Answer::Arenas`].
    Arenas {
        device: DeviceIndex,
        /// The packing and the stage that are known: the figures change with both.
        packing: u32,
        stage: Stage,
    },
    /// Replay the trace with other settings. Answered by [`Answer::Replay`].
    Replay {
        device: DeviceIndex,
        /// The settings to change, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`.
        changes: String,
        /// The axis of the curves.
        axis: Axis,
        /// The most columns that they may have.
        columns: u32,
    },
    /// Replay the trace with the next setting that is worth a try. Answered by [`Answer::Tries`].
    Tries {
        device: DeviceIndex,
        /// Counts the questions, so that each is another one.
        round: u32,
    },
    /// Replay the same until they conclude something. Answered by [`Answer::Concluded`].
    Conclude {
        device: DeviceIndex,
        /// Counts the questions, so that each is another one.
        round: u32,
    },
}

impl Question {
    /// The device that it is about.
    #[must_use]
    pub fn device(&self) -> DeviceIndex {
        match self {
            Self::Plan { device, .. }
            | Self::Groups { device, .. }
            | Self::Arenas { device, .. }
            | Self::Replay { device, .. }
            | Self::Tries { device, .. }
            | Self::Conclude { device, .. } => *device,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Plan(Box<Planned>),
    /// From the bottom up; empty if there is only one.
    Groups(Vec<GroupMark>),
    Arenas(ArenaRows),
    Replay(Box<Replayed>),
    Tries(Tries),
    Concluded(Box<Concluded>),
}

/// A plan as far as it is known.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// The plan without its arenas, which are asked for where they are shown.
    pub plan: DevicePlan,
    /// Number of pairs of pool and stream.
    pub arenas: u64,
    /// The most bytes by which all packings together may exceed the lowest ones; `None` before there are any.
    pub above_lowest_bytes: Option<u64>,
    pub stage: Stage,
    /// The reason why replays with other settings are refused, as a sentence; `None` if they are not, or not yet known.
    pub no_what_if: Option<String>,
    /// Counts the packings that were drawn; 0 = none yet.
    pub packing: u32,
    /// Height of the map of memory as it was.
    pub map_bytes: u64,
}

/// Figures by pool and stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ArenaRows {
    pub device: DeviceIndex,
    /// The largest first; only the largest of very many.
    pub arenas: Vec<ArenaPlan>,
    /// Number of those left out.
    pub left_out: u64,
}

/// Changes of the program.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProgramRows {
    pub device: DeviceIndex,
    /// The peak of live memory as recorded.
    pub peak_bytes: u64,
    /// The most that was reserved; 0 if that is not recorded.
    pub reserved_bytes: u64,
    /// What saves something, the most effective first, each with the bytes that it saves at the peak.
    pub rows: Vec<(u64, ProgramChange)>,
    /// How to try a change without a GPU; `None` if that makes no sense.
    pub dry_run: Option<String>,
}

/// The stage of the work on a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Stage {
    #[default]
    Packing,
    /// Replaying the trace with the allocator model.
    Modelling,
    Searching,
    Done,
}

/// A replay with other settings. What-ifs come without their steps and arenas.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Replayed {
    pub device: DeviceIndex,
    /// The reason why nothing is replayed: the settings cannot be parsed, or there is no model for this file.
    pub refusal: Option<String>,
    /// Effects on memory that the model leaves out, as sentences.
    pub not_modelled: Vec<String>,
    /// All settings with the changes, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`; empty = the defaults.
    pub settings: String,
    /// The most memory that the process may take with them; `None` = no limit.
    pub limit_bytes: Option<u64>,
    /// The most bytes that were really reserved.
    pub real_bytes: u64,
    /// The model with the file's own settings, starting empty. Other settings are compared with it.
    pub own: Option<WhatIf>,
    /// The model with the other settings, starting empty; `None` also if they do not differ.
    pub changed: Option<WhatIf>,
    /// The model's trustworthiness, as sentences.
    pub trust: Vec<String>,
    pub curves: ReservedCurves,
}

/// The settings that are worth a try.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Tries {
    pub device: DeviceIndex,
    /// In order of suggestion, and the best first once all are replayed.
    pub rows: Vec<Try>,
    /// Whether all are replayed.
    pub is_done: bool,
}

/// What replays with other settings amount to.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Concluded {
    pub device: DeviceIndex,
    /// The finding; `None` if there is none, or not yet.
    pub finding: Option<Finding>,
    /// Whether the replays have ended.
    pub is_done: bool,
}

/// Settings worth a try.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Try {
    /// The settings to change, in the syntax of `PYTORCH_CUDA_ALLOC_CONF`.
    pub changes: String,
    /// The model's result; `None` = not replayed yet, or refused.
    pub outcome: Option<WhatIf>,
}

/// Reserved memory over the whole recording: the highest value of each column.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ReservedCurves {
    pub axis: Axis,
    pub x_end: f64,
    /// Active memory, which no setting changes.
    pub active_bytes: Vec<u64>,
    pub real_bytes: Vec<u64>,
    /// The model's reserved memory with the file's own settings.
    pub own_bytes: Vec<u64>,
    /// The same with the other settings; empty if they do not differ.
    pub changed_bytes: Vec<u64>,
    /// The place on the axis where the model first refuses a request under the other settings.
    pub refused_x: Option<f64>,
}
