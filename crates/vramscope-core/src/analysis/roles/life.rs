//! What is known about one allocation: the code that made and freed it, the phases it lived through, and its size.

use super::copies::OlderCopy;
use super::phases::Phase;
use super::role::Role;
use super::signals::Signals;

/// When something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// Before the recording.
    Before,
    /// In a phase.
    In(Phase),
    /// In the recording, but in no phase.
    Between,
    /// Not within the recording.
    Never,
}

/// What is known about an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Life {
    /// The role in the file.
    pub recorded: Option<Role>,
    /// What the code that made it reveals; nothing if unknown.
    pub made: Signals,
    /// What the code that freed it reveals; nothing if unknown.
    pub freed: Signals,
    pub born: When,
    pub died: When,
    /// Whether it died in the same range, or the same gap between ranges, in which it was born.
    pub is_short: bool,
    /// Whether its free is the event after its birth.
    pub is_instant: bool,
    /// Whether it is freed at once, and no longer-lived allocation has its size. Computed only for programs with
    /// convolutions whose stacks do not show the work of kernel libraries.
    pub is_scratch_sized: bool,
    /// Whether sharded parameters are gathered into memory of this size.
    pub is_gathered_sized: bool,
    /// Whether it was born in the phase with which the recording ends.
    pub is_in_last: bool,
    /// Number of ranges of each phase from its birth to its death, both included; [`Life::MOST_PASSES`] stands for
    /// more.
    pub passes: [u8; 3],
    /// Whether cuBLAS's workspace has this size.
    pub is_workspace_sized: bool,
    /// Whether gradients of parameters have this size.
    pub is_gradient_sized: bool,
    /// Whether it may be a parameter converted by autocast, by its code and size.
    pub is_cast: bool,
    /// Whether it is one of ever larger allocations by the same code from pass to pass, or was replaced by one.
    pub grows: bool,
    /// Whether the same code made exactly one more allocation of its size before it was freed.
    pub is_replaced: bool,
    /// Whether constructors made equally many allocations of its size in two places, and several in each.
    pub is_paired: bool,
    /// Whether it is a bucket, and gradients are known to be in buckets.
    pub is_of_gradients: bool,
    /// What sizes reveal about memory from before the recording.
    pub copy: Option<OlderCopy>,
    /// Whether the recording has a phase of each kind.
    pub program: [bool; 3],
}

impl Life {
    /// No rule distinguishes more passes than this.
    pub(super) const MOST_PASSES: u8 = FEW_PASSES + 1;

    pub(super) fn passes(&self, phase: Phase) -> u8 {
        self.passes[phase as usize]
    }

    /// A hash, different for most lives.
    pub(super) fn mixed(&self) -> u32 {
        let [forward, backward, optimizer] = self.passes;
        let passes = u32::from_le_bytes([forward, backward, optimizer, self.is_short.into()]);
        let signals = self.made.folded() ^ self.freed.folded().rotate_left(16);
        // Multiplied by odd numbers from the golden ratio, whose products have upper bits that depend on all bits.
        (signals.wrapping_mul(0x9E37_79B9) ^ passes.wrapping_mul(0x85EB_CA6B)) >> 24
    }

    pub(super) fn program_has(&self, phase: Phase) -> bool {
        self.program[phase as usize]
    }

    pub(super) fn made_by(&self, signals: Signals) -> bool {
        self.made.has(signals)
    }

    /// Whether it was made in a phase, according to its stack or the events around it.
    pub(super) fn made_in(&self, phase: Phase) -> bool {
        self.born == When::In(phase)
    }

    pub(super) fn freed_in(&self, phase: Phase) -> bool {
        self.died == When::In(phase)
    }

    pub(super) fn is_older(&self) -> bool {
        self.born == When::Before
    }

    pub(super) fn stays(&self) -> bool {
        self.died == When::Never
    }

    /// Whether it outlived the phase in which it was born.
    pub(super) fn outlives(&self) -> bool {
        !(self.is_short || self.stays() && self.is_in_last)
    }

    /// Whether its stack shows an optimizer's step that does more than call other passes.
    pub(super) fn made_by_step(&self) -> bool {
        self.made_by(Signals::STEP)
            && !self.made_by(Signals::FORWARD)
            && !self.made_by(Signals::ACCUMULATE)
    }

    /// Whether it was born outside of all phases, in a recording with phases.
    pub(super) fn made_outside(&self) -> bool {
        self.born == When::Between && self.program != [false; 3]
    }
}

/// Most forward passes that read an input in a program without a backward pass.
pub(super) const FEW_PASSES: u8 = 2;
