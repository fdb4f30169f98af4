//! Applies the rules to all allocations of a device.

use std::collections::HashSet;

use super::copies::{OlderCopy, copies};
use super::gradients::Gradients;
use super::life::{Life, When};
use super::phases::{NEVER_PLACE, Phase, Phases, Place};
use super::recurring::Kept;
use super::role::Role;
use super::rules::{CUBLAS_WORKSPACE_BYTES, RuleId, program};
use super::signals::{Signals, StackSignals};
use crate::Snapshot;
use crate::analysis::memory::streams_and_pools::column;
use crate::analysis::time::history::{History, NEVER, StackSource};
use crate::ids::{AllocationId, StackId};
use crate::model::Context;

/// The evidence for roles, all from the same device of the same snapshot.
#[derive(Clone, Copy)]
pub struct RoleEvidence<'a> {
    /// The file.
    pub snapshot: &'a Snapshot,
    /// The device.
    pub history: &'a History,
    /// Its phases.
    pub phases: &'a Phases,
    /// What stacks reveal.
    pub signals: &'a StackSignals,
    /// Whether frees have stacks of their own, not those of the allocations.
    pub frees_tell: bool,
}

/// The rule for each allocation. Takes linear time in events and allocations, except for sorting allocations older than
/// the recording.
#[must_use]
pub fn infer(evidence: RoleEvidence<'_>) -> Vec<RuleId> {
    let lives = Lives::of(evidence);
    let mut decided = Decided::new();
    // If nothing uses a model, memory that stays need not be one.
    let mut uses_model = false;
    let rows = 0..evidence.history.allocations.len();
    let rules = rows.map(|row| {
        let life = lives.get(row);
        uses_model |= life.made.has(Signals::FORWARD) || life.born == When::In(Phase::Forward);
        decided.rule(life)
    });
    let mut rules: Vec<RuleId> = rules.collect();
    let undecided: Vec<usize> = (0..rules.len())
        .filter(|&row| rules[row].role() == Role::Unknown)
        .collect();
    let (copy_of, gradients) = evidence.older(&rules, &undecided, uses_model);
    let sizes = &evidence.history.allocations.bytes;
    for (row, copy) in undecided.into_iter().zip(copy_of) {
        let is_gradient_sized = gradients.counts.contains_key(&sizes[row]);
        rules[row] = decided.rule(Life {
            copy,
            is_gradient_sized,
            ..lives.get(row)
        });
    }
    if gradients.lie_in_buckets {
        for (row, rule) in rules.iter_mut().enumerate() {
            if evidence.made(row).has(Signals::BUCKET) {
                *rule = decided.rule(Life {
                    is_of_gradients: true,
                    ..lives.get(row)
                });
            }
        }
    }
    for row in evidence.casts(&rules) {
        rules[row] = decided.rule(Life {
            is_cast: true,
            ..lives.get(row)
        });
    }
    rules
}

/// A cache of rules for earlier lives, as most allocations live like others. A life has one slot; the last life in it
/// wins.
struct Decided(Vec<Option<(Life, RuleId)>>);

impl Decided {
    const PLACES: u32 = 256;

    fn new() -> Self {
        Self(vec![None; Self::PLACES as usize])
    }

    fn rule(&mut self, life: Life) -> RuleId {
        let place = &mut self.0[(life.mixed() % Self::PLACES) as usize];
        if let Some((_, rule)) = place.filter(|(known, _)| *known == life) {
            return rule;
        }
        let rule = RuleId::of(&life);
        *place = Some((life, rule));
        rule
    }
}

/// What is known about each allocation. Created on demand: it is large, and needed only for a short time.
struct Lives<'a> {
    evidence: RoleEvidence<'a>,
    /// The role of each allocation in the file.
    recorded: Vec<Option<Role>>,
    /// Whether the recording has a phase of each kind.
    program: [bool; 3],
    /// Sizes of allocations that are not freed at once; `None` if workspaces can be recognised otherwise.
    longer_sizes: Option<HashSet<u64>>,
    /// Sizes of gathered parameters that are sharded.
    gathered_sizes: HashSet<u64>,
    /// Memory that the forward passes of a program without a backward pass make for later ones.
    kept: Kept,
}

impl<'a> Lives<'a> {
    fn of(evidence: RoleEvidence<'a>) -> Self {
        let (snapshot, history) = (evidence.snapshot, evidence.history);
        let category =
            |context: &Context| Role::of_category(snapshot.strings.get(context.category?));
        let longer_sizes = || {
            let rows = 0..history.allocations.len();
            let longer = rows.filter(|&row| !evidence.is_instant(row));
            longer.map(|row| history.allocations.bytes[row]).collect()
        };
        let gathered = |row: &usize| evidence.made(*row).has(Signals::GATHER);
        let rows = 0..history.allocations.len();
        let gathered_sizes = if evidence.signals.show(Signals::GATHER) {
            let gathered = rows.filter(gathered);
            gathered.map(|row| history.allocations.bytes[row]).collect()
        } else {
            HashSet::new()
        };
        Self {
            evidence,
            kept: evidence.kept(),
            gathered_sizes,
            recorded: column(snapshot, history, category, |_| None),
            program: program(evidence.phases),
            longer_sizes: evidence.signals.hide_workspaces().then(longer_sizes),
        }
    }

    fn get(&self, row: usize) -> Life {
        let id = AllocationId::from_index(row);
        let life = self.evidence.life(id, self.recorded[row], self.program);
        let bytes = self.evidence.history.allocations.bytes[row];
        let is_rare = |sizes: &HashSet<u64>| !sizes.contains(&bytes);
        Life {
            is_gathered_sized: self.gathered_sizes.contains(&bytes),
            grows: self.kept.grows(self.evidence, row),
            is_replaced: self.kept.is_replaced(row),
            is_paired: self.kept.is_paired(bytes),
            is_scratch_sized: life.is_instant && self.longer_sizes.as_ref().is_some_and(is_rare),
            ..life
        }
    }
}

impl RoleEvidence<'_> {
    /// The moment at which the program freed an allocation; [`NEVER`] if it did not.
    pub(super) fn end_moment(&self, row: usize) -> u32 {
        let table = &self.history.allocations;
        table.free_requested[row].min(table.died[row])
    }

    /// Whether its free is the event after its birth.
    fn is_instant(&self, row: usize) -> bool {
        self.end_moment(row) == self.history.allocations.born[row] + 1
    }

    fn life(&self, id: AllocationId, recorded: Option<Role>, program: [bool; 3]) -> Life {
        let table = &self.history.allocations;
        let row = id.index();
        let end = self.end_moment(row);
        let (from, to) = (self.phases.place(table.born[row]), self.end(end));
        let passes = |phase| self.phases.count(phase, from, to);
        let most = u32::from(Life::MOST_PASSES);
        let when = |place: Place| self.phases.phase(place).map_or(When::Between, When::In);
        let mut made = self.made(row);
        // Operators do not name their caller, but the name of torch's range around them shows that an optimizer called
        // them.
        if self.signals.are_operators() && when(from) == When::In(Phase::Optimizer) {
            made = made.and(Signals::STEP);
        }
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
            is_instant: self.is_instant(row),
            is_in_last: self.phases.is_last(from),
            passes: Phase::ALL.map(|phase| passes(phase).min(most) as u8),
            is_workspace_sized: table.bytes[row] == CUBLAS_WORKSPACE_BYTES,
            is_gradient_sized: false,
            is_scratch_sized: false,
            is_gathered_sized: false,
            is_cast: false,
            grows: false,
            is_replaced: false,
            is_paired: false,
            is_of_gradients: false,
            copy: None,
            program,
        }
    }

    /// The gradients, and what sizes, compared with them, reveal about each undecided row.
    fn older(
        &self,
        rules: &[RuleId],
        undecided: &[usize],
        uses_model: bool,
    ) -> (Vec<Option<OlderCopy>>, Gradients) {
        let table = &self.history.allocations;
        let stays = |&&row: &&usize| table.born[row] == 0 && self.outlives_phases(row);
        let older = undecided.iter().filter(stays);
        let mut older: Vec<u32> = older.map(|&row| row as u32).collect();
        let mut gradients = self.gradients(rules, &older);
        // Memory freed at the end may as well be a batch or an output, unless it is as large as a gradient.
        older.retain(|&row| {
            let is_kept = self.end_moment(row as usize) == NEVER;
            is_kept || gradients.counts.contains_key(&table.bytes[row as usize])
        });
        let mut copy_of = vec![None; undecided.len()];
        // If nothing happens, parameters have stacks that show it, so memory without a stack is something else.
        let shows_models = self.phases.ranges.is_empty()
            && rules.iter().any(|rule| rule.role() == Role::Parameter);
        if (uses_model && !shows_models) || !gradients.counts.is_empty() {
            let found = copies(table, older, &gradients);
            gradients.lie_in_buckets &= found.leaves_no_room;
            for (row, copy) in found.copies {
                if let Ok(at) = undecided.binary_search(&(row as usize)) {
                    copy_of[at] = Some(copy);
                }
            }
        }
        (copy_of, gradients)
    }

    /// Whether it is live when the last phase ends, even if it is freed afterwards, as some programs do before they
    /// end.
    pub(super) fn outlives_phases(&self, row: usize) -> bool {
        let last = self.phases.ranges.last().map_or(NEVER, |range| range.to);
        self.end_moment(row) > last || self.end_moment(row) == NEVER
    }

    pub(super) fn stack(&self, row: usize) -> StackId {
        self.history
            .stack(self.snapshot, AllocationId::from_index(row))
            .0
    }

    /// What the stack that made it reveals.
    pub(super) fn made(&self, row: usize) -> Signals {
        let id = AllocationId::from_index(row);
        let (stack, source) = self.history.stack(self.snapshot, id);
        if source != StackSource::Free || !self.frees_tell {
            self.signals.get(stack)
        } else {
            Signals::NONE
        }
    }

    /// The place that contains a moment of death.
    pub(super) fn end(&self, end: u32) -> Place {
        if end == NEVER {
            NEVER_PLACE
        } else {
            self.phases.place(end)
        }
    }

    /// What the stack that freed it reveals.
    pub(super) fn freed(&self, id: AllocationId) -> Signals {
        if !self.frees_tell {
            return Signals::NONE;
        }
        let event = self.history.free_requested_event(id);
        let event = event.or_else(|| self.history.free_completed_event(id));
        let stack = event.and_then(|event| self.snapshot.events.stack.get(event.index()));
        stack.map_or(Signals::NONE, |&stack| self.signals.get(stack))
    }
}
