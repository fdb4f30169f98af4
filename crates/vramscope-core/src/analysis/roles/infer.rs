//! Applies the rules to all allocations of a device.

use std::collections::HashSet;

use super::copies::{SizeCounts, copies};
use super::phases::{NEVER_PLACE, Phase, Phases, Place};
use super::role::Role;
use super::rules::{Life, RuleId, When, program};
use super::signals::{Signals, StackSignals};
use crate::Snapshot;
use crate::analysis::memory::streams_and_pools::column;
use crate::analysis::time::history::{History, NEVER, StackSource};
use crate::ids::AllocationId;

/// What roles are inferred from. All belong to the same device of the same snapshot.
#[derive(Clone, Copy)]
pub struct RoleEvidence<'a> {
    /// The file.
    pub snapshot: &'a Snapshot,
    /// The device.
    pub history: &'a History,
    /// Its phases.
    pub phases: &'a Phases,
    /// What stacks tell.
    pub signals: &'a StackSignals,
    /// Whether frees have stacks of their own, not those of the allocations.
    pub frees_tell: bool,
}

/// The rule for each allocation. Linear in events and allocations, but for the allocations older than the recording,
/// which are sorted.
#[must_use]
pub fn infer(evidence: RoleEvidence<'_>) -> Vec<RuleId> {
    let mut lives = evidence.lives();
    if evidence.signals.hide_workspaces() {
        mark_scratch(&mut lives);
    }
    let mut rules: Vec<RuleId> = lives.iter().map(RuleId::of).collect();
    let gradients = evidence.gradients(&rules);
    let table = &evidence.history.allocations;
    let undecided: Vec<usize> = (0..rules.len())
        .filter(|&row| rules[row].role() == Role::Unknown)
        .collect();
    let mut copy_of = vec![None; undecided.len()];
    // Unless something uses a model, what stays need not be one.
    let uses_model =
        |life: &Life| life.made.has(Signals::FORWARD) || life.born == When::In(Phase::Forward);
    if lives.iter().any(uses_model) || !gradients.is_empty() {
        let stays = |&&row: &&usize| table.born[row] == 0 && table.died[row] == NEVER;
        let old = undecided
            .iter()
            .filter(stays)
            .map(|&row| row as u32)
            .collect();
        for (row, role) in copies(table, old, &gradients) {
            if let Ok(at) = undecided.binary_search(&(row as usize)) {
                copy_of[at] = Some(role);
            }
        }
    }
    for (row, copy) in undecided.into_iter().zip(copy_of) {
        let is_gradient_sized = gradients.contains_key(&table.bytes[row]);
        rules[row] = RuleId::of(&Life {
            copy,
            is_gradient_sized,
            ..lives[row]
        });
    }
    rules
}

/// Marks what is freed at once and has a size that nothing else has that lives longer.
fn mark_scratch(lives: &mut [Life]) {
    let longer = lives.iter().filter(|life| !life.is_instant);
    let sizes: HashSet<u64> = longer.map(|life| life.bytes).collect();
    for life in lives {
        life.is_scratch_sized = life.is_instant && !sizes.contains(&life.bytes);
    }
}

impl RoleEvidence<'_> {
    fn lives(&self) -> Vec<Life> {
        let strings = &self.snapshot.strings;
        let recorded = column(
            self.snapshot,
            self.history,
            |context| Role::of_category(strings.get(context.category?)),
            |_| None,
        );
        let program = program(self.phases);
        let rows = recorded.into_iter().enumerate();
        rows.map(|(row, recorded)| self.life(AllocationId::from_index(row), recorded, program))
            .collect()
    }

    fn life(&self, id: AllocationId, recorded: Option<Role>, program: [bool; 3]) -> Life {
        let table = &self.history.allocations;
        let row = id.index();
        let (stack, source) = self.history.stack(self.snapshot, id);
        let is_alloc = source != StackSource::Free || !self.frees_tell;
        let made = if is_alloc {
            self.signals.get(stack)
        } else {
            Signals::NONE
        };
        let end = table.free_requested[row].min(table.died[row]);
        let (from, to) = (self.phases.place(table.born[row]), self.end(end));
        let passes = Phase::ALL.map(|phase| self.phases.count(phase, from, to));
        let when = |place: Place| self.phases.phase(place).map_or(When::Between, When::In);
        Life {
            recorded,
            made,
            freed: self.freed(id),
            born: if table.born[row] == 0 {
                When::Before
            } else {
                when(from)
            },
            died: if end == NEVER { When::Never } else { when(to) },
            is_short: from == to && end != NEVER,
            is_instant: end == table.born[row] + 1,
            is_in_last: self.phases.is_last(from),
            passes,
            bytes: table.bytes[row],
            is_gradient_sized: false,
            is_scratch_sized: false,
            copy: None,
            program,
        }
    }

    fn end(&self, end: u32) -> Place {
        if end == NEVER {
            NEVER_PLACE
        } else {
            self.phases.place(end)
        }
    }

    fn freed(&self, id: AllocationId) -> Signals {
        if !self.frees_tell {
            return Signals::NONE;
        }
        let event = self.history.free_requested_event(id);
        let event = event.or_else(|| self.history.free_completed_event(id));
        let stack = event.and_then(|event| self.snapshot.events.stack.get(event.index()));
        stack.map_or(Signals::NONE, |&stack| self.signals.get(stack))
    }

    /// How many gradients have each size: of those that are live when the first backward pass ends that makes any.
    /// Nothing if the recording ends in it, because then some are missing.
    fn gradients(&self, rules: &[RuleId]) -> SizeCounts {
        let table = &self.history.allocations;
        let rows: Vec<usize> = (0..rules.len())
            .filter(|&row| rules[row].role() == Role::Gradient)
            .collect();
        let first = rows.iter().map(|&row| table.born[row]).min().unwrap_or(0);
        let mut passes = self.phases.ranges.iter();
        let pass = passes.find(|range| range.phase == Phase::Backward && range.to >= first);
        let at = pass.map_or(first, |range| range.to);
        if pass.is_some() && at == self.history.event_count {
            return SizeCounts::new();
        }
        let mut counts = SizeCounts::new();
        for row in rows {
            if self.history.is_live(AllocationId::from_index(row), at) {
                *counts.entry(table.bytes[row]).or_default() += 1;
            }
        }
        counts
    }
}
