//! Allocations summed by distinct stack.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::Sums;
use super::places::Places;
use crate::Snapshot;
use crate::analysis::code::call_sites::CallSites;
use crate::analysis::time::history::{History, StackSource};
use crate::analysis::time::selection::{Selection, Weight};
use crate::bitset::BitSet;
use crate::ids::{AllocationId, StackId};
use crate::sorting::SortFew;

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

/// The path in which an allocation is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PathKey {
    /// By the stack that allocated it.
    Allocated(StackId),
    /// By the stack that freed it, as the allocation is older than the recording.
    Freed(StackId),
    /// Without a stack.
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
    /// Sum of the above.
    pub total: Sums,
}

/// Calls `take` with each selected allocation and its sums.
fn each(history: &History, options: &TreeOptions<'_>, mut take: impl FnMut(AllocationId, Sums)) {
    let is_in = |set: Option<&BitSet>, row| set.is_none_or(|set| set.contains(row));
    for id in options.selection.allocations(history) {
        let row = id.index();
        if !is_in(options.only, row) {
            continue;
        }
        let weight = options.weight.of(history, id);
        let is_matched = is_in(options.matches, row);
        let sums = Sums {
            weight,
            bytes: history.allocations.bytes[row],
            count: 1,
            matched: if is_matched { weight } else { 0 },
        };
        take(id, sums);
    }
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
        each(history, options, |id, of_one| {
            sums.total.add(of_one);
            match PathKey::of(snapshot, history, sites, id) {
                PathKey::NoStack => sums.no_stack.add(of_one),
                PathKey::Allocated(stack) => allocated[stack.index()].add(of_one),
                PathKey::Freed(stack) => {
                    freed.resize(stacks, Sums::default());
                    freed[stack.index()].add(of_one);
                }
            }
        });
        sums.allocated = of_column(&allocated);
        sums.freed = of_column(&freed);
        sums
    }

    /// The same for each place, by place number.
    #[must_use]
    pub fn by_place(
        snapshot: &Snapshot,
        history: &History,
        sites: &CallSites,
        options: &TreeOptions<'_>,
        places: &Places,
    ) -> Vec<(u32, Self)> {
        let mut known: HashMap<(u32, PathKey), Sums, RandomState> = HashMap::default();
        each(history, options, |id, of_one| {
            let key = (places.of(id), PathKey::of(snapshot, history, sites, id));
            known.entry(key).or_default().add(of_one);
        });
        let mut by_place: BTreeMap<u32, Self> = BTreeMap::new();
        #[expect(
            clippy::iter_over_hash_type,
            reason = "sums have no order, and stacks are sorted below"
        )]
        for ((place, key), of_key) in known {
            let sums = by_place.entry(place).or_default();
            sums.total.add(of_key);
            match key {
                PathKey::NoStack => sums.no_stack = of_key,
                PathKey::Allocated(stack) => sums.allocated.push((stack, of_key)),
                PathKey::Freed(stack) => sums.freed.push((stack, of_key)),
            }
        }
        for sums in by_place.values_mut() {
            heaviest_first(&mut sums.allocated);
            heaviest_first(&mut sums.freed);
        }
        by_place.into_iter().collect()
    }
}

fn of_column(column: &[Sums]) -> Vec<(StackId, Sums)> {
    let rows = column.iter().enumerate();
    let mut rows: Vec<(StackId, Sums)> = rows
        .filter(|(_, sums)| sums.count > 0)
        .map(|(row, &sums)| (StackId::from_index(row), sums))
        .collect();
    heaviest_first(&mut rows);
    rows
}

fn heaviest_first(rows: &mut [(StackId, Sums)]) {
    rows.sort_few_by_key(|&(stack, sums)| (std::cmp::Reverse(sums.weight), stack));
}
