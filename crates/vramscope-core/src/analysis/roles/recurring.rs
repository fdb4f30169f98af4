//! What many allocations tell together: casts of parameters, and caches that grow.

use std::collections::{HashMap, HashSet};

use super::infer::RoleEvidence;
use super::phases::Phase;
use super::role::Role;
use super::rules::{RuleId, program};
use super::signals::Signals;
use crate::analysis::time::history::NEVER;
use crate::ids::StackId;

impl RoleEvidence<'_> {
    /// What autocast may have converted parameters to: what it or a layer makes in the forward pass, half as large as a
    /// parameter. Where stacks of Python alone show nothing of autocast, chance must not explain it: several sizes of
    /// parameters have such halves, at least every second one, and the layers make outputs of other sizes, too.
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
        let is_own = |row: &usize| {
            let code = self.made(*row);
            rules[*row].role() == Role::Parameter && !code.has(Signals::GATHER.and(Signals::COPY))
        };
        let own = (0..rules.len()).filter(is_own);
        let sizes: HashSet<u64> = own.map(|row| table.bytes[row]).collect();
        let is_made = |row: &usize| {
            matches!(rules[*row].role(), Role::Activation | Role::Temporary)
                && self.phases.at(table.born[*row]) == Some(Phase::Forward)
                && self.made(*row).has(maker)
        };
        let is_half = |row: &usize| {
            let double = table.bytes[*row].checked_mul(2);
            double.is_some_and(|double| sizes.contains(&double))
        };
        let made = (0..rules.len()).filter(is_made);
        let (casts, others): (Vec<usize>, Vec<usize>) = made.partition(is_half);
        let halves: HashSet<u64> = casts.iter().map(|&row| table.bytes[row]).collect();
        let is_no_chance =
            halves.len() > 1 && halves.len() * 2 >= sizes.len() && others.len() * 2 >= casts.len();
        if is_shown || is_no_chance {
            casts
        } else {
            Vec::new()
        }
    }

    /// In a program without a backward pass: the stacks that make larger and larger allocations, which outlive the forward
    /// pass.
    pub(super) fn growing(&self) -> HashSet<StackId> {
        let table = &self.history.allocations;
        if program(self.phases)[Phase::Backward as usize] {
            return HashSet::new();
        }
        let mut seen: HashMap<StackId, Growth> = HashMap::new();
        for row in 0..table.len() {
            let from = self.phases.place(table.born[row]);
            let is_kept = self.end(self.end_moment(row)) != from;
            if table.born[row] == 0 || !is_kept || self.phases.phase(from) != Some(Phase::Forward) {
                continue;
            }
            let bytes = table.bytes[row];
            let growth = seen.entry(self.stack(row)).or_default();
            growth.more += u32::from(growth.last != 0 && bytes > growth.last);
            growth.less += u32::from(bytes < growth.last);
            growth.last = bytes;
        }
        let grown = seen.into_iter().filter(|(_, growth)| growth.is_steady());
        grown.map(|(stack, _)| stack).collect()
    }

    /// The stack of the last allocation before the program gave one back: what replaces it, if anything does.
    pub(super) fn replaced_by(&self, row: usize) -> Option<StackId> {
        let table = &self.history.allocations;
        let end = self.end_moment(row);
        let before = table.born.partition_point(|&born| born < end);
        (end != NEVER && before > row + 1).then(|| self.stack(before - 1))
    }
}

/// How often the allocations of a stack became larger, and smaller.
#[derive(Default)]
struct Growth {
    last: u64,
    more: u32,
    less: u32,
}

impl Growth {
    /// Whether they became larger several times, and smaller at most when something new began.
    fn is_steady(&self) -> bool {
        self.more >= 3 && self.more >= 4 * self.less
    }
}
