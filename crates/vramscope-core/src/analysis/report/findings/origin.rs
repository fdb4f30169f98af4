//! The memory live when a request failed, by when it was made.

use super::words::percent;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::recording::Device;
use crate::analysis::report::names::named;
use crate::analysis::report::program_changes::{RepeatedBlock, repeated_block};
use crate::analysis::report::summary::saturating_sum;
use crate::analysis::roles::{Phase, PhaseRange};
use crate::units::{Bytes, Count};

/// If a phase made at least this share of the live memory, older memory is not the cause.
const MOST_PERCENT: u128 = 80;
/// A repeating block is mentioned if its instances hold at least this share.
const BLOCK_PERCENT: u128 = 10;

/// Sentences on what made the memory live when a request failed, and on the repeating block; empty if stacks show no
/// phases.
#[must_use]
pub fn origin(device: Device<'_>, moment: u32) -> String {
    let history = device.history;
    let ranges = device.phases().ranges.iter();
    // A range that has just begun is ignored: a profiler may write its start too early.
    let has_begun = |range: &&PhaseRange| range.from.saturating_add(1) < moment.min(range.to);
    let Some(range) = ranges.rev().find(has_begun) else {
        return String::new();
    };
    let bytes_of = |is_wanted: &dyn Fn(u32) -> bool| {
        let live = live_at(history, moment).map(|id| id.index());
        let wanted = live.filter(|&row| is_wanted(history.allocations.born[row]));
        saturating_sum(wanted.map(|row| history.allocations.bytes[row]))
    };
    let all = bytes_of(&|_| true);
    let since = bytes_of(&|born| born > range.from);
    let before = all.saturating_sub(since);
    let phase = match range.phase {
        Phase::Forward => "forward pass",
        Phase::Backward => "backward pass",
        Phase::Optimizer => "optimizer step",
    };
    let is_share = |bytes: u64, percent: u128| u128::from(bytes) * 100 >= u128::from(all) * percent;
    let mut text = format!(
        "Of {} live then, {} ({}) were made since this {phase} began",
        Bytes(all),
        Bytes(since),
        percent(since, all)
    );
    text += &if is_share(since, MOST_PERCENT) {
        format!(
            ": what is older (parameters, optimizer state, what the loop keeps) is excluded as the cause, it holds {}.",
            Bytes(before)
        )
    } else {
        format!(", {} are older.", Bytes(before))
    };
    let block = repeated_block(device, moment);
    let holds_much = |block: &RepeatedBlock| {
        let bytes = u128::from(block.bytes) * u128::from(block.count);
        bytes * 100 >= u128::from(all) * BLOCK_PERCENT
    };
    if let Some(block) = block
        .filter(holds_much)
        .filter(|_| range.phase != Phase::Optimizer)
    {
        text += &block_sentence(&block);
    }
    text
}

fn block_sentence(block: &RepeatedBlock) -> String {
    let under = match block.label.as_str() {
        "" => String::new(),
        label => format!(" under {}", named(label)),
    };
    let failed = match block.is_in_another {
        true => format!("; it failed in block {}", Count(block.count + 1)),
        false => String::new(),
    };
    format!(
        " A block{under} repeats: {} of them keep {} in {} allocations each{failed}.",
        Count(block.count),
        Bytes(block.bytes),
        Count(block.allocations)
    )
}
