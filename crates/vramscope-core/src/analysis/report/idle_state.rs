//! Optimizer state that is held for parameters which nothing trains any more: of models that were trained before, or of
//! parameters that were added to an optimizer and never taken out.
//!
//! Common optimizers keep at most three buffers as large as a parameter. Where state is many times the gradients that any
//! recorded step began with, most of it is of no parameter that these steps trained.

use super::names::named;
use super::summary::saturating_sum;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, Role};
use crate::ids::AllocationId;
use crate::units::{Bytes, Count};

/// Fewest steps of the optimizer, each right after a backward pass.
const FEWEST_STEPS: usize = 3;

/// State of at most three buffers of 4 bytes, and a copy of the parameter, of a gradient of 2 bytes: twice of that.
const MOST_TIMES: u64 = 16;

/// The optimizers of `torch/optim` that keep at most three buffers as large as the parameter. Others keep far more.
const FEW_BUFFERS: [&str; 10] = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "sgd",
];

/// State that no recorded step used.
pub(super) struct IdleState {
    /// Requested bytes of all state.
    pub(super) bytes: u64,
    /// The most bytes of gradients that a step began with.
    gradient_bytes: u64,
    steps: usize,
    /// The call site that made most of it.
    pub(super) place: String,
}

impl IdleState {
    /// What is held at a moment; `None` if the steps may have used it, or the file does not tell.
    pub(super) fn of(device: Device<'_>, moment: u32) -> Option<Self> {
        let gradients = gradients_at_steps(device, moment)?;
        let gradient_bytes = *gradients.iter().max()?;
        let state: Vec<AllocationId> = live_at(device.history, moment)
            .filter(|id| device.rule_of()[id.index()].role() == Role::OptimizerState)
            .filter(|&id| is_of_few_buffers(device, id))
            .collect();
        let table = &device.history.allocations;
        let bytes = saturating_sum(state.iter().map(|id| table.bytes[id.index()]));
        if bytes <= gradient_bytes.saturating_mul(MOST_TIMES) {
            return None;
        }
        let top = top_call_sites(device, state, 1);
        Some(Self {
            bytes,
            gradient_bytes,
            steps: gradients.len(),
            place: top.sites.into_iter().next()?.label,
        })
    }

    /// One line.
    pub(super) fn title(&self) -> String {
        format!(
            "{} of optimizer state from {}, but a step has only {} of gradients: most of it is of parameters that are not \
             trained any more",
            Bytes(self.bytes),
            named(&self.place),
            Bytes(self.gradient_bytes)
        )
    }

    /// What it may mean.
    pub(super) fn explanation(&self) -> String {
        format!(
            "None of {} recorded steps had more gradients than that, and an optimizer keeps at most three buffers as large as \
             they are. The rest is of models that were trained before and are still referred to, or of parameters that were \
             added to the optimizer and stay in it.",
            Count(self.steps as u64)
        )
    }
}

/// The bytes of gradients with which each step of the optimizer began; `None` if there are few steps, one of them has no
/// gradients, or gradients are used up while the backward pass makes them.
fn gradients_at_steps(device: Device<'_>, moment: u32) -> Option<Vec<u64>> {
    let ranges = &device.phases().ranges;
    let ranges = &ranges[..ranges.partition_point(|range| range.from < moment)];
    let of = |phase: Phase| ranges.iter().filter(move |range| range.phase == phase);
    if of(Phase::Optimizer).count() > of(Phase::Forward).count() {
        return None;
    }
    let steps: Vec<u32> = ranges
        .windows(2)
        .filter(|pair| (pair[0].phase, pair[1].phase) == (Phase::Backward, Phase::Optimizer))
        .map(|pair| pair[1].from)
        .collect();
    if steps.len() < FEWEST_STEPS {
        return None;
    }
    // What is added at a step, and taken away at a later one.
    let mut added = vec![0_u64; steps.len() + 1];
    let mut taken = vec![0_u64; steps.len() + 1];
    let table = &device.history.allocations;
    for row in (0..table.len()).filter(|&row| device.rule_of()[row].role() == Role::Gradient) {
        let first = steps.partition_point(|&step| step < table.born[row]);
        let end = steps.partition_point(|&step| step < table.died[row]);
        added[first] = added[first].saturating_add(table.bytes[row]);
        taken[end] = taken[end].saturating_add(table.bytes[row]);
    }
    let mut live = 0_u64;
    let at_step = |step: usize| {
        live = live.saturating_add(added[step]).saturating_sub(taken[step]);
        live
    };
    let gradients: Vec<u64> = (0..steps.len()).map(at_step).collect();
    (!gradients.contains(&0)).then_some(gradients)
}

fn is_of_few_buffers(device: Device<'_>, id: AllocationId) -> bool {
    let snapshot = device.snapshot();
    let mut frames = snapshot.stacks.frames(device.stack_of()[id.index()]);
    frames.any(|frame| {
        let file = snapshot.strings.get(snapshot.frames.get(frame).filename);
        let name = file.strip_suffix(".py").unwrap_or_default();
        let name = name.rsplit_once("torch/optim/");
        name.is_some_and(|(_, name)| FEW_BUFFERS.contains(&name))
    })
}
