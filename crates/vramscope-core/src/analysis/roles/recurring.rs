//! Evidence from many allocations together: casts of parameters, and growing caches.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::infer::RoleEvidence;
use super::phases::Phase;
use super::role::Role;
use super::rules::{RuleId, program};
use super::signals::Signals;
use crate::analysis::time::history::NEVER;
use crate::bitset::BitSet;
use crate::ids::StackId;

/// Weights of norms, and biases, are rarely larger.
const LARGEST_VECTOR_BYTES: u64 = 64 << 10;

impl RoleEvidence<'_> {
    /// Parameters that autocast may have converted: made by autocast or a layer in the forward pass, and half as large
    /// as a parameter. Python-only stacks do not show autocast; then chance must be excluded: at least two sizes of
    /// parameters, and at least half of all, have such halves, and the layers also make outputs of other sizes.
    pub(super) fn casts(&self, rules: &[RuleId]) -> Vec<usize> {
        let table = &self.history.allocations;
        let is_shown = !self.signals.is_python_only();
        let maker = if is_shown {
            Signals::AUTOCAST
        } else {
            Signals::WEIGHTED
        };
        if !self.signals.show(maker) {
            return Vec::new();
        }
        // Memory that is older than the recording and stays may be a parameter, whatever else it may be.
        let may_be_older = |row: usize| table.born[row] == 0 && self.outlives_phases(row);
        let is_own = |row: &usize| match rules[*row].role() {
            Role::Parameter => {
                let copies = Signals::GATHER.and(Signals::COPY);
                !self.made(*row).has(copies)
            }
            role => role == Role::Unknown && may_be_older(*row),
        };
        let own = (0..rules.len()).filter(is_own);
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        for row in own {
            *sizes.entry(table.bytes[row]).or_default() += 1;
        }
        let is_made = |row: &usize| {
            matches!(rules[*row].role(), Role::Activation | Role::Temporary)
                && self.phases.at(table.born[*row]) == Some(Phase::Forward)
                && self.made(*row).has(maker)
        };
        let is_half = |row: &usize| {
            let double = table.bytes[*row].checked_mul(2);
            double.is_some_and(|double| sizes.contains_key(&double))
        };
        let made = (0..rules.len()).filter(is_made);
        let (halves, others): (Vec<usize>, Vec<usize>) = made.partition(is_half);
        let mut casts = if is_shown {
            halves
        } else {
            self.casts_by_size(halves, others.len(), &sizes)
        };
        // A cast that does not live until a backward pass is as temporary as other intermediate results.
        casts.retain(|&row| rules[row].role() == Role::Activation);
        casts
    }

    /// The allocations half as large as parameters for which chance is excluded. `sizes` is the number of parameters by
    /// size, `others` the number of other allocations by layers.
    fn casts_by_size(
        &self,
        halves: Vec<usize>,
        others: usize,
        sizes: &HashMap<u64, usize>,
    ) -> Vec<usize> {
        let bytes = |row: &usize| self.history.allocations.bytes[*row];
        let mut made: HashMap<u64, usize> = HashMap::new();
        for row in &halves {
            *made.entry(bytes(row)).or_default() += 1;
        }
        // Norms and biases are not always converted.
        let matrices = sizes
            .keys()
            .filter(|&&size| size > LARGEST_VECTOR_BYTES)
            .count();
        let converted = made
            .keys()
            .filter(|&&half| half * 2 > LARGEST_VECTOR_BYTES)
            .count();
        // Each pass converts a parameter once. A size with more allocations per pass than most sizes is also a size of
        // outputs.
        let mut ratios: Vec<usize> = made
            .iter()
            .map(|(&half, count)| count.div_ceil(sizes[&(half * 2)]))
            .collect();
        ratios.sort_unstable();
        let usual = ratios
            .get(ratios.len().saturating_sub(1) / 2)
            .copied()
            .unwrap_or(0);
        made.retain(|half, count| *count <= sizes[&(*half * 2)] * usual);
        let (casts, outputs): (Vec<usize>, Vec<usize>) = halves
            .into_iter()
            .partition(|row| made.contains_key(&bytes(row)));
        let others = others + outputs.len();
        if converted > 1 && converted * 2 >= matrices && others * 2 >= casts.len() {
            casts
        } else {
            Vec::new()
        }
    }

    /// Memory that forward passes make and that outlives them, in a program without a backward pass; else nothing.
    pub(super) fn kept(self) -> Kept {
        let table = &self.history.allocations;
        let mut kept = Kept::default();
        if program(self.phases)[Phase::Backward as usize] {
            return kept;
        }
        let mut built: HashMap<(u64, StackId), u32> = HashMap::new();
        let mut outliving = BitSet::new(table.len());
        for row in 0..table.len() {
            let from = self.phases.place(table.born[row]);
            if table.born[row] > 0
                && self.phases.phase(from).is_none()
                && self.made(row).has(Signals::SETUP)
            {
                *built
                    .entry((table.bytes[row], self.stack(row)))
                    .or_default() += 1;
            }
            let outlives = self.end(self.end_moment(row)) != from;
            if table.born[row] == 0 || !outlives || self.phases.phase(from) != Some(Phase::Forward)
            {
                continue;
            }
            let (stack, bytes) = (self.stack(row), table.bytes[row]);
            kept.growth.entry(stack).or_default().add(bytes);
            outliving.insert(row);
        }
        kept.growth.retain(|_, growth| growth.is_steady());
        kept.pairs = pairs(built);
        kept.replaced = self.replaced(&outliving);
        kept
    }

    /// The allocations for which the same code made exactly one more of their size before they were freed. `outliving` are
    /// those that count as one more.
    fn replaced(&self, outliving: &BitSet) -> BitSet {
        let table = &self.history.allocations;
        let mut replaced = BitSet::new(table.len());
        // When the next two of the same stack and size are made.
        let mut next: HashMap<(StackId, u64), [u32; 2], RandomState> = HashMap::default();
        for row in (0..table.len()).rev() {
            let key = (self.stack(row), table.bytes[row]);
            let end = self.end_moment(row);
            if end != NEVER
                && next
                    .get(&key)
                    .is_some_and(|two| two[0] <= end && end < two[1])
            {
                replaced.insert(row);
            }
            if outliving.contains(row) {
                let two = next.entry(key).or_insert([NEVER; 2]);
                *two = [table.born[row], two[0]];
            }
        }
        replaced
    }
}

/// Memory that forward passes make and that outlives them.
#[derive(Default)]
pub(super) struct Kept {
    /// The stacks that make ever larger allocations.
    growth: HashMap<StackId, Growth, RandomState>,
    /// Sizes that constructors made equally often in two places, and several times in each.
    pairs: HashSet<u64>,
    /// The allocations for which the same code made exactly one more of their size before they were freed.
    replaced: BitSet,
}

/// Sizes that two stacks made equally often, and more than once.
fn pairs(built: HashMap<(u64, StackId), u32>) -> HashSet<u64> {
    let mut counts: Vec<(u64, u32)> = built
        .into_iter()
        .map(|((bytes, _), count)| (bytes, count))
        .collect();
    counts.sort_unstable();
    let pairs = counts
        .windows(2)
        .filter(|pair| pair[0] == pair[1] && pair[0].1 > 1);
    pairs.map(|pair| pair[0].0).collect()
}

impl Kept {
    /// Whether constructors made equally many allocations of a size in two places, and several in each.
    pub(super) fn is_paired(&self, bytes: u64) -> bool {
        self.pairs.contains(&bytes)
    }

    /// Whether an allocation is one of ever larger ones by the same code, or is freed after a larger one was made.
    pub(super) fn grows(&self, evidence: RoleEvidence<'_>, row: usize) -> bool {
        if self.growth.is_empty() {
            return false;
        }
        let table = &evidence.history.allocations;
        let end = evidence.end_moment(row);
        let before = table.born.partition_point(|&born| born < end);
        let is_replaced = end != NEVER && before > row + 1;
        self.growth.contains_key(&evidence.stack(row))
            || is_replaced && self.growth.contains_key(&evidence.stack(before - 1))
    }

    /// Whether the same code made exactly one more allocation of its size before an allocation was freed.
    pub(super) fn is_replaced(&self, row: usize) -> bool {
        self.replaced.contains(row)
    }
}

/// Number of times that the allocations of a stack became larger, and smaller.
#[derive(Default)]
struct Growth {
    last: u64,
    more: u32,
    less: u32,
}

impl Growth {
    fn add(&mut self, bytes: u64) {
        self.more += u32::from(self.last != 0 && bytes > self.last);
        self.less += u32::from(bytes < self.last);
        self.last = bytes;
    }

    /// Whether they became larger several times, and smaller only when something new began.
    fn is_steady(&self) -> bool {
        self.more >= 3 && self.more >= 4 * self.less
    }
}
