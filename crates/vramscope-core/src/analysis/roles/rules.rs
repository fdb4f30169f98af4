//! The rules for inferring roles, as a table. The first rule that holds gives the role.
//!
//! What the file records comes first, then the stack by itself, then phases and lifetimes together, and finally the
//! sizes of memory older than the recording. Each row states its evidence in a sentence. If several explanations fit,
//! no row claims one.

use super::copies::OlderCopy;
use super::life::{FEW_PASSES, Life};
use super::phases::{Phase, Phases};
use super::role::{Confidence, Role, RoleFinding};
use super::signals::Signals;

/// A rule.
pub struct RoleRule {
    /// The role that it gives.
    pub role: Role,
    /// How sure it is.
    pub confidence: Confidence,
    /// The evidence, as a sentence.
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

    /// Its content, for users without the table.
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

impl RoleRule {
    /// Whether the role is recorded in the file.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.because == RECORDED
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
static RULES: &[RoleRule] = &[
    // Recorded in the file.
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
    // Shown by the stack alone.
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
        "The code that made it is named after a cache of keys and values, and no backward pass needs it.",
        |it| is_cache(it.made) && !is_for_backward(it),
    ),
    rule(
        Communication,
        Likely,
        "Sharded parameters are received in it, and it is freed before anything is computed with it.",
        |it| it.made_by(Signals::FETCH) && it.is_short,
    ),
    rule(
        Parameter,
        Likely,
        "Made where sharded parameters are gathered.",
        |it| it.made_by(Signals::GATHER),
    ),
    rule(
        Parameter,
        Likely,
        "Made where parameters are copied to compute with: to a replica, or out of a quantised form.",
        |it| it.made_by(Signals::COPY),
    ),
    rule(
        Input,
        Likely,
        "DataParallel gives the device its part of the batch.",
        |it| it.made_by(Signals::SCATTER),
    ),
    rule(
        Parameter,
        Likely,
        "The set-up of an optimizer flattens parameters into it.",
        |it| it.made_by(Signals::FLATTEN) && it.made_by(Signals::STATE),
    ),
    rule(
        Gradient,
        Likely,
        "Made where a library makes its buffers, after the buffers of the parameters.",
        |it| it.made_by(Signals::FLAT_GRADIENTS),
    ),
    rule(
        Gradient,
        Likely,
        "Gradients are reduced into it, and it is kept after the backward pass.",
        |it| it.made_by(Signals::REDUCE) && it.made_in(Backward) && it.outlives(),
    ),
    rule(
        Gradient,
        Likely,
        "A bucket of DDP, and no backward pass leaves gradients beside it: they are views into it.",
        |it| it.is_of_gradients,
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
                    || it.made_in(Backward) && !it.made_by(Signals::PYTHON.and(Signals::NATIVE)))
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
        "Made and freed by the backward pass, and of a size in which sharded parameters are gathered.",
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
        Parameter,
        Likely,
        "Autocast converts a parameter to it: made by a layer, and half as large as a parameter.",
        |it| it.is_cast,
    ),
    rule(
        KvCache,
        Guess,
        "Without a backward pass, it is kept for the next forward pass, which makes a larger one in its place.",
        |it| {
            it.made_in(Forward)
                && it.grows
                && !it.is_short
                && !it.program_has(Backward)
                && (it.passes(Forward) > 1 || it.is_in_last)
        },
    ),
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
        Activation,
        Likely,
        "Made by a forward pass, and freed when the next one has made its successor: an output that is still referenced.",
        |it| it.made_in(Forward) && it.is_replaced && !it.program_has(Backward),
    ),
    rule(
        Unknown,
        Guess,
        "Made by a forward pass, and kept over several others.",
        |it| it.made_in(Forward) && it.passes(Forward) > FEW_PASSES && !it.program_has(Backward),
    ),
    rule(
        Activation,
        Likely,
        "Made by the forward pass, and live after it.",
        |it| it.made_in(Forward),
    ),
    // Before and between phases.
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
        Guess,
        "A function named for loading a model made it, and the program keeps it.",
        |it| it.made_by(Signals::NAMED_BUILD) && it.stays(),
    ),
    rule(
        Parameter,
        Guess,
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
        "Constructors made equally many of its size in two places, as for keys and values, and several forward passes use \
         it.",
        |it| {
            it.made_outside()
                && it.made_by(Signals::SETUP)
                && it.is_paired
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
    // Older than the recording.
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
        "Its stack shows a forward pass before the recording, which does not free it.",
        |it| it.is_older() && it.stays() && it.made_by(Signals::FORWARD),
    ),
    rule(
        OptimizerState,
        Likely,
        "Kept to the end, and its size occurs three times as often as among gradients: parameters and Adam's two moments.",
        |it| it.copy == Some(OlderCopy::Moment),
    ),
    rule(
        OptimizerState,
        Guess,
        "Kept to the end, at the highest addresses of its size, which occurs more often than for parameters and Adam's \
         moments.",
        |it| it.copy == Some(OlderCopy::LastMoment),
    ),
    rule(
        OptimizerState,
        Likely,
        "Kept to the end, and its size occurs twice as often as among gradients: parameters and the one moment that the \
         optimizer keeps.",
        |it| it.copy == Some(OlderCopy::Momentum),
    ),
    rule(
        OptimizerState,
        Likely,
        "Kept to the end, twice as large as gradients, and as many as copies of parameters, or moments, in higher \
         precision would be.",
        |it| it.copy == Some(OlderCopy::Double),
    ),
    rule(
        OptimizerState,
        Likely,
        "Kept to the end, and nearly all sizes occur three times, as parameters and Adam's two moments do.",
        |it| it.copy == Some(OlderCopy::Recurring),
    ),
    rule(
        Gradient,
        Guess,
        "Kept to the end, and gradients of its size are added to something older than the recording.",
        |it| it.copy == Some(OlderCopy::Gradient),
    ),
    rule(
        Unknown,
        Guess,
        "Kept to the end, but gradients, gradient buckets or optimizer state from before the recording may be as large.",
        |it| it.copy == Some(OlderCopy::GradientOrState),
    ),
    rule(
        Unknown,
        Guess,
        "Kept to the end, and as large as a parameter, but there are not as many as an optimizer would keep: some may \
         belong to another copy of the model.",
        |it| it.copy == Some(OlderCopy::SecondModel),
    ),
    rule(
        Unknown,
        Guess,
        "Kept to the end, and a part of sharded parameters or of the optimizer's state for them, which are equally large.",
        |it| it.copy == Some(OlderCopy::Shard),
    ),
    rule(
        Unknown,
        Guess,
        "Kept to the end, but not among weights of other sizes, as the weights of layers are: it may also be a cache.",
        |it| it.copy == Some(OlderCopy::WeightOrCache),
    ),
    rule(
        Parameter,
        Guess,
        "Older than the recording, and kept to the end; without training, it may also be a cache.",
        |it| it.copy == Some(OlderCopy::Parameter) && !it.program_has(Backward),
    ),
    rule(
        Parameter,
        Likely,
        "Older than the recording, and kept to the end.",
        |it| it.copy == Some(OlderCopy::Parameter),
    ),
    rule(Unknown, Guess, "Nothing shows what it is for.", |_| true),
];

/// Whether code makes a cache. A function named that way may also run the model, to see how much memory is left.
fn is_cache(code: Signals) -> bool {
    let runs_the_model = code.has(Signals::FORWARD) || code.has(Signals::NAMED_FORWARD);
    code.has(Signals::CACHE) || code.has(Signals::NAMED_CACHE) && !runs_the_model
}

/// Whether a backward pass made it or frees it, or is still to come in a program that trains.
fn is_for_backward(life: &Life) -> bool {
    let by_backward = life.made_by(Signals::BACKWARD)
        || life.freed_in(Backward)
        || life.freed.has(Signals::BACKWARD);
    let is_in_training = life.made_in(Forward)
        && (life.passes(Backward) > 0 || life.is_in_last && life.program_has(Backward));
    by_backward || is_in_training
}

/// Whether it lives no longer than one step of training or, without training, a few forward passes.
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

/// Whether code runs a part of the forward pass again. Reentrant checkpoints then run a backward pass of their own.
fn recomputes(code: Signals) -> bool {
    code.has(Signals::FORWARD)
        || code.has(Signals::RECOMPUTE) && !code.has(Signals::STARTS_BACKWARD)
}

pub(super) fn program(phases: &Phases) -> [bool; 3] {
    Phase::ALL.map(|phase| phases.ranges.iter().any(|range| range.phase == phase))
}
