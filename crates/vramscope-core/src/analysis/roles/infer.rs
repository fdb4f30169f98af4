//! Applies the rules to all allocations of a device.

use std::collections::{HashMap, HashSet};

use super::copies::{Gradients, SizeCounts, copies};
use super::phases::{NEVER_PLACE, Phase, Phases, Place};
use super::role::Role;
use super::rules::{Life, RuleId, When, program};
use super::signals::{Signals, StackSignals};
use crate::Snapshot;
use crate::analysis::memory::streams_and_pools::column;
use crate::analysis::time::history::{History, NEVER, StackSource};
use crate::ids::AllocationId;
use crate::model::Context;

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
    let lives = Lives::of(evidence);
    // Unless something uses a model, what stays need not be one.
    let mut uses_model = false;
    let rows = 0..evidence.history.allocations.len();
    let rules = rows.map(|row| {
        let life = lives.get(row);
        uses_model |= life.made.has(Signals::FORWARD) || life.born == When::In(Phase::Forward);
        RuleId::of(&life)
    });
    let mut rules: Vec<RuleId> = rules.collect();
    let gradients = evidence.gradients(&rules);
    let table = &evidence.history.allocations;
    let undecided: Vec<usize> = (0..rules.len())
        .filter(|&row| rules[row].role() == Role::Unknown)
        .collect();
    let mut copy_of = vec![None; undecided.len()];
    // If nothing happens, the stacks of parameters show that memory without one is something else.
    let shows_models = evidence.phases.ranges.is_empty()
        && rules.iter().any(|rule| rule.role() == Role::Parameter);
    if (uses_model && !shows_models) || !gradients.counts.is_empty() {
        let stays = |&&row: &&usize| table.born[row] == 0 && evidence.end_moment(row) == NEVER;
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
        let is_gradient_sized = gradients.counts.contains_key(&table.bytes[row]);
        rules[row] = RuleId::of(&Life {
            copy,
            is_gradient_sized,
            ..lives.get(row)
        });
    }
    rules
}

/// What is known of each allocation, made when asked for: it is large, and needed for a moment.
struct Lives<'a> {
    evidence: RoleEvidence<'a>,
    /// The role that the file records for each.
    recorded: Vec<Option<Role>>,
    /// Whether the recording has a phase of each kind.
    program: [bool; 3],
    /// The sizes of what is not freed at once; `None` where workspaces are seen otherwise.
    longer_sizes: Option<HashSet<u64>>,
    /// The sizes of what is gathered of sharded parameters.
    gathered_sizes: HashSet<u64>,
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
            gathered_sizes,
            recorded: column(snapshot, history, category, |_| None),
            program: program(evidence.phases),
            longer_sizes: evidence.signals.hide_workspaces().then(longer_sizes),
        }
    }

    fn get(&self, row: usize) -> Life {
        let id = AllocationId::from_index(row);
        let life = self.evidence.life(id, self.recorded[row], self.program);
        let is_rare = |sizes: &HashSet<u64>| !sizes.contains(&life.bytes);
        Life {
            is_gathered_sized: self.gathered_sizes.contains(&life.bytes),
            is_scratch_sized: life.is_instant && self.longer_sizes.as_ref().is_some_and(is_rare),
            ..life
        }
    }
}

/// The first of some ascending moments at which most of the lives, as (born, died), are live; `None` of none.
fn most_live(moments: &[u32], lives: impl Iterator<Item = (u32, u32)>) -> Option<u32> {
    let mut changes = vec![0_i64; moments.len() + 1];
    for (born, died) in lives {
        changes[moments.partition_point(|&moment| moment < born)] += 1;
        changes[moments.partition_point(|&moment| moment < died)] -= 1;
    }
    let mut live = 0;
    let sums = changes.iter().map(|change| {
        live += change;
        live
    });
    let counted = moments.iter().zip(sums);
    let most = counted.max_by_key(|&(&moment, live)| (live, std::cmp::Reverse(moment)));
    most.map(|(&moment, _)| moment)
}

impl RoleEvidence<'_> {
    /// When the program gave an allocation back, as a moment; [`NEVER`] if it did not.
    fn end_moment(&self, row: usize) -> u32 {
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
        let passes = Phase::ALL.map(|phase| self.phases.count(phase, from, to));
        let when = |place: Place| self.phases.phase(place).map_or(When::Between, When::In);
        Life {
            recorded,
            made: self.made(row),
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
            passes,
            bytes: table.bytes[row],
            is_gradient_sized: false,
            is_scratch_sized: false,
            is_gathered_sized: false,
            is_sharded: self.signals.show(Signals::GATHER),
            copy: None,
            program,
        }
    }

    /// What the code that made it tells.
    fn made(&self, row: usize) -> Signals {
        let id = AllocationId::from_index(row);
        let (stack, source) = self.history.stack(self.snapshot, id);
        if source != StackSource::Free || !self.frees_tell {
            self.signals.get(stack)
        } else {
            Signals::NONE
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

    /// What there is of gradients: those that a backward pass leaves, or those that hooks drop within it, or else what it
    /// adds to older ones.
    fn gradients(&self, rules: &[RuleId]) -> Gradients {
        let own = (0..rules.len()).filter(|&row| rules[row].role() == Role::Gradient);
        let gradients = Gradients {
            counts: self.gradient_counts(own.collect()),
            are_older: false,
            have_ranks: self.signals.show(Signals::RANKS),
            have_moments: self.signals.show(Signals::ADAM),
            are_sharded: self.signals.show(Signals::GATHER),
        };
        // What hooks free or add before it is sharded has no size of the shards.
        if gradients.are_sharded {
            return gradients;
        }
        let [dropped, added] = self.unseen_gradients(rules);
        let sum = |counts: &SizeCounts| {
            let bytes = counts
                .iter()
                .map(|(&bytes, &count)| u128::from(bytes) * u128::from(count));
            bytes.sum::<u128>()
        };
        if !gradients.have_ranks && sum(&dropped) > sum(&gradients.counts) {
            Gradients {
                counts: dropped,
                ..gradients
            }
        } else if gradients.counts.is_empty() {
            Gradients {
                are_older: !added.is_empty(),
                counts: added,
                ..gradients
            }
        } else {
            gradients
        }
    }

    /// How many gradients of each size hooks drop within a backward pass, and how many are added to others: of all steps
    /// the most. Where stacks do not show autograd, the latter may be anything that it frees, and the former is not known.
    fn unseen_gradients(&self, rules: &[RuleId]) -> [SizeCounts; 2] {
        let table = &self.history.allocations;
        let is_autograd =
            |code: Signals| !code.has(Signals::PYTHON) || code.has(Signals::STARTS_BACKWARD);
        let mut of_step: [HashMap<(u32, u64), u32>; 2] = Default::default();
        for (row, rule) in rules.iter().enumerate() {
            let is_temporary = rule.role() == Role::Temporary;
            let place = self.phases.place(table.born[row]);
            if !(is_temporary || rule.role() == Role::Gradient)
                || self.phases.phase(place) != Some(Phase::Backward)
                || self.phases.is_last(place)
            {
                continue;
            }
            let freed = self.freed(AllocationId::from_index(row));
            let by_autograd = is_autograd(freed);
            let is_shown = if self.signals.is_python_only() {
                by_autograd && is_autograd(self.made(row))
            } else {
                freed.has(Signals::ACCUMULATE)
            };
            if is_shown && (is_temporary || !by_autograd) {
                let step = self.phases.count(Phase::Forward, 0, place);
                let counts = &mut of_step[usize::from(by_autograd)];
                *counts.entry((step, table.bytes[row])).or_default() += 1;
            }
        }
        of_step.map(|of_step| {
            let mut counts = SizeCounts::new();
            for ((_, bytes), count) in of_step {
                let most = counts.entry(bytes).or_default();
                *most = count.max(*most);
            }
            counts
        })
    }

    /// How many of some gradients have each size: of those that are live when a backward pass ends, the one with the most.
    /// A pass in which the recording ends does not count, because some are missing. Without any other, those that are older
    /// than the recording.
    fn gradient_counts(&self, rows: Vec<usize>) -> SizeCounts {
        let table = &self.history.allocations;
        let passes = self.phases.ranges.iter();
        let passes = passes.filter(|range| range.phase == Phase::Backward);
        let ends: Vec<u32> = passes.map(|range| range.to).collect();
        let is_whole = |end: &&u32| **end < self.history.event_count;
        let whole: Vec<u32> = ends.iter().filter(is_whole).copied().collect();
        let lives = rows.iter().map(|&row| (table.born[row], table.died[row]));
        let at = match most_live(&whole, lives) {
            Some(at) => at,
            None if ends.is_empty() => 0,
            None => return SizeCounts::new(),
        };
        let mut counts = SizeCounts::new();
        for row in rows {
            if self.history.is_live(AllocationId::from_index(row), at) {
                *counts.entry(table.bytes[row]).or_default() += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_with_most_is_the_first_of_equals() {
        let lives = [(1, 9), (3, 6), (4, 5), (8, NEVER)];
        assert_eq!(most_live(&[2, 4, 5, 8], lives.into_iter()), Some(4));
        assert_eq!(most_live(&[5, 8], lives.into_iter()), Some(5));
        assert_eq!(most_live(&[], lives.into_iter()), None);
    }
}
