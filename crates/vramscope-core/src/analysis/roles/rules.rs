//! The rules by which roles are inferred, as a table. The first rule that holds gives the role.
//!
//! What the file records is asked first, then what the stack says by itself, then phases and lifetimes together, and
//! at last the sizes of what is older than the recording. Each row says in a sentence what was seen; where several
//! explanations fit, no row claims one.

use super::phases::{Phase, Phases};
use super::role::{Confidence, Role, RoleFinding};
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
    /// The role that the file records.
    pub recorded: Option<Role>,
    /// What code made it; nothing if unknown.
    pub made: Signals,
    /// What code freed it; nothing if unknown.
    pub freed: Signals,
    pub born: When,
    pub died: When,
    /// Whether it died in the same range, or the same gap between ranges, in which it was born.
    pub is_short: bool,
    /// Whether its free is the event after its birth.
    pub is_instant: bool,
    /// Whether it is freed at once, and nothing that lives longer has its size. Only looked for in programs with
    /// convolutions whose stacks do not show what libraries of kernels do.
    pub is_scratch_sized: bool,
    /// Whether sharded parameters are gathered in memory of this size.
    pub is_gathered_sized: bool,
    /// Whether it was born in the phase with which the recording ends.
    pub is_in_last: bool,
    /// Number of ranges of each phase from its birth to its death, both included; [`Life::MOST_PASSES`] stands for more.
    pub passes: [u8; 3],
    /// Whether cuBLAS's workspace has this size.
    pub is_workspace_sized: bool,
    /// Whether gradients of parameters have this size.
    pub is_gradient_sized: bool,
    /// Whether each rank has a shard of each parameter.
    pub is_sharded: bool,
    /// The role that sizes give to memory from before the recording.
    pub copy: Option<Role>,
    /// Whether the recording has a phase of each kind.
    pub program: [bool; 3],
}

impl Life {
    /// No rule tells more passes apart.
    pub(super) const MOST_PASSES: u8 = FEW_PASSES + 1;

    fn passes(&self, phase: Phase) -> u8 {
        self.passes[phase as usize]
    }

    /// A number that differs for most lives.
    pub(super) fn mixed(&self) -> u32 {
        let [forward, backward, optimizer] = self.passes;
        let passes = u32::from_le_bytes([forward, backward, optimizer, self.is_short.into()]);
        let signals = self.made.bits() ^ self.freed.bits().rotate_left(16);
        // Multiplied by odd numbers from the golden ratio, of which the upper bits depend on all bits.
        (signals.wrapping_mul(0x9E37_79B9) ^ passes.wrapping_mul(0x85EB_CA6B)) >> 24
    }

    fn program_has(&self, phase: Phase) -> bool {
        self.program[phase as usize]
    }

    fn made_by(&self, signals: Signals) -> bool {
        self.made.has(signals)
    }

    /// Whether it was made in a phase, as its stack or the events around it tell.
    fn made_in(&self, phase: Phase) -> bool {
        self.born == When::In(phase)
    }

    fn freed_in(&self, phase: Phase) -> bool {
        self.died == When::In(phase)
    }

    fn is_older(&self) -> bool {
        self.born == When::Before
    }

    fn stays(&self) -> bool {
        self.died == When::Never
    }

    /// Whether it outlived the phase in which it was born.
    fn outlives(&self) -> bool {
        !(self.is_short || self.stays() && self.is_in_last)
    }

    /// Whether its stack shows an optimizer's step that does not merely call other passes.
    fn made_by_step(&self) -> bool {
        self.made_by(Signals::STEP)
            && !self.made_by(Signals::FORWARD)
            && !self.made_by(Signals::ACCUMULATE)
    }

    /// Whether it was born outside of all phases, in a recording that has some.
    fn made_outside(&self) -> bool {
        self.born == When::Between && self.program != [false; 3]
    }
}

/// A rule.
pub struct RoleRule {
    /// The role that it gives.
    pub role: Role,
    /// How sure it is.
    pub confidence: Confidence,
    /// What was seen, as a sentence.
    pub because: &'static str,
    pub(super) holds: fn(&Life) -> bool,
}

/// The row of a rule in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleId(u8);

impl RuleId {
    /// The rule.
    #[must_use]
    pub fn rule(self) -> &'static RoleRule {
        &RULES[usize::from(self.0).min(RULES.len() - 1)]
    }

    /// The role that the rule gives.
    #[must_use]
    pub fn role(self) -> Role {
        self.rule().role
    }

    /// What the rule says, for whoever does not have the table.
    #[must_use]
    pub fn finding(self) -> RoleFinding {
        let rule = self.rule();
        RoleFinding {
            role: rule.role,
            confidence: rule.confidence,
            because: rule.because.to_owned(),
        }
    }

    /// The first rule that holds. The last one always does.
    pub(super) fn of(life: &Life) -> Self {
        let first = RULES.iter().position(|rule| (rule.holds)(life));
        Self(first.unwrap_or(RULES.len() - 1) as u8)
    }
}

const fn rule(
    role: Role,
    confidence: Confidence,
    because: &'static str,
    holds: fn(&Life) -> bool,
) -> RoleRule {
    RoleRule {
        role,
        confidence,
        because,
        holds,
    }
}

use Confidence::{Certain, Guess, Likely};
use Phase::{Backward, Forward, Optimizer};
use Role::{
    Activation, Communication, Gradient, Input, KvCache, OptimizerState, Parameter, Temporary,
    Unknown, Workspace,
};

const RECORDED: &str = "The file records its category.";

/// The default size of cuBLAS's workspace in torch, except on Hopper.
pub(super) const CUBLAS_WORKSPACE_BYTES: u64 = 8_519_680;

/// All rules. Earlier ones win.
static RULES: [RoleRule; 57] = [
    // What the file records.
    rule(Parameter, Certain, RECORDED, |it| {
        it.recorded == Some(Parameter)
    }),
    rule(Gradient, Certain, RECORDED, |it| {
        it.recorded == Some(Gradient)
    }),
    rule(OptimizerState, Certain, RECORDED, |it| {
        it.recorded == Some(OptimizerState)
    }),
    rule(Activation, Certain, RECORDED, |it| {
        it.recorded == Some(Activation)
    }),
    rule(Input, Certain, RECORDED, |it| it.recorded == Some(Input)),
    rule(Temporary, Certain, RECORDED, |it| {
        it.recorded == Some(Temporary)
    }),
    // What the stack says by itself.
    rule(
        Workspace,
        Certain,
        "A library of kernels made it as its workspace.",
        |it| it.made_by(Signals::WORKSPACE),
    ),
    rule(
        Workspace,
        Likely,
        "It is as large as cuBLAS's workspace, and is never freed.",
        |it| it.is_workspace_sized && it.stays(),
    ),
    rule(
        KvCache,
        Likely,
        "The code that made it is named as a cache of keys and values.",
        |it| it.made_by(Signals::CACHE) && !it.made_by(Signals::BACKWARD),
    ),
    rule(
        Parameter,
        Likely,
        "Made where sharded parameters are gathered.",
        |it| it.made_by(Signals::GATHER),
    ),
    rule(
        Gradient,
        Likely,
        "Made where Megatron makes its buffers, after that of the parameters.",
        |it| it.made_by(Signals::FLAT_GRADIENTS),
    ),
    rule(
        Communication,
        Likely,
        "Made by code for collectives.",
        |it| it.made_by(Signals::COLLECTIVE),
    ),
    rule(
        Gradient,
        Certain,
        "Autograd accumulates the gradient of a parameter in it.",
        |it| it.made_by(Signals::ACCUMULATE) && !it.is_short,
    ),
    rule(Gradient, Certain, "zero_grad() frees it.", |it| {
        it.freed.has(Signals::ZERO_GRAD)
    }),
    rule(
        Temporary,
        Certain,
        "Made and freed within one step of the optimizer.",
        |it| it.made_by_step() && it.is_short && !it.is_older(),
    ),
    rule(
        OptimizerState,
        Certain,
        "Made by a step of the optimizer, and kept after it.",
        |it| it.made_by_step() && (it.outlives() || it.made_by(Signals::STATE)),
    ),
    rule(
        OptimizerState,
        Likely,
        "Made by a step of the optimizer in which the recording ends.",
        |it| it.made_by_step(),
    ),
    rule(
        OptimizerState,
        Likely,
        "Made by the set-up of an optimizer, and kept.",
        |it| it.made_by(Signals::STATE) && !it.is_short && !it.made_by(Signals::FORWARD),
    ),
    rule(
        Workspace,
        Guess,
        "Freed at once, and of a size that no other tensor has, as workspaces of convolutions are.",
        |it| {
            it.is_scratch_sized
                && (it.made_by(Signals::CONVOLUTION)
                    || it.made_in(Backward) && !it.made_by(Signals::PYTHON))
        },
    ),
    // The backward pass.
    rule(
        Temporary,
        Likely,
        "Recomputed in the backward pass, and freed by the same code.",
        |it| recomputed(it) && it.is_short && recomputes(it.freed),
    ),
    rule(
        Activation,
        Likely,
        "Recomputed in the backward pass, which frees it.",
        |it| recomputed(it) && (it.is_short || it.stays()),
    ),
    rule(
        Gradient,
        Likely,
        "Made and freed by the backward pass, and as large as what is gathered of sharded parameters.",
        |it| it.made_in(Backward) && it.is_short && it.is_gathered_sized,
    ),
    rule(
        Temporary,
        Likely,
        "Made and freed within one backward pass.",
        |it| it.made_in(Backward) && it.is_short,
    ),
    rule(
        Gradient,
        Likely,
        "Made by the backward pass, and kept after it.",
        |it| it.made_in(Backward) && it.outlives(),
    ),
    rule(
        Gradient,
        Guess,
        "Made by the backward pass in which the recording ends, as large as a parameter.",
        |it| it.made_in(Backward) && it.is_gradient_sized,
    ),
    rule(
        Unknown,
        Guess,
        "Made by the backward pass in which the recording ends.",
        |it| it.made_in(Backward),
    ),
    // The forward pass.
    rule(
        Activation,
        Certain,
        "Made by the forward pass, and freed by the backward pass.",
        |it| it.made_in(Forward) && (it.freed_in(Backward) || it.freed.has(Signals::BACKWARD)),
    ),
    rule(
        Temporary,
        Likely,
        "Made by the forward pass, and freed before the backward pass.",
        |it| {
            it.made_in(Forward)
                && it.passes(Backward) == 0
                && !it.stays()
                && it.program_has(Backward)
        },
    ),
    rule(
        Temporary,
        Likely,
        "Made and freed within one forward pass.",
        |it| it.made_in(Forward) && it.is_short,
    ),
    rule(
        Parameter,
        Likely,
        "A layer made it in its first forward pass, and it is as large as a gradient.",
        |it| {
            it.made_in(Forward) && it.stays() && it.is_gradient_sized && it.made_by(Signals::BUILD)
        },
    ),
    rule(
        Activation,
        Likely,
        "Made by the forward pass, and live when the next step begins.",
        |it| it.made_in(Forward) && it.passes(Backward) > 0 && it.passes(Optimizer) <= 1,
    ),
    rule(
        Unknown,
        Guess,
        "Made by a forward pass, and kept for several steps.",
        |it| it.made_in(Forward) && it.passes(Backward) > 0,
    ),
    rule(
        Activation,
        Likely,
        "Made by the forward pass in which the recording ends.",
        |it| it.made_in(Forward) && it.is_in_last,
    ),
    rule(
        KvCache,
        Guess,
        "Without a backward pass, it is kept from one forward pass to the next.",
        |it| it.made_in(Forward) && it.passes(Forward) > 1 && !it.program_has(Backward),
    ),
    rule(
        Activation,
        Likely,
        "Made by the forward pass, and live after it.",
        |it| it.made_in(Forward),
    ),
    // Before and between the phases.
    rule(Input, Likely, "Made by code that loads data.", |it| {
        it.made_by(Signals::INPUT) && !it.made_by(Signals::BUILD)
    }),
    rule(
        Temporary,
        Likely,
        "Made and freed while a model is built.",
        |it| it.made_by(Signals::BUILD.and(Signals::SETUP)) && it.is_short && !it.is_older(),
    ),
    rule(
        Parameter,
        Likely,
        "Made where a model is built, moved or loaded.",
        |it| it.made_by(Signals::BUILD),
    ),
    rule(
        Parameter,
        Likely,
        "A constructor made it, and the program keeps it.",
        |it| it.made_by(Signals::SETUP) && it.stays(),
    ),
    rule(
        Activation,
        Likely,
        "Made between the forward and the backward pass, which frees it.",
        |it| !it.is_older() && it.freed_in(Backward),
    ),
    rule(
        Temporary,
        Likely,
        "Made and freed between two phases.",
        |it| it.made_outside() && it.is_short,
    ),
    rule(
        Parameter,
        Likely,
        "Kept to the end, and gradients have its size.",
        |it| it.made_outside() && it.stays() && it.is_gradient_sized && it.passes(Forward) > 0,
    ),
    rule(
        KvCache,
        Guess,
        "Made by a constructor, and used by several forward passes of a program without a backward pass.",
        |it| {
            it.made_outside()
                && it.made_by(Signals::SETUP)
                && !it.stays()
                && !it.program_has(Backward)
                && it.passes(Forward) > FEW_PASSES
        },
    ),
    rule(
        Input,
        Likely,
        "Made before a forward pass, and freed after it.",
        |it| it.made_outside() && it.passes(Forward) > 0 && !it.stays() && is_for_one_step(it),
    ),
    rule(
        Temporary,
        Guess,
        "Made after the backward pass, and freed before the next.",
        |it| it.made_outside() && it.passes(Forward) == 0 && it.freed_in(Optimizer),
    ),
    // What is older than the recording.
    rule(
        Gradient,
        Likely,
        "The backward pass before the recording made it.",
        |it| it.is_older() && it.made_by(Signals::BACKWARD),
    ),
    rule(
        Activation,
        Likely,
        "Older than the recording, and freed by the backward pass.",
        |it| it.is_older() && (it.freed_in(Backward) || it.freed.has(Signals::BACKWARD)),
    ),
    rule(
        OptimizerState,
        Likely,
        "A step of the optimizer replaces it.",
        |it| it.is_older() && (it.freed.has(Signals::STEP) || it.freed_in(Optimizer)),
    ),
    rule(
        Activation,
        Guess,
        "Its stack shows a forward pass before the recording, and it is not freed in it.",
        |it| it.is_older() && it.stays() && it.made_by(Signals::FORWARD),
    ),
    rule(
        OptimizerState,
        Guess,
        "Never freed, and as large as a shard of a parameter, which lies at a lower address.",
        |it| it.is_sharded && it.copy == Some(OptimizerState),
    ),
    rule(
        Parameter,
        Guess,
        "Never freed, and at the lowest address of what may be a shard of a parameter.",
        |it| it.is_sharded && it.copy == Some(Parameter),
    ),
    rule(
        OptimizerState,
        Likely,
        "Never freed, and of a size that recurs as often as Adam's moments do.",
        |it| it.copy == Some(OptimizerState),
    ),
    rule(
        Gradient,
        Guess,
        "Never freed, and gradients of its size are added to something older than the recording.",
        |it| it.copy == Some(Gradient),
    ),
    rule(
        Unknown,
        Guess,
        "Never freed, but of a size that gradients and optimizer state from before the recording may have, too.",
        |it| it.copy == Some(Unknown),
    ),
    rule(
        Parameter,
        Guess,
        "Live before the recording, and never freed, as caches of programs that do not train may be, too.",
        |it| it.copy == Some(Parameter) && !it.program_has(Backward),
    ),
    rule(
        Parameter,
        Likely,
        "Live before the recording, and never freed.",
        |it| it.copy == Some(Parameter),
    ),
    rule(Unknown, Guess, "Nothing tells what it is for.", |_| true),
];

/// Most forward passes that read one input of a program without a backward pass.
const FEW_PASSES: u8 = 2;

/// Whether it lives no longer than one step of training, or few forward passes without any.
fn is_for_one_step(life: &Life) -> bool {
    if life.program_has(Backward) {
        life.passes(Optimizer) <= 1
    } else {
        life.passes(Forward) <= FEW_PASSES
    }
}

/// Whether a part of the forward pass ran within the backward pass.
fn recomputed(life: &Life) -> bool {
    life.made_in(Backward) && recomputes(life.made)
}

/// Whether code runs a part of the forward pass again. Reentrant checkpoints run a backward pass of their own after that.
fn recomputes(code: Signals) -> bool {
    code.has(Signals::FORWARD)
        || code.has(Signals::RECOMPUTE) && !code.has(Signals::STARTS_BACKWARD)
}

/// Whether each phase occurs.
pub(super) fn program(phases: &Phases) -> [bool; 3] {
    Phase::ALL.map(|phase| phases.ranges.iter().any(|range| range.phase == phase))
}
