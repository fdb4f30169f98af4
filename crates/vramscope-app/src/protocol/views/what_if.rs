//! What the what-if view asks: how little memory would do, and what other settings would.
//!
//! Packing and modelling take long, so a plan is asked for again and again until it is done: each question is
//! worked on for a moment only, and others have their turn in between.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;
use vramscope_plan::what_if::WhatIf;
use vramscope_plan::{ArenaPlan, DevicePlan};
use vramscope_view::map::GroupMark;
use vramscope_view::waterfall::BarPart;

use crate::protocol::Axis;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// Work on the plan of a device for a moment, and say what is known. Answered by [`Answer::Plan`].
    Plan {
        device: DeviceIndex,
        /// How often it was asked before: makes each question another one.
        round: u32,
        /// How long to search for better packings, in ms of work.
        search_ms: u32,
    },
    /// Pools and streams in the packing that is drawn. Answered by [`Answer::Groups`].
    Groups {
        device: DeviceIndex,
        /// Of which packing, see [`Planned::packing`].
        packing: u32,
    },
    /// Figures by pool and stream. Answered by [`Answer::Arenas`].
    Arenas {
        device: DeviceIndex,
        /// Of which packing, and while what is worked on: they change with both.
        packing: u32,
        stage: Stage,
    },
    /// Replay the trace with other settings. Answered by [`Answer::Replay`].
    Replay {
        device: DeviceIndex,
        /// The settings that change, as `PYTORCH_CUDA_ALLOC_CONF` has them.
        changes: String,
        /// The axis of the curves.
        axis: Axis,
        /// How many columns they have at most.
        columns: u32,
        /// How often it was asked before.
        round: u32,
    },
    /// Replay the trace with what is worth a try. Answered by [`Answer::Tries`].
    Tries {
        device: DeviceIndex,
        /// How often it was asked before.
        round: u32,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Plan(Box<Planned>),
    /// See [`Question::Groups`]: from the bottom up; empty where there is only one.
    Groups(Vec<GroupMark>),
    Arenas(ArenaRows),
    Replay(Box<Replayed>),
    Tries(Tries),
}

/// A plan as far as it is worked out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// What is known, without its arenas: those are asked for where they are shown.
    pub plan: DevicePlan,
    /// How many pools and streams there are.
    pub arenas: u64,
    /// The bar of each of its steps.
    pub bars: Vec<BarPart>,
    /// The step that adds the most to what was requested; `None` where none does.
    pub largest: Option<usize>,
    /// By how much all packings together may be above the lowest; `None` before there are any.
    pub above_lowest_bytes: Option<u64>,
    /// What is being worked on.
    pub stage: Stage,
    /// Why nothing can be said of other settings, as a sentence; `None` where something can, or it is not known yet.
    pub no_what_if: Option<String>,
    /// How often the packing that is drawn has changed; 0 = there is none yet.
    pub packing: u32,
}

/// Figures by pool and stream.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ArenaRows {
    pub device: DeviceIndex,
    /// The largest first; of very many the largest.
    pub arenas: Vec<ArenaPlan>,
    /// How many are left out.
    pub left_out: u64,
}

/// What of a plan is being worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Stage {
    #[default]
    Packing,
    /// The model of the allocator.
    Modelling,
    Searching,
    Done,
}

/// What other settings would do, as far as it is replayed. What-ifs come without their steps and arenas.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Replayed {
    pub device: DeviceIndex,
    /// Why nothing is replayed: these settings are none, or there is no model for this file.
    pub refusal: Option<String>,
    /// What bears on memory and the model does not follow, as sentences.
    pub not_modelled: Vec<String>,
    /// The settings with the changes, as `PYTORCH_CUDA_ALLOC_CONF` has them; empty = the defaults.
    pub settings: String,
    /// The memory that the process may take with them, where there is a limit.
    pub limit_bytes: Option<u64>,
    /// The most that was really reserved.
    pub real_bytes: u64,
    /// The model with the file's own settings, from an empty allocator: what others are compared with.
    pub own: Option<WhatIf>,
    /// With the other settings, from an empty allocator; `None` also where they do not differ.
    pub changed: Option<WhatIf>,
    /// How far to trust the model, as sentences.
    pub trust: Vec<String>,
    pub curves: ReservedCurves,
    /// Whether nothing is left to replay.
    pub is_done: bool,
}

impl Replayed {
    /// Whether there is something to show.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_done && self.refusal.is_none()
    }

    /// Whether these are known to be the file's own settings.
    #[must_use]
    pub fn is_as_recorded(&self) -> bool {
        self.is_done && self.changed.is_none()
    }
}

/// What is worth a try.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Tries {
    pub device: DeviceIndex,
    /// The best first, once all are known.
    pub rows: Vec<Try>,
    /// Whether nothing is left to replay.
    pub is_done: bool,
}

/// Settings worth a try.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Try {
    /// What they change, as `PYTORCH_CUDA_ALLOC_CONF` has it.
    pub changes: String,
    /// What the model does with them; `None` = not replayed yet.
    pub outcome: Option<WhatIf>,
}

/// Reserved memory over the whole recording, the highest of each column.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ReservedCurves {
    pub axis: Axis,
    pub x_end: f64,
    /// Active memory, which is the same for all.
    pub active_bytes: Vec<u64>,
    pub real_bytes: Vec<u64>,
    /// What the model reserves with the file's own settings, starting empty.
    pub own_bytes: Vec<u64>,
    /// The same with the other settings; empty where they do not differ.
    pub changed_bytes: Vec<u64>,
    /// Where the model first refuses a request under the other settings.
    pub refused_x: Option<f64>,
}
