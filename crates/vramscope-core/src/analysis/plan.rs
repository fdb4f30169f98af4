//! How little memory a device's recorded buffers could do with, and what lies between that and what was reserved.
//!
//! The way from ideal to real goes in steps, whose bytes add up: what was requested at once, rounding, pools and
//! streams that cannot share, placement without moving anything, what PyTorch's allocator keeps (from a
//! [model](super::allocator_model) of it), what it had kept before the recording, and what the model gets wrong.
//!
//! A [`Planner`] does the cheap parts when it is made and the others in slices; its [`DevicePlan`] holds what is
//! known by then. What other settings would do is [`what_if`]'s question. Left out: another order of the
//! program's operations, for which a snapshot lacks the dataflow; compiled regions have it
//! ([`inductor`](super::inductor)).

mod bars;
mod places;
mod planner;
#[cfg(test)]
mod tests;
mod trust;
pub mod what_if;
mod words;

use serde::{Deserialize, Serialize};

pub use self::places::{Place, PlaceKey};
pub use self::planner::Planner;
use super::capture::AllocatorKind;
use super::overview::SegmentsKnown;
use super::packing::Method;
use crate::model::DeviceIndex;

/// What one device needs, from ideal to real, as far as it is worked out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DevicePlan {
    /// The device.
    pub device: DeviceIndex,
    /// Whose allocations these are.
    pub kind: AllocatorKind,
    /// What is known of segments, and so of what was really reserved.
    pub segments: SegmentsKnown,
    /// Number of buffers: allocations that were live at some moment.
    pub buffers: u64,
    /// From ideal to real.
    pub steps: Vec<Step>,
    /// Pools and streams, the largest first.
    pub places: Vec<PlacePlan>,
    /// What was freed but could not be used again yet.
    pub waiting: Waiting,
    /// Why there is no allocator model for this device, as a sentence; `None` where there is.
    pub no_model: Option<String>,
    /// Whether every bar is known; only better packings may follow.
    pub has_all_bars: bool,
    /// Whether there is nothing left to work out.
    pub is_done: bool,
}

impl DevicePlan {
    /// The bar of a kind, if it is known.
    #[must_use]
    pub fn bytes(&self, kind: StepKind) -> Option<u64> {
        let step = self.steps.iter().find(|step| step.kind == kind);
        step.map(|step| step.bytes)
    }

    /// What was really reserved, if it is known.
    #[must_use]
    pub fn real_bytes(&self) -> Option<u64> {
        self.bytes(StepKind::Model).or(self.bytes(StepKind::Kept))
    }

    /// So many bytes as a share of what was really reserved; `None` where that is nothing or not known.
    #[must_use]
    pub fn share_of_real(&self, bytes: u64) -> Option<f64> {
        let real = self.real_bytes().filter(|&real| real > 0)?;
        Some(bytes as f64 / real as f64)
    }

    /// The step that adds the most to what was requested, the first of equals; `None` where none changes anything.
    #[must_use]
    pub fn largest_step(&self) -> Option<usize> {
        let changes = self.steps.iter().enumerate().skip(1);
        let changes = changes.filter(|(_, step)| step.change_bytes != 0);
        let largest =
            changes.max_by_key(|(place, step)| (step.change_bytes, std::cmp::Reverse(*place)));
        largest.map(|(place, _)| place)
    }

    /// By how much all packings together may be above the lowest; `None` while a place has none.
    #[must_use]
    pub fn above_lowest_bytes(&self) -> Option<u64> {
        self.places.iter().try_fold(0_u64, |sum, place| {
            Some(sum.saturating_add(place.packed?.above_lowest_bytes()))
        })
    }

    /// What inductor's planner would need for all places; `None` while it is not known of each.
    #[must_use]
    pub fn pools_bytes(&self) -> Option<u64> {
        self.places.iter().try_fold(0_u64, |sum, place| {
            Some(sum.saturating_add(place.pools_bytes?))
        })
    }
}

/// One bar on the way from ideal to real: what it adds to the one before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Which.
    pub kind: StepKind,
    /// Bytes needed with this and all steps before.
    pub bytes: u64,
    /// `bytes` less those of the step before; for the first step all of them. Below 0 only where
    /// [`StepKind::may_shrink`].
    pub change_bytes: i64,
    /// What it consists of in this file: a sentence or two.
    pub why: String,
    /// What can be done about it; empty where nothing need be.
    pub advice: String,
}

/// What makes the difference to the bar before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The most requested bytes that were live at once.
    Requested,
    /// Blocks are larger than requests.
    Rounding,
    /// Pools and streams do not share memory, and have their peaks at different moments.
    Separation,
    /// Buffers stay where they are, so that what is free may be in pieces that nothing fits into.
    Placement,
    /// The allocator decides without knowing what comes, takes memory from CUDA in large pieces and keeps it.
    Caching,
    /// It had kept memory from before the recording.
    Before,
    /// What the model of the allocator gets wrong.
    Model,
    /// All from placement to what was reserved, where no model tells it apart, or not yet.
    Kept,
}

impl StepKind {
    /// What it adds, in a word or two.
    #[must_use]
    pub fn gap_label(self) -> &'static str {
        match self {
            Self::Requested => "requested at once",
            Self::Rounding => "rounding",
            Self::Separation => "pools and streams",
            Self::Placement => "placement",
            Self::Caching => "caching and fragmentation",
            Self::Before => "kept from before the recording",
            Self::Model => "not explained by the model",
            Self::Kept => "caching, fragmentation and the rest",
        }
    }

    /// What is reached with it.
    #[must_use]
    pub fn bar_label(self) -> &'static str {
        match self {
            Self::Requested => "requested at once",
            Self::Rounding => "with rounding",
            Self::Separation => "each pool and stream by itself",
            Self::Placement => "best packing",
            Self::Caching => "allocator model",
            Self::Before => "allocator model from the recorded start",
            Self::Model | Self::Kept => "really reserved",
        }
    }

    /// Whether this bar may be lower than the one before: memory that is given back to CUDA serves one place
    /// after another, and a model may be wrong either way.
    #[must_use]
    pub fn may_shrink(self) -> bool {
        matches!(
            self,
            Self::Caching | Self::Before | Self::Model | Self::Kept
        )
    }
}

/// One pool on one stream: buffers of others cannot use its memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacePlan {
    /// Which.
    pub key: PlaceKey,
    /// Its name: `default pool, stream 2`.
    pub label: String,
    /// Number of its buffers.
    pub buffers: u64,
    /// The most of its requested bytes that were live at once.
    pub requested_bytes: u64,
    /// The same of its blocks, rounding included.
    pub rounded_bytes: u64,
    /// The best packing by now.
    pub packed: Option<PackedBytes>,
    /// What inductor's planner of pools would need for the same buffers; `None` = not worked out yet, or too many of them.
    pub pools_bytes: Option<u64>,
    /// The most that the model of the allocator reserves, beginning empty, with the file's own settings; `None` where
    /// there is no model, or it has not run yet.
    pub modelled_bytes: Option<u64>,
    /// The most that was really reserved; `None` where it is not known.
    pub reserved_bytes: Option<u64>,
}

/// A packing in figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PackedBytes {
    /// Bytes that it needs.
    pub bytes: u64,
    /// No packing can need fewer than this.
    pub bound_bytes: u64,
    /// Whether it was found by search; else greedily.
    pub is_searched: bool,
    /// Whether no more is going to be tried.
    pub is_final: bool,
}

impl PackedBytes {
    fn of(packed: &super::packing::Packed, is_final: bool) -> Self {
        Self {
            bytes: packed.packing.height,
            bound_bytes: packed.bound,
            is_searched: packed.method == Method::Search,
            is_final,
        }
    }

    /// By how much it may be above the lowest.
    #[must_use]
    pub fn above_lowest_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.bound_bytes)
    }

    /// Whether nothing lower can exist.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.bytes == self.bound_bytes
    }

    /// How good it is, in a few words.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match (self.is_optimal(), self.is_final) {
            (true, _) => "proven best",
            (false, true) => "best found",
            (false, false) => "best so far",
        }
    }
}

/// Memory that the program had freed, but that other streams could still be using.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Waiting {
    /// The most requested bytes that waited at once.
    pub most_bytes: u64,
    /// Of the requested bytes at their peak.
    pub at_peak_bytes: u64,
    /// The peak of requested bytes if nothing had to wait.
    pub peak_without_bytes: u64,
}
