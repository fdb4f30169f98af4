//! What a recording shows of the gradients of parameters: those that a backward pass leaves, those that hooks drop within
//! it, and what is added to older ones.

use std::collections::{HashMap, HashSet};

use super::infer::RoleEvidence;
use super::phases::Phase;
use super::role::Role;
use super::rules::RuleId;
use super::signals::Signals;
use crate::analysis::time::history::NEVER;
use crate::ids::AllocationId;

/// How many allocations have each size.
pub(super) type SizeCounts = HashMap<u64, u32>;

/// What the recording shows of gradients, and of who else has some.
#[derive(Debug, Default)]
pub(super) struct Gradients {
    /// How many there are. If they are older, how many tensors are added to some, and perhaps a few others.
    pub counts: SizeCounts,
    /// Whether they are older than the recording and never freed, so that only what is added to them is seen.
    pub are_older: bool,
    /// Whether several ranks train together, so that gradients may lie in buckets.
    pub have_ranks: bool,
    /// Whether the optimizer keeps two moments of each parameter, as Adam does.
    pub have_moments: bool,
    /// Whether an optimizer is seen that keeps at most one.
    pub have_momentum: bool,
    /// Whether the optimizer makes its state in the recording, so that none is older.
    pub state_is_made: bool,
    /// Whether each rank has a shard of each parameter, so that what it keeps may have any size.
    pub are_sharded: bool,
}

impl RoleEvidence<'_> {
    /// What there is of gradients: those that a backward pass leaves, or those that hooks drop within it, or else what it
    /// adds to older ones. Only sizes of `older` rows, which are never freed, can be of the latter.
    pub(super) fn gradients(&self, rules: &[RuleId], older: &[u32]) -> Gradients {
        let table = &self.history.allocations;
        // A buffer that holds all of them has the size of none.
        let is_own = |row: &usize| {
            rules[*row].role() == Role::Gradient && !self.made(*row).has(Signals::FLAT_GRADIENTS)
        };
        let own = (0..rules.len()).filter(is_own);
        let gradients = Gradients {
            counts: self.gradient_counts(own.collect()),
            are_older: false,
            have_ranks: self.signals.show(Signals::RANKS),
            have_moments: self.signals.show(Signals::ADAM),
            have_momentum: self.signals.show(Signals::MOMENTUM),
            state_is_made: false,
            are_sharded: self.signals.show(Signals::GATHER),
        };
        let is_state = |&row: &usize| {
            let is_new = table.born[row] > 0 && table.died[row] == NEVER;
            is_new
                && rules[row].role() == Role::OptimizerState
                && gradients.counts.contains_key(&table.bytes[row])
        };
        let gradients = Gradients {
            state_is_made: (0..rules.len()).any(|row| is_state(&row)),
            ..gradients
        };
        // What hooks free or add before it is sharded has no size of the shards.
        if gradients.are_sharded {
            return gradients;
        }
        let [dropped, added] = self.unseen_gradients(rules, older);
        let [seen, unseen, others] = [&gradients.counts, &dropped, &added].map(sum_bytes);
        if seen == 0 && others > unseen {
            Gradients {
                are_older: true,
                counts: added,
                ..gradients
            }
        } else if unseen > seen && !gradients.have_ranks {
            Gradients {
                counts: dropped,
                ..gradients
            }
        } else {
            gradients
        }
    }

    /// How many gradients of each size hooks drop within a backward pass, and how many are added to others: of all steps
    /// the most. Where stacks do not show autograd, either may be anything else that it makes.
    fn unseen_gradients(&self, rules: &[RuleId], older: &[u32]) -> [SizeCounts; 2] {
        let table = &self.history.allocations;
        let older_sizes = older.iter().map(|&row| table.bytes[row as usize]);
        let older_sizes: HashSet<u64> = older_sizes.collect();
        let is_autograd =
            |code: Signals| !code.has(Signals::PYTHON) || code.has(Signals::STARTS_BACKWARD);
        let mut of_step: [HashMap<(u32, u64), u32>; 2] = Default::default();
        for (row, rule) in rules.iter().enumerate() {
            let bytes = table.bytes[row];
            let is_temporary = rule.role() == Role::Temporary;
            if !(is_temporary || rule.role() == Role::Gradient) || !older_sizes.contains(&bytes) {
                continue;
            }
            let place = self.phases.place(table.born[row]);
            if self.phases.phase(place) != Some(Phase::Backward) || self.phases.is_last(place) {
                continue;
            }
            let freed = self.freed(AllocationId::from_index(row));
            let is_shown = if self.signals.is_python_only() {
                is_autograd(self.made(row))
            } else {
                freed.has(Signals::ACCUMULATE)
            };
            let by_autograd = is_autograd(freed);
            if is_shown && (is_temporary || !by_autograd) {
                let step = self.phases.count(Phase::Forward, 0, place);
                let counts = &mut of_step[usize::from(by_autograd)];
                *counts.entry((step, bytes)).or_default() += 1;
            }
        }
        of_step.map(|of_step| {
            let mut counts = SizeCounts::new();
            #[expect(clippy::iter_over_hash_type, reason = "the most has no order")]
            for ((_, bytes), count) in of_step {
                let most = counts.entry(bytes).or_default();
                *most = count.max(*most);
            }
            counts
        })
    }

    /// How many of some gradients have each size: of those that are live when a backward pass ends, the one with the most.
    /// A pass in which the recording ends does not count, because some are missing. Where there is no pass at all, those
    /// that are older than the recording.
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

fn sum_bytes(counts: &SizeCounts) -> u128 {
    let bytes = counts.iter();
    bytes
        .map(|(&bytes, &count)| u128::from(bytes) * u128::from(count))
        .sum()
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
