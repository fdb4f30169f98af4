//! The repeating block of a model: layers that keep the same sizes, made by the same stacks in the same order.
//!
//! Memory kept by a forward pass is in the order in which it was made. If a stack occurs once per layer, the stacks and
//! sizes between two of its allocations are those of one layer.

use std::collections::HashMap;

use crate::analysis::code::call_sites::label;
use crate::analysis::code::frames::{FrameClass, Location, is_python_source};
use crate::analysis::recording::Device;
use crate::analysis::roles::{Phase, PhaseRange, Role};
use crate::ids::{AllocationId, FrameId, StackId};
use crate::sorting::SortFew;

/// Fewest layers.
const FEWEST: usize = 3;
/// A gap between forward passes separates them if it exceeds the first one's events divided by this number.
const GAP: u32 = 100;
/// Number of stacks to try among those that occur equally often, the earliest first.
const STACKS_PER_COUNT: usize = 4;
/// Number of different counts of occurrences to try: those whose stacks hold most. Real programs have fewer; each costs
/// a pass over all kept allocations.
const MOST_COUNTS: usize = 32;

/// A part of a model that repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepeatedBlock {
    /// The frame around the whole block, such as `model.py:249 forward`; empty if the stacks have none in common.
    pub label: String,
    /// Number of complete live blocks.
    pub count: u64,
    /// Bytes that each block keeps.
    pub bytes: u64,
    /// Number of allocations that each block keeps.
    pub allocations: u64,
    /// Bytes of the block's last allocation, its output.
    pub output_bytes: u64,
    /// Whether another block had begun.
    pub is_in_another: bool,
    /// The stack that begins each block.
    pub(super) begin: StackId,
    pub(super) stacks: Vec<StackId>,
}

/// The forward pass in which a request failed at `until`, or else the earlier one that held most at its end.
fn forward_pass(device: Device<'_>, until: u32) -> Option<PhaseRange> {
    let history = device.history;
    let ranges = device.phases().ranges.iter();
    let before = ranges.filter(|range| range.from < until);
    let cut = before.map(|range| PhaseRange {
        to: range.to.min(until),
        ..*range
    });
    let passes = without_gaps(cut);
    let last = passes.last().copied()?;
    if last.phase == Phase::Forward && device.failed_requests().binary_search(&until).is_ok() {
        return Some(last);
    }
    let passes = passes
        .into_iter()
        .filter(|range| range.phase == Phase::Forward);
    passes.max_by_key(|pass| history.active_bytes.get(pass.to as usize).copied())
}

/// Joins neighbouring ranges of one phase if hardly anything is between them: the loss after the model.
fn without_gaps(ranges: impl Iterator<Item = PhaseRange>) -> Vec<PhaseRange> {
    let mut passes: Vec<PhaseRange> = Vec::new();
    for range in ranges {
        match passes.last_mut() {
            Some(last)
                if last.phase == range.phase
                    && (range.from.saturating_sub(last.to)).saturating_mul(GAP)
                        <= last.to.saturating_sub(last.from) =>
            {
                last.to = range.to;
            }
            _ => passes.push(range),
        }
    }
    passes
}

/// Allocations that a forward pass keeps at its end, as rows.
fn kept_by_forward(device: Device<'_>, until: u32) -> Vec<usize> {
    let history = device.history;
    let Some(pass) = forward_pass(device, until) else {
        return Vec::new();
    };
    let table = &history.allocations;
    let rows = table.born.partition_point(|&born| born <= pass.from)
        ..table.born.partition_point(|&born| born <= pass.to);
    let is_kept = |&row: &usize| {
        history.is_live(AllocationId::from_index(row), pass.to) && is_pass_made(device, row)
    };
    rows.filter(is_kept).collect()
}

/// Whether an allocation is a forward pass's own.
pub(super) fn is_pass_made(device: Device<'_>, row: usize) -> bool {
    let role = device.rule_of().get(row).map(|rule| rule.role());
    matches!(
        role,
        Some(Role::Activation | Role::Temporary | Role::Unknown)
    )
}

/// The block that holds most of the memory kept by the forward pass up to then, if a block repeats.
#[must_use]
pub fn repeated_block(device: Device<'_>, until: u32) -> Option<RepeatedBlock> {
    let kept = Kept::of(device, until);
    let mut best: Option<RepeatedBlock> = None;
    for (stack, places) in kept.candidates() {
        let Some(found) = kept.block(stack, &places) else {
            continue;
        };
        let bytes = |block: &RepeatedBlock| u128::from(block.bytes) * u128::from(block.count);
        if best.as_ref().is_none_or(|best| bytes(&found) > bytes(best)) {
            best = Some(found);
        }
    }
    let mut best = best?;
    best.label = common_frame(device, &best.stacks);
    Some(best)
}

/// Allocations kept by a forward pass, in the order of birth.
struct Kept {
    rows: Vec<(StackId, u64)>,
}

impl Kept {
    fn of(device: Device<'_>, until: u32) -> Self {
        let (stacks, bytes) = (device.stack_of(), &device.history.allocations.bytes);
        let rows = kept_by_forward(device, until).into_iter();
        let rows = rows.map(|row| (stacks[row], bytes[row]));
        Self {
            rows: rows.filter(|(stack, _)| stack.has_frames()).collect(),
        }
    }

    /// Stacks that occur several times, with their indexes.
    fn candidates(&self) -> Vec<(StackId, Vec<usize>)> {
        let mut places: HashMap<StackId, Vec<usize>> = HashMap::new();
        for (place, &(stack, _)) in self.rows.iter().enumerate() {
            places.entry(stack).or_default().push(place);
        }
        let mut all: Vec<_> = places.into_iter().collect();
        all.retain(|(_, places)| places.len() >= FEWEST);
        all.sort_few_by_key(|(_, places)| (places.len(), places[0]));
        let bytes = |same: &[(StackId, Vec<usize>)]| -> u128 {
            let places = same.iter().flat_map(|(_, places)| places);
            places.map(|&place| u128::from(self.rows[place].1)).sum()
        };
        let same = all.chunk_by(|(_, a), (_, b)| a.len() == b.len());
        let mut same: Vec<_> = same.map(|same| (bytes(same), same)).collect();
        same.sort_few_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
        same.truncate(MOST_COUNTS);
        let chosen = same.iter();
        let chosen = chosen.flat_map(|(_, same)| same.iter().take(STACKS_PER_COUNT));
        let mut chosen: Vec<_> = chosen.cloned().collect();
        // Among equals the earliest wins: a block that has just begun shows only its first stack.
        chosen.sort_few_by_key(|(_, places)| places[0]);
        chosen
    }

    /// The block between the occurrences of a stack, if nearly all spans are alike.
    fn block(&self, begin: StackId, places: &[usize]) -> Option<RepeatedBlock> {
        let spans: Vec<&[(StackId, u64)]> = places
            .windows(2)
            .map(|ends| &self.rows[ends[0]..ends[1]])
            .collect();
        let usual = most_frequent(&spans)?;
        let alike = spans.iter().filter(|span| **span == usual).count();
        if alike + 1 < FEWEST || alike * 10 < spans.len() * 9 {
            return None;
        }
        // The rest after the last occurrence is a block, too, if it begins like one.
        let tail = &self.rows[*places.last()?..];
        let is_last_whole = tail.starts_with(usual);
        let mut stacks: Vec<StackId> = usual.iter().map(|&(stack, _)| stack).collect();
        stacks.sort_few_by(Ord::cmp);
        stacks.dedup();
        Some(RepeatedBlock {
            label: String::new(),
            count: alike as u64 + u64::from(is_last_whole),
            bytes: usual.iter().fold(0, |sum, row| row.1.saturating_add(sum)),
            allocations: usual.len() as u64,
            output_bytes: usual.last().map_or(0, |row| row.1),
            is_in_another: !is_last_whole,
            begin,
            stacks,
        })
    }
}

/// The span that occurs most often.
fn most_frequent<'a>(spans: &[&'a [(StackId, u64)]]) -> Option<&'a [(StackId, u64)]> {
    let mut counts: HashMap<&[(StackId, u64)], usize> = HashMap::new();
    for span in spans {
        *counts.entry(span).or_default() += 1;
    }
    // The first among equals, so that the result does not depend on the order of a map.
    let most = *counts.values().max()?;
    spans.iter().find(|span| counts[**span] == most).copied()
}

/// The innermost Python frame outside of torch that all stacks share.
fn common_frame(device: Device<'_>, stacks: &[StackId]) -> String {
    let snapshot = device.snapshot();
    let file = |id: FrameId| snapshot.strings.get(snapshot.frames.get(id).filename);
    let mut common: Option<Vec<FrameId>> = None;
    for &stack in stacks {
        // The interpreter calls a function in several ways, so only Python frames are compared.
        let frames = snapshot.stacks.frames(stack).rev();
        let outermost_first = frames.filter(|&id| is_python_source(file(id)));
        common = Some(match common {
            None => outermost_first.collect(),
            Some(known) => {
                let same = known.into_iter().zip(outermost_first);
                let same = same.take_while(|(a, b)| a == b);
                same.map(|(frame, _)| frame).collect()
            }
        });
    }
    let common = common.unwrap_or_default();
    let classes = device.recording.classes();
    // A model may be an installed package, but torch's own code only calls the next module.
    let is_telling = |&&id: &&FrameId| {
        let is_torch = |part: &&str| file(id).contains(part);
        classes.get(id) != FrameClass::Runtime && !["/torch/", "\\torch\\"].iter().any(is_torch)
    };
    let frame = common.iter().rev().find(is_telling);
    frame.map_or(String::new(), |&frame| {
        label(&Location::of(snapshot, snapshot.frames.get(frame)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_gap_does_not_end_a_pass() {
        let range = |phase, from, to| PhaseRange { phase, from, to };
        let of = |ranges: &[PhaseRange]| without_gaps(ranges.iter().copied());
        let model = range(Phase::Forward, 100, 1_100);
        let loss = range(Phase::Forward, 1_110, 1_115);
        assert_eq!(of(&[model, loss]), [range(Phase::Forward, 100, 1_115)]);
        let other = range(Phase::Forward, 1_111, 1_115);
        assert_eq!(of(&[model, other]), [model, other]);
        let backward = range(Phase::Backward, 1_101, 2_000);
        assert_eq!(of(&[model, backward]), [model, backward]);
    }
}
