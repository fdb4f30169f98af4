//! The effect of changes of the program on its peak, computed from the recording.
//!
//! The recording has the beginning and end of each allocation. A change makes some of them live shorter, or smaller.
//! The new curve is exact in that respect; that the program would otherwise do the same is an assumption, so all
//! figures are estimates.

mod blocks;
mod curve;

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use self::curve::Curve;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::recording::Device;
use crate::analysis::report::names::named;
use crate::analysis::roles::{Phase, Role};
use crate::analysis::time::history::{History, NEVER};
use crate::bitset::BitSet;
use crate::ids::{FrameId, StackId};
use crate::sorting::SortFew;
use crate::units::Bytes;

pub use blocks::{RepeatedBlock, repeated_block};

/// A change of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Activation checkpointing of the block that repeats.
    Checkpoint,
    /// Half the batch.
    HalfBatch,
    /// An optimizer that updates one parameter after the other.
    NoForeach,
    /// Memory of a step is freed at the end of the step, not after the next step has made its successor.
    FreeEarlier,
    /// One of the first two, with [`Self::NoForeach`].
    Together,
}

impl ChangeKind {
    /// The change in few words.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpointing",
            Self::HalfBatch => "half the batch",
            Self::NoForeach => "foreach=False",
            Self::FreeEarlier => "freeing earlier",
            Self::Together => "both",
        }
    }
}

/// A change of the program, with its effect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramChange {
    /// The change.
    pub kind: ChangeKind,
    /// The change in words, such as `Checkpoint model.py:249 forward`.
    pub title: String,
    /// Its basis and its cost.
    pub because: String,
    /// The peak of live memory up to the moment in question, with the change.
    pub peak_bytes: u64,
    /// Live memory at that moment, with the change.
    pub live_bytes: u64,
    /// Number of allocations that it makes smaller, or frees, at the recorded peak up to the moment in question.
    pub peak_allocations: u64,
    /// Number of allocations that it makes smaller, or frees, at the moment in question.
    pub live_allocations: u64,
    /// For [`ChangeKind::Together`], the effect of each change alone; else empty.
    pub alone: Vec<AloneChange>,
}

/// The effect of one of two changes without the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AloneChange {
    /// The change.
    pub kind: ChangeKind,
    /// The peak of live memory up to the moment in question.
    pub peak_bytes: u64,
    /// Live memory at that moment.
    pub live_bytes: u64,
}

/// The changes that would lower live memory at `until` or the peak before, the greatest effect at `until` first. Takes
/// linear time in events and allocations.
#[must_use]
pub fn program_changes<'a>(device: Device<'a>, until: u32) -> Vec<ProgramChange> {
    let history = device.history;
    let peak = peak_moment(history, until);
    let moments = [peak, until];
    let mut found = Vec::new();
    let of_foreach = foreach_stacks(device);
    let optimizer = no_foreach(device, &of_foreach, Curve::new(history, moments));
    let optimizer = optimizer.map(|change| change.told(until));
    let of_passes: [&dyn Fn() -> Option<Change<'a>>; 2] =
        [&|| checkpoint(device, moments), &|| {
            half_batch(device, moments)
        }];
    for passes in of_passes {
        let Some(change) = passes() else { continue };
        let passes = change.told(until);
        if let Some(optimizer) = &optimizer {
            let both = no_foreach(device, &of_foreach, change.curve);
            found.extend(both.map(|both| together(&both, until, [&passes, optimizer])));
        }
        found.push(passes);
    }
    found.extend(optimizer);
    found.extend(free_earlier(device, moments).map(|change| change.told(until)));
    let [peak_bytes, live_bytes] = moments.map(|moment| history.active_bytes_at(moment));
    found.retain(|change| change.peak_bytes < peak_bytes || change.live_bytes < live_bytes);
    found.sort_few_by_key(|change| (change.live_bytes, change.peak_bytes, change.kind));
    found
}

/// The first moment up to `until` with the most live bytes.
fn peak_moment(history: &History, until: u32) -> u32 {
    let live = history.active_bytes.iter().take(until as usize + 1);
    let peak = live.enumerate().rev().max_by_key(|&(_, bytes)| bytes);
    peak.map_or(0, |(moment, _)| moment as u32)
}

/// A change with its curve. A curve has a value for each moment, so only one exists at a time.
struct Change<'a> {
    kind: ChangeKind,
    title: String,
    because: String,
    curve: Curve<'a>,
}

impl Change<'_> {
    /// Its effect on the recording's peak and at a moment.
    fn told(&self, until: u32) -> ProgramChange {
        let (peak_bytes, live_bytes) = self.curve.peak(until);
        let [peak_allocations, live_allocations] = self.curve.changed();
        ProgramChange {
            kind: self.kind,
            title: self.title.clone(),
            because: self.because.clone(),
            peak_bytes,
            live_bytes,
            peak_allocations,
            live_allocations,
            alone: Vec::new(),
        }
    }

    fn if_any(self) -> Option<Self> {
        (!self.curve.is_as_recorded()).then_some(self)
    }
}

/// A change of the passes together with that of the optimizer, in one curve. They concern different allocations, so
/// their effects add up.
fn together(both: &Change<'_>, until: u32, parts: [&ProgramChange; 2]) -> ProgramChange {
    let [passes, optimizer] = parts;
    ProgramChange {
        kind: ChangeKind::Together,
        title: format!("{}, with {}", passes.title, optimizer.title),
        because: "each lowers what the other leaves".to_owned(),
        alone: parts
            .map(|part| AloneChange {
                kind: part.kind,
                peak_bytes: part.peak_bytes,
                live_bytes: part.live_bytes,
            })
            .to_vec(),
        ..both.told(until)
    }
}

/// Frees the memory that a block keeps, except its output, when the next block begins. It is made again when the
/// backward pass reaches the block, and frees the first allocation of it.
fn checkpoint(device: Device<'_>, moments: [u32; 2]) -> Option<Change<'_>> {
    let [_peak, until] = moments;
    let block = repeated_block(device, until)?;
    let mut curve = Curve::new(device.history, moments);
    let table = &device.history.allocations;
    let stacks = device.stack_of();
    let mut of_block = BitSet::new(device.snapshot().stacks.len());
    for stack in &block.stacks {
        of_block.insert(stack.index());
    }
    let is_part =
        |row: &usize| of_block.contains(stacks[*row].index()) && blocks::is_pass_made(device, *row);
    let phases = device.phases();
    let pass_of = |moment: u32| phases.ended_before(moment);
    // Autocast keeps its casts of weights until the end of the pass, and gathered parameters follow rules of their own.
    let of_weights = copies_of_weights(device);
    let rows = (0..table.len()).filter(|&row| !of_weights.contains(row));
    let rows: Vec<usize> = rows.filter(is_part).collect();
    let passes = rows.chunk_by(|_, &next| stacks[next] != block.begin);
    let mut passes = passes.peekable();
    while let Some(rows) = passes.next() {
        let Some(&last) = rows.last() else { continue };
        let own_end = table.born[last].saturating_add(1);
        let next = passes.peek().and_then(|next| next.first());
        let next = next.map_or(own_end, |&next| table.born[next]);
        // Other work between two passes is not part of the block.
        let end = if pass_of(next) == pass_of(own_end) {
            next
        } else {
            own_end
        };
        let outlive = rows.iter().filter(|&&row| table.died[row] > end);
        let kept: Vec<usize> = outlive.copied().collect();
        let Some((_output, inner)) = kept.split_last() else {
            continue;
        };
        let again = inner
            .iter()
            .map(|&row| table.died[row])
            .min()
            .unwrap_or(NEVER);
        for &row in inner {
            curve.remove(table.bytes[row], end, again);
        }
    }
    let change = Change {
        kind: ChangeKind::Checkpoint,
        title: checkpoint_title(&block.label),
        because: format!(
            "each of {} blocks keeps {} instead of {}; in training the forward pass runs twice",
            block.count,
            Bytes(block.output_bytes),
            Bytes(block.bytes)
        ),
        curve,
    };
    change.if_any()
}

fn checkpoint_title(label: &str) -> String {
    let place = match label {
        "" => "the block that repeats".to_owned(),
        label => named(label),
    };
    format!("Checkpoint {place} (torch.utils.checkpoint)")
}

/// Halves memory that grows with the batch: inputs, activations, caches of keys and values, and temporaries of the
/// passes.
fn half_batch(device: Device<'_>, moments: [u32; 2]) -> Option<Change<'_>> {
    let table = &device.history.allocations;
    let mut curve = Curve::new(device.history, moments);
    let is_meanwhile = needs_of_passes(device);
    let of_weights = copies_of_weights(device);
    let mut has_cache = false;
    for (row, rule) in device.rule_of().iter().enumerate() {
        let grows = match rule.role() {
            _ if of_weights.contains(row) => false,
            Role::Activation | Role::Input | Role::KvCache => true,
            Role::Temporary => is_meanwhile(row),
            _ => false,
        };
        if grows {
            curve.remove(table.bytes[row] / 2, table.born[row], table.died[row]);
            has_cache |= rule.role() == Role::KvCache;
        }
    }
    let because = match has_cache {
        true => "inputs, activations and the cache of keys and values halve",
        false => "inputs and activations halve; accumulate gradients over twice as many steps",
    };
    let change = Change {
        kind: ChangeKind::HalfBatch,
        title: "Half the batch, or half the sequence".to_owned(),
        because: because.to_owned(),
        curve,
    };
    change.if_any()
}

/// Memory that a pass makes from the weights, which has the size of the weights and not of the batch: casts of
/// autocast, and parameters gathered from shards. By the operator if known; else by a size that no more allocations
/// have at the peak than there are parameters for it.
fn copies_of_weights(device: Device<'_>) -> BitSet {
    const COPIES: [&str; 5] = ["to", "_to_copy", "copy_", "all_gather", "_allgather_base_"];
    let (history, rules) = (device.history, device.rule_of());
    let bytes = &history.allocations.bytes;
    // The same size, half, and double: from float32 to bfloat16 and back.
    let mut of_size: HashMap<u64, u64, RandomState> = HashMap::default();
    for (_, &size) in rules
        .iter()
        .zip(bytes)
        .filter(|(rule, _)| rule.role() == Role::Parameter)
    {
        for size in [size, size / 2, size.saturating_mul(2)] {
            *of_size.entry(size).or_default() += 1;
        }
    }
    let is_of_pass = |row: usize| matches!(rules[row].role(), Role::Activation | Role::Temporary);
    let mut live: HashMap<u64, u64, RandomState> = HashMap::default();
    for id in live_at(history, history.peak_moment).filter(|id| is_of_pass(id.index())) {
        *live.entry(bytes[id.index()]).or_default() += 1;
    }
    let operators = device.operators();
    BitSet::from_fn(bytes.len(), |row| {
        let Some(&parameters) = of_size.get(&bytes[row]).filter(|_| is_of_pass(row)) else {
            return false;
        };
        match operators.label(device.operator_of()[row]).split(' ').next() {
            None | Some("") => live.get(&bytes[row]).is_none_or(|&live| live <= parameters),
            Some(operator) => COPIES.contains(&operator),
        }
    })
}

/// Whether a temporary grows with the batch: those of a forward pass, and of the loss after it, do. In a backward pass,
/// gradients of activations do, which have the sizes of activations; gradients of parameters do not.
fn needs_of_passes<'a>(device: Device<'a>) -> impl Fn(usize) -> bool + 'a {
    let table = &device.history.allocations;
    let sizes_of = |roles: &[Role]| -> HashSet<u64, RandomState> {
        let rules = device.rule_of().iter().zip(&table.bytes);
        let meant = rules.filter(|(rule, _)| roles.contains(&rule.role()));
        meant.map(|(_, &bytes)| bytes).collect()
    };
    let of_batch = sizes_of(&[Role::Activation]);
    let of_model = sizes_of(&[Role::Parameter, Role::Gradient]);
    let phases = device.phases();
    move |row| {
        let bytes = table.bytes[row];
        match phases.last_at(table.born[row]) {
            Some(Phase::Forward) => true,
            Some(Phase::Backward) => of_batch.contains(&bytes) && !of_model.contains(&bytes),
            _ => false,
        }
    }
}

/// Removes the temporaries of a multi-tensor step of the optimizer, whose stacks are `of_foreach`, except two tensors
/// of the largest size. The curve may already contain other changes.
fn no_foreach<'a>(
    device: Device<'a>,
    of_foreach: &BitSet,
    mut curve: Curve<'a>,
) -> Option<Change<'a>> {
    let table = &device.history.allocations;
    let stacks = device.stack_of();
    let temporaries = device.rule_of().iter().enumerate();
    let temporaries = temporaries.filter(|(_, rule)| rule.role() == Role::Temporary);
    let temporaries = temporaries.filter(|(row, _)| of_foreach.contains(stacks[*row].index()));
    let mut of_step: HashMap<usize, (u32, u32, u64), RandomState> = HashMap::default();
    for (row, _) in temporaries {
        let (born, died, bytes) = (table.born[row], table.died[row], table.bytes[row]);
        curve.remove(bytes, born, died);
        let step = device.phases().ended_before(born);
        let (from, to, largest) = of_step.entry(step).or_insert((born, died, 0));
        (*from, *to, *largest) = ((*from).min(born), (*to).max(died), (*largest).max(bytes));
    }
    for (from, to, largest) in of_step.into_values() {
        let both = i64::try_from(largest.saturating_mul(2)).unwrap_or(i64::MAX);
        curve.add(both, from, to);
    }
    let change = Change {
        kind: ChangeKind::NoForeach,
        title: "foreach=False for the optimizer".to_owned(),
        because: "its step then needs temporaries for one parameter at a time; it takes longer, and fused=True needs none".to_owned(),
        curve,
    };
    change.if_any()
}

/// The stacks of an optimizer that updates all parameters at once.
fn foreach_stacks(device: Device<'_>) -> BitSet {
    let snapshot = device.snapshot();
    let name = |row| {
        snapshot
            .strings
            .get(snapshot.frames.get(FrameId::from_index(row)).name)
    };
    let of_foreach = BitSet::from_fn(snapshot.frames.len(), |row| {
        name(row).starts_with("_multi_tensor_")
    });
    BitSet::from_fn(snapshot.stacks.len(), |row| {
        let mut frames = snapshot.stacks.frames(StackId::from_index(row));
        frames.any(|frame| of_foreach.contains(frame.index()))
    })
}

/// An allocation of a step that was replaced in the next: it outlives the birth of its successor, which the same stack
/// makes in the next step.
pub(super) struct Replaced {
    pub(super) before: usize,
    /// The row of its successor.
    pub(super) next: usize,
    pub(super) step_end: u32,
}

/// All allocations [`Replaced`] step by step, in order of the successors' births; empty without steps.
pub(super) fn replaced(device: Device<'_>) -> Vec<Replaced> {
    let steps = device.steps().map_or(&[][..], |steps| &steps.steps);
    let mut found = Vec::new();
    let table = &device.history.allocations;
    let stacks = device.stack_of();
    // The latest allocation of each stack, with its step.
    let mut latest: Vec<Option<(usize, usize)>> = vec![None; device.snapshot().stacks.len()];
    let mut step = 0;
    for row in (0..table.len()).filter(|&row| table.born[row] > 0 && stacks[row].has_frames()) {
        // Allocations are sorted by birth.
        while steps
            .get(step)
            .is_some_and(|step| step.moments.1 < table.born[row])
        {
            step += 1;
        }
        let Some((before, made)) = latest[stacks[row].index()].replace((row, step)) else {
            continue;
        };
        if made + 1 != step {
            continue;
        }
        let Some(step_end) = steps.get(made).map(|step| step.moments.1) else {
            continue;
        };
        let is_replaced = table.died[before] != NEVER && table.died[before] > table.born[row];
        if is_replaced && blocks::is_pass_made(device, before) {
            found.push(Replaced {
                before,
                next: row,
                step_end,
            });
        }
    }
    found
}

/// Frees allocations that the next step replaces at the end of their own step.
fn free_earlier(device: Device<'_>, moments: [u32; 2]) -> Option<Change<'_>> {
    let replaced = replaced(device);
    let mut curve = Curve::new(device.history, moments);
    let table = &device.history.allocations;
    let sites = device.site_of();
    for it in &replaced {
        curve.remove(table.bytes[it.before], it.step_end, table.died[it.before]);
    }
    let rows = replaced.iter().map(|it| it.before).rev();
    let largest = rows.max_by_key(|&row| table.bytes[row])?;
    let site = &device.call_sites().get(*sites.get(largest)?).label;
    let change = Change {
        kind: ChangeKind::FreeEarlier,
        title: format!(
            "Free what {} made at the end of each step (del)",
            named(site)
        ),
        because: "it lives until the next step has made its successor".to_owned(),
        curve,
    };
    change.if_any()
}

#[cfg(test)]
mod tests;
