//! How far a program had come when a request failed in a pass that makes one thing for each parameter or block:
//! loading, the first forward pass, the first backward pass, the first step of the optimizer. From what is made so far
//! and what is still to come follows what the whole pass needs. If that exceeds the device, serving this one request
//! would not help.
//!
//! Only the file's own numbers are evidence: sizes of allocations against the sizes that they are made for. If they do
//! not agree, there is no answer.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::findings::FailedRequest;
use super::overview::SegmentsKnown;
use super::program_changes::repeated_block;
use crate::analysis::memory::releases::releases;
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, Role};
use crate::analysis::time::history::NEVER;
use crate::units::{Bytes, Percent};

/// Smaller allocations, such as an optimizer's step counters, do not stand for a parameter.
const LEAST_BYTES: u64 = 513;
/// Fewest allocations needed to extrapolate.
const FEWEST: usize = 8;
/// Fewest blocks.
const FEWEST_BLOCKS: usize = 3;
/// Most parameters of a block.
const MOST_OF_BLOCK: usize = 64;
/// The most parameters without gradients among those with gradients: one part in this many.
const GAP_PART: u64 = 4;

/// A pass, by what it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// A copy of the parameters, as when a checkpoint is loaded beside the model.
    Loading,
    /// Memory that each block keeps for the backward pass.
    Forward,
    /// A gradient for each parameter.
    Backward,
    /// The optimizer's state for each parameter.
    Optimizer,
}

/// A first pass that ended with a failed request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FirstPass {
    /// The pass.
    pub pass: Pass,
    /// What it had made: bytes, for [`Pass::Forward`] blocks.
    pub done: u64,
    /// What it makes in total, in the same unit.
    pub total: u64,
    /// Estimated bytes that the program needs to complete the pass.
    pub needed_bytes: u64,
    /// Bytes that the device had for the program.
    pub there_bytes: u64,
}

impl FirstPass {
    /// [`of`](Self::of) the last failed request of a device.
    #[must_use]
    pub fn last(device: Device<'_>) -> Option<Self> {
        let releases = releases(device.snapshot(), device.history);
        let failure = FailedRequest::last(device, &releases, SegmentsKnown::of(device))?;
        Self::of(device, &failure)
    }

    /// The first pass that ended with a failed request and needs more memory than exists; `None` without such a pass,
    /// or if the file does not show it.
    #[must_use]
    pub fn of(device: Device<'_>, failure: &FailedRequest) -> Option<Self> {
        if !failure.has_state || failure.device_free_bytes.is_none() {
            return None;
        }
        let live = Live::of(device, failure.moment);
        let progress = match device.phases().last_at(failure.moment) {
            Some(Phase::Optimizer) => live.optimizer(failure),
            Some(Phase::Backward) => live.backward(),
            Some(Phase::Forward) => live.forward(),
            None => live.loading(failure),
        }?;
        let found = Self {
            there_bytes: failure.reachable_bytes(),
            ..progress
        };
        (found.needed_bytes > found.there_bytes).then_some(found)
    }

    /// One line: its progress, its needs, and the available memory.
    #[must_use]
    pub fn title(&self) -> String {
        let share = Percent {
            part: self.done,
            whole: self.total,
        };
        let at = match self.pass {
            Pass::Loading => format!("{share} of a second copy of the parameters"),
            Pass::Forward => format!(
                "block {} of {} of the first forward pass",
                self.done.saturating_add(1),
                self.total
            ),
            Pass::Backward => format!("{share} of the first gradients"),
            Pass::Optimizer => format!("{share} of the optimizer's first state"),
        };
        format!(
            "Fails at {at}: about {} needed, {} available",
            Bytes(self.needed_bytes),
            Bytes(self.there_bytes)
        )
    }

    /// The evidence, in sentences.
    #[must_use]
    pub fn explanation(&self) -> String {
        let (done, total) = (Bytes(self.done), Bytes(self.total));
        let made = match self.pass {
            Pass::Loading => format!(
                "The allocations repeat the sizes of the parameters in their order: {done} of {total}."
            ),
            Pass::Forward => format!(
                "Each block keeps the same for the backward pass, and the parameters show {} of them.",
                self.total
            ),
            Pass::Backward => format!(
                "The parameters get their gradients one by one, from the last to the first: {done} of {total}. If some need \
                 none, it is less."
            ),
            Pass::Optimizer => format!(
                "The optimizer makes as much for each parameter that has a gradient: {done} of {total}."
            ),
        };
        format!(
            "{made} The rest needs more memory than there is, so serving this request alone would not help."
        )
    }

    /// What to try.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self.pass {
            Pass::Loading => {
                "Load to the host (map_location=\"cpu\"), or build the model on the meta device and load with \
                 assign=True, so that the parameters exist only once."
            }
            Pass::Forward => "A smaller batch or sequence, activation checkpointing, or sharding.",
            Pass::Backward => {
                "Fewer bytes per parameter (bf16), fewer parameters that are trained (LoRA), or sharding (FSDP, ZeRO)."
            }
            Pass::Optimizer => {
                "An optimizer with less state (8-bit, or without momentum), offloading it, or sharding (FSDP, ZeRO)."
            }
        }
    }
}

/// Allocations live when a request fails, in the order of birth.
struct Live<'a> {
    device: Device<'a>,
    moment: u32,
    rows: Vec<usize>,
}

impl<'a> Live<'a> {
    fn of(device: Device<'a>, moment: u32) -> Self {
        let table = &device.history.allocations;
        let is_live = |&row: &usize| {
            let waits = table.free_requested[row];
            table.born[row] <= moment
                && moment < table.died[row]
                && (waits == NEVER || moment < waits)
                && table.bytes[row] >= LEAST_BYTES
        };
        Self {
            device,
            moment,
            rows: (0..table.len()).filter(is_live).collect(),
        }
    }

    /// The sizes of one role.
    fn of_role(&self, role: Role) -> Vec<u64> {
        self.rows_of(role).map(|row| self.bytes(row)).collect()
    }

    fn rows_of(&self, role: Role) -> impl Iterator<Item = usize> {
        let rules = self.device.rule_of();
        let rows = self.rows.iter().copied();
        rows.filter(move |&row| rules[row].role() == role)
    }

    fn bytes(&self, row: usize) -> u64 {
        self.device.history.allocations.bytes[row]
    }

    fn active_bytes(&self) -> u64 {
        self.device.history.active_bytes_at(self.moment)
    }

    /// Whether all memory of a role was made in the last range of a phase: not in an earlier pass or before the
    /// recording.
    fn are_of_last(&self, role: Role, phase: Phase) -> bool {
        let ranges = self.device.phases().ranges.iter();
        let mut begun = ranges.filter(|range| range.phase == phase && range.from < self.moment);
        let born = &self.device.history.allocations.born;
        begun
            .next_back()
            .is_some_and(|range| self.rows_of(role).all(|row| born[row] > range.from))
    }

    /// Compares the optimizer's state with the gradients, which are complete.
    fn optimizer(&self, failure: &FailedRequest) -> Option<FirstPass> {
        if !self.are_of_last(Role::OptimizerState, Phase::Optimizer) {
            return None;
        }
        let gradients = self.of_role(Role::Gradient);
        let states = self.of_role(Role::OptimizerState);
        let per_gradient = for_each(&gradients, &states).or_else(|| {
            let parameters = self.of_role(Role::Parameter);
            let is_next = once_each(&parameters, &states, failure.requested_bytes);
            is_next.then_some(1)
        })?;
        let (done, total) = (sum(&states), sum(&gradients).saturating_mul(per_gradient));
        let needed_bytes = self.active_bytes().saturating_add(total - done);
        Some(pass(Pass::Optimizer, done, total, needed_bytes))
    }

    /// Compares the gradients with the parameters, the last of which have theirs. Other live memory may be freed by the
    /// end of the pass.
    fn backward(&self) -> Option<FirstPass> {
        if !self.are_of_last(Role::Gradient, Phase::Backward) {
            return None;
        }
        let (parameters, gradients) = (self.of_role(Role::Parameter), self.of_role(Role::Gradient));
        if gradients.len() < FEWEST || !have_passed(&parameters, &gradients) {
            return None;
        }
        let (done, total) = (sum(&gradients), sum(&parameters));
        let state = sum(&self.of_role(Role::OptimizerState));
        let needed_bytes = total.saturating_mul(2).saturating_add(state);
        (done < total).then(|| pass(Pass::Backward, done, total, needed_bytes))
    }

    /// Compares the memory that blocks keep with the number of blocks in the parameters, in a program without any other
    /// pass.
    fn forward(&self) -> Option<FirstPass> {
        let ranges = self.device.phases().ranges.iter();
        let mut before = ranges.filter(|range| range.from < self.moment);
        if !before.all(|range| range.phase == Phase::Forward) {
            return None;
        }
        let block = repeated_block(self.device, self.moment)?;
        let stacks = self.device.stack_of();
        let made = self.rows_of(Role::Parameter);
        let made: Vec<_> = made.map(|row| (stacks[row], self.bytes(row))).collect();
        let total = blocks(&made)?;
        let begun = block.count + u64::from(block.is_in_another);
        let left = total.checked_sub(begun)?;
        let left = left.saturating_mul(block.bytes);
        let needed_bytes = self.active_bytes().saturating_add(left);
        (block.count < total).then(|| pass(Pass::Forward, block.count, total, needed_bytes))
    }

    /// Compares a copy with its original: other code makes the same sizes in the same order again, and the failed
    /// request is the next of them.
    fn loading(&self, failure: &FailedRequest) -> Option<FirstPass> {
        let sizes: Vec<u64> = self.rows.iter().map(|&row| self.bytes(row)).collect();
        let first = period(&sizes);
        let (copied, copies) = sizes.split_at(first);
        let is_next = copied
            .get(copies.len())
            .is_some_and(|bytes| bytes.next_multiple_of(512) == failure.requested_bytes);
        let are_sizes_telling = copies.iter().any(|bytes| Some(bytes) != copies.first());
        let sites = self.device.site_of();
        let (made, again) = self.rows.split_at(first);
        let is_other_code = again
            .iter()
            .all(|&row| made.iter().all(|&other| sites[other] != sites[row]));
        if copies.len() < FEWEST || !is_next || !are_sizes_telling || !is_other_code {
            return None;
        }
        let (done, total) = (sum(copies), sum(copied));
        let needed_bytes = self.active_bytes().saturating_add(total - done);
        Some(pass(Pass::Loading, done, total, needed_bytes))
    }
}

fn pass(pass: Pass, done: u64, total: u64, needed_bytes: u64) -> FirstPass {
    FirstPass {
        pass,
        done,
        total,
        needed_bytes,
        there_bytes: 0,
    }
}

fn sum(bytes: &[u64]) -> u64 {
    bytes.iter().fold(0, |sum, &more| sum.saturating_add(more))
}

/// How many are made for each thing, if those made so far, in order, can be a part of the whole. The last run of one
/// size may be incomplete.
fn for_each(things: &[u64], made: &[u64]) -> Option<u64> {
    let mut runs: Vec<usize> = made.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
    runs.pop();
    let per_thing = *runs.iter().min()?;
    let is_even = runs.iter().all(|run| run.is_multiple_of(per_thing));
    let mut left: HashMap<u64, usize> = HashMap::new();
    for &bytes in things {
        *left.entry(bytes).or_default() += per_thing;
    }
    let are_made_for_them = made.iter().all(|bytes| match left.get_mut(bytes) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    let is_enough = made.len() >= FEWEST && runs.len() >= FEWEST_BLOCKS;
    (is_even && is_enough && are_made_for_them).then_some(per_thing as u64)
}

/// Whether one thing was made for each of the first parameters, in their order, and the failed request is the next. At
/// least two sizes must differ, otherwise the order proves nothing.
fn once_each(parameters: &[u64], made: &[u64], failed_bytes: u64) -> bool {
    let Some((&next, before)) = parameters.get(..=made.len()).and_then(<[u64]>::split_last) else {
        return false;
    };
    let are_sizes_telling = before.iter().any(|&bytes| bytes != next) && made.len() > 1;
    are_sizes_telling && before == made && next.next_multiple_of(512) == failed_bytes
}

/// Whether the gradients belong to the last parameters, with hardly one left out.
fn have_passed(parameters: &[u64], gradients: &[u64]) -> bool {
    let mut waiting: HashMap<u64, usize> = HashMap::new();
    for &bytes in gradients {
        *waiting.entry(bytes).or_default() += 1;
    }
    let (mut left, mut without) = (gradients.len(), 0_u64);
    for &bytes in parameters.iter().rev() {
        match waiting.get_mut(&bytes) {
            _ if left == 0 => break,
            Some(waiting) if *waiting > 0 => {
                *waiting -= 1;
                left -= 1;
            }
            _ => without = without.saturating_add(bytes),
        }
    }
    let are_sizes_telling = waiting.len() > 1;
    left == 0 && are_sizes_telling && without <= sum(gradients) / GAP_PART
}

/// Number of blocks, if most bytes of the parameters, given as (what made them, bytes), are in repeating parts.
fn blocks<T: PartialEq>(parameters: &[(T, u64)]) -> Option<u64> {
    let all: u64 = parameters
        .iter()
        .fold(0, |sum, it| sum.saturating_add(it.1));
    for length in 2..=MOST_OF_BLOCK.min(parameters.len() / FEWEST_BLOCKS) {
        let same = |at: &usize| parameters[*at] == parameters[at + length];
        let places: Vec<usize> = (0..parameters.len() - length).filter(same).collect();
        let runs = places.chunk_by(|a, b| a + 1 == *b);
        let Some(run) = runs.max_by_key(|run| run.len()) else {
            continue;
        };
        let repeated = &parameters[run[0]..run[0] + run.len() + length];
        let bytes = repeated
            .iter()
            .fold(0, |sum: u64, it| sum.saturating_add(it.1));
        let count = repeated.len() / length;
        let is_telling = repeated[..length].iter().any(|it| it.1 != repeated[0].1);
        if count >= FEWEST_BLOCKS && is_telling && bytes > all / 2 {
            return Some(count as u64);
        }
    }
    None
}

/// The least number of values after which the whole sequence repeats; the number of values if it does not.
fn period(values: &[u64]) -> usize {
    // For each value, the length of the longest beginning that also ends there.
    let mut borders: Vec<usize> = vec![0; values.len()];
    for at in 1..values.len() {
        let mut length = borders[at - 1];
        while length > 0 && values[length] != values[at] {
            length = borders[length - 1];
        }
        borders[at] = length + usize::from(values[length] == values[at]);
    }
    values.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
