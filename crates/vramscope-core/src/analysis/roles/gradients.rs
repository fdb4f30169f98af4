//! The gradients of parameters that a recording shows: those that a backward pass leaves, those that hooks drop within
//! it, and tensors that are added to older gradients.

use std::collections::{HashMap, HashSet};

use super::infer::RoleEvidence;
use super::phases::Phase;
use super::role::Role;
use super::rules::RuleId;
use super::signals::Signals;
use crate::analysis::time::history::NEVER;
use crate::ids::AllocationId;

/// Largest size of scalars. Losses and counters are this small, so it identifies no gradient.
const SCALAR_BYTES: u64 = 8;

/// The size of a step counter on the device, a scalar in full precision.
const COUNTER_BYTES: u64 = 4;

/// Number of allocations by size.
pub(super) type SizeCounts = HashMap<u64, u32>;

/// Gradients in the recording, and the circumstances.
#[derive(Debug, Default)]
pub(super) struct Gradients {
    /// Number by size. If gradients are older, the number of tensors that are added to them, and perhaps a few others.
    pub counts: SizeCounts,
    /// Whether gradients are older than the recording and never freed, so that only additions to them are seen.
    pub are_older: bool,
    /// Whether several ranks train together, so that gradients may lie in buckets.
    pub have_ranks: bool,
    /// Whether the optimizer keeps two moments of each parameter, as Adam does.
    pub have_moments: bool,
    /// Whether an optimizer was seen that keeps at most one moment.
    pub have_momentum: bool,
    /// Whether the optimizer makes its state in the recording, so that no state is older.
    pub state_is_made: bool,
    /// Whether no backward pass leaves gradients, so that they are in buckets unless older memory has room for them.
    pub lie_in_buckets: bool,
    /// Whether each rank has a shard of each parameter, so that optimizer state may have any size.
    pub are_sharded: bool,
}

impl RoleEvidence<'_> {
    /// The gradients that a backward pass leaves, or those that hooks drop within it, or else those that are older and
    /// added to. The latter can only have sizes of `older` rows, which are never freed.
    pub(super) fn gradients(&self, rules: &[RuleId], older: &[u32]) -> Gradients {
        let table = &self.history.allocations;
        let gradients = self.gradients_seen(rules, older);
        // Adam's fused form allocates nothing, so no stack may show it, but it counts the steps of each parameter on
        // the device.
        let sizes = older.iter().map(|&row| table.bytes[row as usize]);
        let counters = sizes.filter(|&bytes| bytes == COUNTER_BYTES).count();
        let number: u32 = gradients.counts.values().sum();
        Gradients {
            have_moments: gradients.have_moments || number > 1 && counters >= number as usize,
            ..gradients
        }
    }

    fn gradients_seen(&self, rules: &[RuleId], older: &[u32]) -> Gradients {
        let table = &self.history.allocations;
        // A buffer for all gradients does not have the size of any single one.
        let is_own = |row: &usize| {
            let flat = Signals::FLAT_GRADIENTS.and(Signals::COALESCED);
            let is_scalar = table.bytes[*row] <= SCALAR_BYTES;
            rules[*row].role() == Role::Gradient && !is_scalar && !self.made(*row).has(flat)
        };
        let own = (0..rules.len()).filter(is_own);
        let gradients = Gradients {
            counts: self.gradient_counts(own.collect()),
            are_older: false,
            have_ranks: self.signals.show(Signals::RANKS),
            have_moments: self.signals.show(Signals::ADAM),
            have_momentum: self.signals.show(Signals::MOMENTUM),
            state_is_made: false,
            lie_in_buckets: false,
            are_sharded: self.signals.show(Signals::GATHER),
        };
        let is_state = |row: &usize| {
            let is_new = table.born[*row] > 0 && table.died[*row] == NEVER;
            is_new
                && rules[*row].role() == Role::OptimizerState
                && gradients.counts.contains_key(&table.bytes[*row])
                && !self.phases.is_last(self.phases.place(table.born[*row]))
        };
        let state = (0..rules.len()).filter(is_state);
        let state_bytes: u128 = state.map(|row| u128::from(table.bytes[row])).sum();
        let seen = sum_bytes(&gradients.counts);
        let gradients = Gradients {
            state_is_made: seen > 0 && state_bytes >= seen,
            ..gradients
        };
        // A tensor that hooks free or add before it is sharded does not have the size of a shard.
        if gradients.are_sharded {
            return gradients;
        }
        let gradients = Gradients {
            lie_in_buckets: seen == 0 && self.signals.show(Signals::BUCKET),
            ..gradients
        };
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

    /// The number of gradients by size that hooks drop within a backward pass, and that are added to others; the
    /// maximum over all steps. If stacks do not show autograd, either may be anything else that autograd makes.
    fn unseen_gradients(&self, rules: &[RuleId], older: &[u32]) -> [SizeCounts; 2] {
        let table = &self.history.allocations;
        let older_sizes = older.iter().map(|&row| table.bytes[row as usize]);
        let older_sizes = older_sizes.filter(|&bytes| bytes > SCALAR_BYTES);
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

    /// The number of given gradients by size that are live at the end of the backward pass with the most gradients. A
    /// pass in which the recording ends does not count, because some are missing. Without any pass, counts those that
    /// are older than the recording.
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

/// The first moment with the most live of these lives, given as (born, died); `None` without moments.
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
