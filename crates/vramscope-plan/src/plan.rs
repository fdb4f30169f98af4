//! The plan of a device: the steps from ideal to real, and the plan of each pool and stream.

use serde::{Deserialize, Serialize};

use crate::packing::Method;
use crate::problems::{ArenaKey, Waiting};
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_core::model::DeviceIndex;

/// The memory needs of one device, from ideal to real, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DevicePlan {
    /// The device.
    pub device: DeviceIndex,
    /// The allocator that made the allocations.
    pub kind: AllocatorKind,
    /// What the file states about segments, and so about the reserved memory.
    pub segments: SegmentsKnown,
    /// Number of buffers, that is, of allocations live at some moment.
    pub buffers: u64,
    /// Peak of the bytes really reserved; `None` if the file does not show it.
    pub reserved_bytes: Option<u64>,
    /// The steps from ideal to real, in order.
    pub steps: Vec<Step>,
    /// The plan of each pool and stream, largest first.
    pub arenas: Vec<ArenaPlan>,
    /// Freed memory that could not be reused yet.
    pub waiting: Waiting,
    /// Why this device has no allocator model, as a sentence; `None` if it has one.
    pub no_model: Option<String>,
    /// Whether every bar is known. Only better packings may follow.
    pub has_all_bars: bool,
    /// Whether no work is left.
    pub is_done: bool,
}

impl DevicePlan {
    /// The bytes of one bar, if known.
    #[must_use]
    pub fn bytes(&self, kind: StepKind) -> Option<u64> {
        let step = self.steps.iter().find(|step| step.kind == kind);
        step.map(|step| step.bytes)
    }

    /// A number of bytes as a share of the bytes really reserved; `None` if those are 0 or unknown.
    #[must_use]
    pub fn share_of_real(&self, bytes: u64) -> Option<f64> {
        let real = self.reserved_bytes.filter(|&real| real > 0)?;
        Some(bytes as f64 / real as f64)
    }

    /// The index of the step that adds most to the requested bytes, and of equal ones the first; `None` if no step adds
    /// anything.
    #[must_use]
    pub fn largest_step(&self) -> Option<usize> {
        let changes = self.steps.iter().enumerate().skip(1);
        let changes = changes.filter(|(_, step)| step.change_bytes != 0);
        let largest =
            changes.max_by_key(|(place, step)| (step.change_bytes, std::cmp::Reverse(*place)));
        largest.map(|(place, _)| place)
    }

    /// The most by which all packings together may exceed the lowest possible ones; `None` until every problem has a
    /// packing.
    #[must_use]
    pub fn above_lowest_bytes(&self) -> Option<u64> {
        self.arenas.iter().try_fold(0_u64, |sum, arena| {
            Some(sum.saturating_add(arena.packed?.above_lowest_bytes()))
        })
    }

    /// Bytes that inductor's planner would need for all problems; `None` until that is known for each.
    #[must_use]
    pub fn pools_bytes(&self) -> Option<u64> {
        self.arenas.iter().try_fold(0_u64, |sum, arena| {
            Some(sum.saturating_add(arena.pools_bytes?))
        })
    }
}

/// One bar from ideal to real, and its difference to the bar before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The cause of the difference.
    pub kind: StepKind,
    /// Bytes needed after this and all steps before.
    pub bytes: u64,
    /// `bytes` minus those of the previous step; for the first step, all of them. Negative only if [`StepKind::may_shrink`].
    pub change_bytes: i64,
    /// The parts of the difference in this file, in a sentence or two.
    pub why: String,
    /// What can be done about it; empty if nothing needs to be.
    pub advice: String,
}

/// The cause of the difference to the bar before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The most requested bytes that were live at once.
    Requested,
    /// Requests grow to sizes that the allocator hands out.
    Alignment,
    /// Pools and streams do not share memory, and peak at different moments.
    Separation,
    /// Buffers cannot be moved, so free memory may be in pieces too small to use.
    Placement,
    /// The allocator decides without knowing the future, takes memory from the device in large pieces and keeps it.
    Caching,
    /// The allocator had cached memory from before the recording.
    Before,
    /// The error of the allocator model.
    Model,
    /// Everything between placement and the reserved bytes, if the model cannot split it, or has not yet.
    Kept,
}

impl StepKind {
    /// A short label for the difference.
    #[must_use]
    pub fn gap_label(self) -> &'static str {
        match self {
            Self::Requested => "requested at once",
            Self::Alignment => "alignment",
            Self::Separation => "pools and streams",
            Self::Placement => "placement",
            Self::Caching => "caching and fragmentation",
            Self::Before => "kept from before the recording",
            Self::Model => "model error",
            Self::Kept => "caching, fragmentation and the rest",
        }
    }

    /// A short label for the bar it leads to.
    #[must_use]
    pub fn bar_label(self) -> &'static str {
        match self {
            Self::Requested => "requested at once",
            Self::Alignment => "aligned requests",
            Self::Separation => "each pool and stream by itself",
            Self::Placement => "best packing",
            Self::Caching => "allocator model",
            Self::Before => "allocator model from the recorded start",
            Self::Model | Self::Kept => "measured",
        }
    }

    /// Whether this bar may be lower than the previous one. Memory returned to CUDA can serve one pool or stream after
    /// another, and a model may err in either direction.
    #[must_use]
    pub fn may_shrink(self) -> bool {
        matches!(self, Self::Caching | Self::Model | Self::Kept)
    }
}

/// The plan of one pool on one stream, whose memory no other pool or stream can use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ArenaPlan {
    /// The pool and stream.
    pub key: ArenaKey,
    /// Its name: `default pool, stream 2`.
    pub label: String,
    /// Number of its buffers.
    pub buffers: u64,
    /// Peak of its live requested bytes.
    pub requested_bytes: u64,
    /// The same with each request aligned: a lower bound of any packing.
    pub aligned_bytes: u64,
    /// The best packing so far.
    pub packed: Option<PackedBytes>,
    /// Bytes that inductor's pool planner would need for the same buffers; `None` if not known yet, or if there are too
    /// many buffers.
    pub pools_bytes: Option<u64>,
    /// Peak of the bytes that the allocator model reserves, starting empty and with the file's own settings; `None` if
    /// there is no model, or it has not run yet.
    pub modelled_bytes: Option<u64>,
    /// Peak of the bytes really reserved; `None` if unknown.
    pub reserved_bytes: Option<u64>,
}

/// Figures of a packing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PackedBytes {
    /// Bytes that it takes.
    pub bytes: u64,
    /// Lower bound: no packing takes fewer bytes.
    pub bound_bytes: u64,
    /// Whether it was found by search and not by a greedy packer.
    pub is_searched: bool,
    /// Whether nothing further will be tried.
    pub is_final: bool,
}

impl PackedBytes {
    pub(super) fn of(packed: &crate::packing::Packed, is_final: bool) -> Self {
        Self {
            bytes: packed.packing.height,
            bound_bytes: packed.bound,
            is_searched: packed.method == Method::Search,
            is_final,
        }
    }

    /// The most by which it may exceed the lowest packing.
    #[must_use]
    pub fn above_lowest_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.bound_bytes)
    }

    /// Whether no lower packing can exist.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.bytes == self.bound_bytes
    }

    /// Its quality in a few words.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.is_optimal(), self.is_final) {
            (true, _) => "proven best",
            (false, true) => "best found",
            (false, false) => "best so far",
        }
    }
}
