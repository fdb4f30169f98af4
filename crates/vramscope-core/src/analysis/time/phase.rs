//! The phases of a training or inference program. Files rarely name them: `roles` infers them.

use serde::{Deserialize, Serialize};

/// A phase of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Modules compute their outputs.
    Forward,
    /// Gradients are computed, and parts of the forward pass again with activation checkpointing.
    Backward,
    /// The optimizer changes the parameters.
    Optimizer,
}

impl Phase {
    /// All phases, in the order of a training step.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Backward, Self::Optimizer];

    /// The phase as words of a sentence: `in the forward pass`.
    #[must_use]
    pub fn while_in(self) -> &'static str {
        match self {
            Self::Forward => "in the forward pass",
            Self::Backward => "in the backward pass",
            Self::Optimizer => "in the optimizer step",
        }
    }

    /// The time between the end of the phase and the next one: `after the forward pass`.
    #[must_use]
    pub fn when_over(self) -> &'static str {
        match self {
            Self::Forward => "after the forward pass",
            Self::Backward => "after the backward pass",
            Self::Optimizer => "after the optimizer step",
        }
    }

    /// Its name in all outputs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
        }
    }
}

/// A run of events of one phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhaseRange {
    /// Their phase.
    pub phase: Phase,
    /// The moment before its first event.
    pub from: u32,
    /// The moment after its last event, greater than `from`.
    pub to: u32,
}

/// The moment with the most active bytes over all ranges of a phase; the first of equals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhasePeak {
    /// The phase.
    pub phase: Phase,
    /// When it was.
    pub moment: u32,
    /// The active bytes at that moment.
    pub active_bytes: u64,
}
