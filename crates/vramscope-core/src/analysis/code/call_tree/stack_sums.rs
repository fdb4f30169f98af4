//! Allocations summed by distinct stack.

use super::Sums;
use crate::Snapshot;
use crate::analysis::code::call_sites::CallSites;
use crate::analysis::time::history::{History, StackSource};
use crate::analysis::time::selection::{Selection, Weight};
use crate::bitset::BitSet;
use crate::ids::{AllocationId, StackId};

/// The allocations to sum, and their weight.
#[derive(Clone, Copy, Debug)]
pub struct TreeOptions<'a> {
    /// The selection.
    pub selection: Selection,
    /// The weight of each allocation.
    pub weight: Weight,
    /// If given, only these allocations.
    pub only: Option<&'a BitSet>,
    /// The allocations that match the search, counted in [`Sums::matched`].
    pub matches: Option<&'a BitSet>,
}

/// The path that an allocation counts in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathKey {
    /// That of the stack that allocated it.
    Allocated(StackId),
    /// It is older than the recording: that of the stack that freed it.
    Freed(StackId),
    /// That of all allocations without a stack.
    NoStack,
}

impl PathKey {
    /// The path of an allocation.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History, sites: &CallSites, id: AllocationId) -> Self {
        let (stack, source) = history.stack(snapshot, id);
        if !stack.has_frames() || stack.index() >= snapshot.stacks.len() {
            Self::NoStack
        } else if source == StackSource::Free && !sites.frees_carry_alloc_stacks() {
            Self::Freed(stack)
        } else {
            Self::Allocated(stack)
        }
    }
}

/// Sums of a device's allocations by stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackSums {
    /// Stacks of allocations, heaviest first, and equal ones by number.
    pub allocated: Vec<(StackId, Sums)>,
    /// Stacks of frees of memory older than the recording, in the same order.
    pub freed: Vec<(StackId, Sums)>,
    /// Allocations without a stack.
    pub no_stack: Sums,
    /// The sum of all.
    pub total: Sums,
}

impl StackSums {
    /// Sums the selected allocations, in one pass.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        history: &History,
        sites: &CallSites,
        options: &TreeOptions<'_>,
    ) -> Self {
        let stacks = snapshot.stacks.len();
        let mut allocated = vec![Sums::default(); stacks];
        let mut freed: Vec<Sums> = Vec::new();
        let mut sums = Self::default();
        let is_in = |set: Option<&BitSet>, row| set.is_none_or(|set| set.contains(row));
        for id in options.selection.allocations(history) {
            let row = id.index();
            if !is_in(options.only, row) {
                continue;
            }
            let weight = options.weight.of(history, id);
            let of_one = Sums {
                weight,
                bytes: history.allocations.bytes[row],
                count: 1,
                matched: if is_in(options.matches, row) {
                    weight
                } else {
                    0
                },
            };
            sums.total.add(of_one);
            match PathKey::of(snapshot, history, sites, id) {
                PathKey::NoStack => sums.no_stack.add(of_one),
                PathKey::Allocated(stack) => allocated[stack.index()].add(of_one),
                PathKey::Freed(stack) => {
                    freed.resize(stacks, Sums::default());
                    freed[stack.index()].add(of_one);
                }
            }
        }
        sums.allocated = heaviest_first(&allocated);
        sums.freed = heaviest_first(&freed);
        sums
    }
}

fn heaviest_first(column: &[Sums]) -> Vec<(StackId, Sums)> {
    let rows = column.iter().enumerate();
    let mut rows: Vec<(StackId, Sums)> = rows
        .filter(|(_, sums)| sums.count > 0)
        .map(|(row, &sums)| (StackId::from_index(row), sums))
        .collect();
    rows.sort_unstable_by_key(|&(stack, sums)| (std::cmp::Reverse(sums.weight), stack));
    rows
}
