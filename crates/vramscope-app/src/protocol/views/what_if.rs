//! What the what-if view asks: how little memory would do, and what other settings would.
//!
//! Packing and modelling take long, so a plan is asked for again and again until it is done: each question is
//! worked on for a moment only, and others have their turn in between.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::plan::what_if::Verdict;
use vramscope_core::analysis::plan::{DevicePlan, PlacePlan};
use vramscope_core::model::DeviceIndex;
use vramscope_view::map::GroupMark;
use vramscope_view::waterfall::BarPart;

use crate::protocol::Axis;

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Work on the plan of a device for a moment, and say what is known. Answered by [`Answer::Plan`].
    Plan {
        /// The device.
        device: DeviceIndex,
        /// How often it was asked before: makes each question another one.
        round: u32,
        /// How long to search for better packings, in ms of work.
        search_ms: u32,
    },
    /// Pools and streams in the packing that is drawn. Answered by [`Answer::Groups`].
    Groups {
        /// The device.
        device: DeviceIndex,
        /// Of which packing, see [`Planned::packing`].
        packing: u32,
    },
    /// Figures by pool and stream. Answered by [`Answer::Places`].
    Places {
        /// The device.
        device: DeviceIndex,
        /// Of which packing: they change with it,
        packing: u32,
        /// and with what is worked on.
        stage: Stage,
    },
    /// Replay the trace with other settings. Answered by [`Answer::Replay`].
    Replay {
        /// The device.
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
        /// The device.
        device: DeviceIndex,
        /// How often it was asked before.
        round: u32,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// See [`Question::Plan`].
    Plan(Box<Planned>),
    /// See [`Question::Groups`]: from the bottom up; empty where there is only one.
    Groups(Vec<GroupMark>),
    /// See [`Question::Places`].
    Places(Places),
    /// See [`Question::Replay`].
    Replay(Box<Replayed>),
    /// See [`Question::Tries`].
    Tries(Tries),
}

/// A plan as far as it is worked out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Planned {
    /// What is known, without its places: those are asked for where they are shown.
    pub plan: DevicePlan,
    /// How many pools and streams there are.
    pub places: u64,
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
pub struct Places {
    /// The device.
    pub device: DeviceIndex,
    /// The largest first; of very many the largest.
    pub places: Vec<PlacePlan>,
    /// How many are left out.
    pub left_out: u64,
}

/// What of a plan is being worked on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A first packing.
    #[default]
    Packing,
    /// The model of the allocator.
    Modelling,
    /// Better packings.
    Searching,
    /// Nothing.
    Done,
}

/// What other settings would do, as far as it is replayed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Replayed {
    /// The device.
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
    pub own: Option<ModelFigures>,
    /// With the other settings, from an empty allocator; `None` also where they do not differ.
    pub changed: Option<ModelFigures>,
    /// What the comparison says; `None` while there is none.
    pub verdict: Option<Told>,
    /// How far to trust the model, as sentences.
    pub trust: Vec<String>,
    /// Memory over time.
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

/// What the model did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ModelFigures {
    /// The most reserved.
    pub peak_bytes: u64,
    /// Free memory in its segments then.
    pub free_bytes: u64,
    /// Of that, what rounding took.
    pub rounding_bytes: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that failed in the recording and would be served.
    pub rescued: u64,
    /// How often cached segments were given back because memory was short.
    pub retries: u64,
    /// What is to be made of it, beside the file's own settings.
    pub verdict: Verdict,
}

/// What is worth a try.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Tries {
    /// The device.
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
    pub figures: Option<ModelFigures>,
}

/// What a comparison says.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Told {
    /// What is to be made of it.
    pub verdict: Verdict,
    /// The same in a sentence or two.
    pub says: String,
    /// What else there is to say; mostly empty.
    pub remark: String,
}

/// Reserved memory over the whole recording, the highest of each column.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ReservedCurves {
    /// The axis.
    pub axis: Axis,
    /// Its end.
    pub x_end: f64,
    /// Active memory, which is the same for all.
    pub active_bytes: Vec<u64>,
    /// What was really reserved.
    pub real_bytes: Vec<u64>,
    /// What the model reserves with the file's own settings, starting empty.
    pub own_bytes: Vec<u64>,
    /// The same with the other settings; empty where they do not differ.
    pub changed_bytes: Vec<u64>,
    /// Where the model first refuses a request under the other settings.
    pub refused_x: Option<f64>,
}
