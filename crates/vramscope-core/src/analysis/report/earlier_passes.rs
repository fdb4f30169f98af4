//! What earlier forward passes left live when a request failed in another one: made by code that runs again in this pass.
//!
//! A backward pass, or the end of an evaluation, frees what a forward pass kept. What is still there is held: an output of
//! the pass before, or losses with all that they were computed from.

use std::collections::{BTreeSet, HashSet};

use super::names::named;
use super::summary::saturating_sum;
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, PhaseRange, Role};
use crate::ids::AllocationId;
use crate::units::{Bytes, Count};

/// Minimum share of what was live.
const SHARE_PERCENT: u128 = 10;
/// Without a backward pass between them, so many forward passes may belong together, such as those of two views of an input.
const MOST_TOGETHER: usize = 2;

/// What earlier forward passes left.
pub(super) struct EarlierPasses {
    /// How many passes.
    passes: usize,
    /// Requested bytes that were live.
    pub(super) bytes: u64,
    /// The call site with the most of them.
    pub(super) place: String,
}

impl EarlierPasses {
    /// What was left when a request failed at `moment`; `None` if that was not in a forward pass, little was left, or the
    /// passes may still need it.
    pub(super) fn of(device: Device<'_>, moment: u32) -> Option<Self> {
        let ranges = &device.phases().ranges;
        let has_begun = |range: &PhaseRange| range.from.saturating_add(1) < moment.min(range.to);
        let now = ranges.iter().rposition(has_begun)?;
        if ranges[now].phase != Phase::Forward {
            return None;
        }
        let table = &device.history.allocations;
        let stacks = device.stack_of();
        let begin = ranges[now].from;
        let rows = (0..table.len()).filter(|&row| table.born[row] > begin);
        let runs_again: HashSet<_> = rows
            .filter(|&row| stacks[row].has_frames())
            .map(|row| stacks[row])
            .collect();
        let rules = device.rule_of();
        let is_left = |row: usize| {
            (1..=begin).contains(&table.born[row])
                && runs_again.contains(&stacks[row])
                && !matches!(
                    rules[row].role(),
                    Role::Parameter | Role::Gradient | Role::OptimizerState | Role::KvCache
                )
        };
        let live = live_at(device.history, moment).map(AllocationId::index);
        let left: Vec<usize> = live.filter(|&row| is_left(row)).collect();
        let bytes = saturating_sum(left.iter().map(|&row| table.bytes[row]));
        let all = u128::from(device.history.active_bytes_at(moment));
        // The pass that each was made in.
        let pass_of = |row: usize| ranges.partition_point(|range| range.to < table.born[row]);
        let passes: BTreeSet<usize> = left.iter().map(|&row| pass_of(row)).collect();
        let is_over = |&pass: &usize| {
            let later = &ranges[pass.min(now)..now];
            later.iter().any(|range| range.phase == Phase::Backward)
        };
        let are_together = passes.len() <= MOST_TOGETHER && !passes.iter().any(is_over);
        if u128::from(bytes) * 100 < all * SHARE_PERCENT || are_together {
            return None;
        }
        let ids = left.iter().map(|&row| AllocationId::from_index(row));
        let top = top_call_sites(device, ids, 1);
        let place = top.sites.first().map(|site| site.label.clone());
        Some(Self {
            passes: passes.len(),
            bytes,
            place: place.unwrap_or_default(),
        })
    }

    /// One line without its stop.
    pub(super) fn title(&self) -> String {
        let passes = match self.passes {
            1 => "the previous forward pass".to_owned(),
            passes => format!("{} earlier forward passes", Count(passes as u64)),
        };
        format!(
            "{} from {passes} are still live, most of it made at {}",
            Bytes(self.bytes),
            named(&self.place)
        )
    }

    /// What it may mean.
    pub(super) fn explanation(&self) -> String {
        "The code that made it runs again in the pass that failed. A variable or a list keeps outputs or losses, with all that \
         they were computed from; or an evaluation runs without torch.no_grad()."
            .to_owned()
    }

    /// What to try.
    pub(super) fn advice(&self) -> String {
        match self.passes {
            1 => "del what holds the outputs of a pass before the next one.".to_owned(),
            _ => "Keep loss.item() and outputs.detach().cpu() instead of tensors of the graph, and evaluate under \
                  torch.no_grad()."
                .to_owned(),
        }
    }
}
