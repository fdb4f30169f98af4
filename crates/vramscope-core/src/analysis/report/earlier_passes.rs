//! Memory that earlier forward passes left live when a request failed in another pass, made by code that runs again in
//! it.
//!
//! A backward pass, or the end of an evaluation, frees what a forward pass kept. The rest is still referenced: an
//! output of the previous pass, or losses with their whole computation graph.

use std::collections::{BTreeSet, HashSet};

use super::causes::{Cause, CauseClass};
use super::names::named;
use super::summary::saturating_sum;
use crate::analysis::code::call_sites::label;
use crate::analysis::code::frames::{FrameClass, Location};
use crate::analysis::groups::live_at::{live_at, top_call_sites};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, PhaseRange, Role};
use crate::ids::{AllocationId, FrameId, StackId};
use crate::units::Bytes;

/// Minimum share of live memory.
const SHARE_PERCENT: u128 = 10;
/// Without a backward pass between them, this many forward passes may belong together, such as those of two views of an
/// input.
const MOST_TOGETHER: usize = 2;

/// Memory left by earlier forward passes.
pub(super) struct EarlierPasses {
    passes: usize,
    /// Whether one of them ended with a failed request.
    has_failed: bool,
    /// Whether equally many similar allocations were freed after some passes, so that the number kept is limited.
    pub(super) turns_over: bool,
    /// Requested bytes that were live.
    pub(super) bytes: u64,
    /// The code that runs the pass, or else the call site with the most left bytes.
    pub(super) place: String,
}

impl EarlierPasses {
    /// The memory left when a request failed at `moment`; `None` if that was not in a forward pass, little was left, or
    /// the passes may still need it.
    pub(super) fn of(device: Device<'_>, moment: u32) -> Option<Self> {
        Self::of_failed(device, moment).or_else(|| Self::of_others(device, moment))
    }

    fn of_others(device: Device<'_>, moment: u32) -> Option<Self> {
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
                && !is_kept_on_purpose(rules[row].role())
        };
        let live = live_at(device.history, moment).map(AllocationId::index);
        let left: Vec<usize> = live.filter(|&row| is_left(row)).collect();
        let bytes = saturating_sum(left.iter().map(|&row| table.bytes[row]));
        let all = u128::from(device.history.active_bytes_at(moment));
        // The pass that made each allocation.
        let pass_of = |row: usize| pass_of_moment(ranges, table.born[row]);
        let passes: BTreeSet<usize> = left.iter().map(|&row| pass_of(row)).collect();
        let is_over = |&pass: &usize| {
            let later = &ranges[pass.min(now)..now];
            later.iter().any(|range| range.phase == Phase::Backward)
        };
        let are_together = passes.len() <= MOST_TOGETHER
            && !passes.iter().any(is_over)
            && !passes
                .first()
                .is_some_and(|&first| went_back_alone(&ranges[..first]));
        if u128::from(bytes) * 100 < all * SHARE_PERCENT || are_together {
            return None;
        }
        let made_left: HashSet<_> = left.iter().map(|&row| stacks[row]).collect();
        let was_let_go = |row: &usize| {
            made_left.contains(&stacks[*row])
                && table.born[*row] > 0
                && table.died[*row] <= begin
                && pass_of_moment(ranges, table.died[*row]) > pass_of(*row) + 1
        };
        Some(Self {
            passes: passes.len(),
            has_failed: false,
            turns_over: (0..table.len()).filter(was_let_go).count() >= left.len(),
            bytes,
            place: place(device, &left),
        })
    }

    /// The memory left by a pass with an earlier failed request, if the program made no progress since; `None` if it is
    /// little.
    fn of_failed(device: Device<'_>, moment: u32) -> Option<Self> {
        let &failed = device
            .failed_requests()
            .first()
            .filter(|&&at| at < moment)?;
        let ranges = device.phases().ranges.iter();
        let mut before = ranges.filter(|range| range.from < failed);
        let pass = before.next_back()?;
        if pass.phase != Phase::Forward {
            return None;
        }
        let table = &device.history.allocations;
        let rules = device.rule_of();
        let live = live_at(device.history, moment).map(AllocationId::index);
        let left: Vec<usize> = live
            .filter(|&row| (pass.from + 1..=failed).contains(&table.born[row]))
            .filter(|&row| !is_kept_on_purpose(rules[row].role()))
            .collect();
        let bytes = saturating_sum(left.iter().map(|&row| table.bytes[row]));
        let since = table.born.partition_point(|&born| born <= failed)
            ..table.born.partition_point(|&born| born <= moment);
        let since = saturating_sum(since.map(|row| table.bytes[row]));
        let all = u128::from(device.history.active_bytes_at(moment));
        let is_little = u128::from(bytes) * 100 < all * SHARE_PERCENT;
        // A library that retries with a smaller request continues in the same pass.
        let went_on = since > bytes / 10;
        (!is_little && !went_on).then(|| Self {
            passes: 1,
            has_failed: true,
            turns_over: false,
            bytes,
            place: place(device, &left),
        })
    }

    /// One line, without a full stop.
    fn title(&self) -> String {
        let passes = match self.passes {
            1 if self.has_failed => "a forward pass that failed".to_owned(),
            1 => "the previous forward pass".to_owned(),
            _ => "earlier forward passes".to_owned(),
        };
        format!(
            "{} from {passes} at {} are still live",
            Bytes(self.bytes),
            named(&self.place),
        )
    }

    /// What it may mean.
    fn explanation(&self) -> String {
        if self.has_failed {
            return "An error keeps everything that its traceback refers to: all that was live in the functions it passed \
                    through. That memory stays as long as the error is kept, or until its except block ends."
                .to_owned();
        }
        "The code that made it runs again in the pass that failed. A variable or a list keeps outputs or losses, with all that \
         they were computed from; or an evaluation runs without torch.no_grad()."
            .to_owned()
    }

    /// What to try.
    fn advice(&self) -> String {
        match self.passes {
            _ if self.has_failed => "Keep str(error) instead of the error, and try again after the except block.".to_owned(),
            1 => "del the variables that hold the outputs of a pass before the next one.".to_owned(),
            _ => "Keep loss.item() and outputs.detach().cpu() instead of tensors of the graph, and evaluate under \
                  torch.no_grad()."
                .to_owned(),
        }
    }
}

impl From<EarlierPasses> for Cause {
    fn from(left: EarlierPasses) -> Self {
        Self {
            seen: left.explanation(),
            advice: left.advice(),
            place: left.place.clone(),
            ..Self::new(CauseClass::EarlierPasses, left.bytes, left.title())
        }
    }
}

/// The index of the first pass that is not over before a moment.
fn pass_of_moment(ranges: &[PhaseRange], moment: u32) -> usize {
    ranges.partition_point(|range| range.to < moment)
}

/// Whether each forward pass was followed by its own backward pass: at least two pairs, and no pass without one.
fn went_back_alone(ranges: &[PhaseRange]) -> bool {
    let passes: Vec<Phase> = ranges.iter().map(|range| range.phase).collect();
    let twice = passes
        .windows(2)
        .any(|pair| pair == [Phase::Forward, Phase::Forward]);
    let back = passes
        .windows(2)
        .filter(|pair| **pair == [Phase::Forward, Phase::Backward]);
    back.count() >= 2 && !twice
}

fn is_kept_on_purpose(role: Role) -> bool {
    matches!(
        role,
        Role::Parameter | Role::Gradient | Role::OptimizerState | Role::KvCache
    )
}

/// The code that runs the pass with the largest of these allocations, or else the call site with the most of them.
fn place(device: Device<'_>, rows: &[usize]) -> String {
    let table = &device.history.allocations;
    let largest = rows.iter().max_by_key(|&&row| table.bytes[row]);
    let run_by = largest.and_then(|&row| caller(device, device.stack_of()[row]));
    run_by.unwrap_or_else(|| {
        let ids = rows.iter().map(|&row| AllocationId::from_index(row));
        let top = top_call_sites(device, ids, 1);
        top.sites
            .first()
            .map_or_else(String::new, |site| site.label.clone())
    })
}

/// The user's code that called the outermost module of a stack, as a label; `None` if the stack has no module or no
/// such code.
fn caller(device: Device<'_>, stack: StackId) -> Option<String> {
    let (snapshot, classes) = (device.snapshot(), device.recording.classes());
    let frames: Vec<FrameId> = snapshot.stacks.frames(stack).collect();
    let is_module = |&frame: &FrameId| {
        let file = snapshot.frames.get(frame).filename;
        snapshot
            .strings
            .get(file)
            .ends_with("torch/nn/modules/module.py")
    };
    let outermost = frames.iter().rposition(is_module)?;
    let mut callers = frames[outermost + 1..].iter();
    let user = callers.find(|&&frame| classes.get(frame) == FrameClass::User)?;
    Some(label(&Location::of(snapshot, snapshot.frames.get(*user))))
}
