//! Which group of allocations has most of each box, so that boxes have the colours of other views: those of roles,
//! streams or sizes.

use std::collections::HashMap;

use vramscope_core::analysis::code::call_tree::{CallTree, Chains, PathKey, Paths, TreeOptions};
use vramscope_core::analysis::recording::Device;

use crate::colour::Rgb;
use crate::groups::Groups;

type Weights = HashMap<u32, u64>;

/// The groups of the allocations of a call tree.
#[derive(Clone, Debug, Default)]
pub struct Mixes {
    /// Node that counts them as its own, group, and weight; sorted by node and group.
    of_leaves: Vec<(u32, u32, u64)>,
    labels: Vec<String>,
    rgb: Vec<Rgb>,
}

/// The group that has most of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Largest {
    pub(super) group: u32,
    /// Its weight.
    pub(super) weight: u64,
}

impl Mixes {
    /// Those of a tree of `paths`, which are those of the allocations selected by `options`.
    #[must_use]
    pub fn of(
        (tree, paths): (&CallTree, &Paths),
        device: Device<'_>,
        options: &TreeOptions<'_>,
        groups: &Groups,
    ) -> Self {
        let (snapshot, history, sites) = (device.snapshot(), device.history, device.call_sites());
        let mut weights: HashMap<(u32, u32), u64> = HashMap::new();
        for id in options.selection.allocations(history) {
            if options.only.is_some_and(|only| !only.contains(id.index())) {
                continue;
            }
            let key = PathKey::of(snapshot, history, sites, id);
            let group = groups.group_of.get(id.index());
            let path = paths.number(id, key);
            let leaf = path.and_then(|path| tree.leaf(path));
            if let Some((leaf, &group)) = leaf.zip(group) {
                let sum = weights.entry((leaf, group)).or_default();
                *sum = sum.saturating_add(options.weight.of(history, id));
            }
        }
        Self::new(
            weights
                .into_iter()
                .map(|((leaf, group), sum)| (leaf, group, sum)),
            groups.labels.clone(),
            groups.rgb.clone(),
        )
    }

    fn new(
        of_leaves: impl Iterator<Item = (u32, u32, u64)>,
        labels: Vec<String>,
        rgb: Vec<Rgb>,
    ) -> Self {
        let mut of_leaves: Vec<_> = of_leaves.collect();
        of_leaves.sort_unstable();
        Self {
            of_leaves,
            labels,
            rgb,
        }
    }

    /// The group's label and colour.
    pub(super) fn group(&self, group: u32) -> Option<(&str, Rgb)> {
        let at = group as usize;
        Some((self.labels.get(at)?, *self.rgb.get(at)?))
    }

    /// By chain, the group with most of its total; of equal ones the first. `None` where nothing weighs anything.
    ///
    /// From the leaves up, each node's weights are added to the largest of its children's. So each entry moves at
    /// most as often as the number of entries can be halved.
    pub(super) fn largest(&self, chains: &Chains) -> Vec<Option<Largest>> {
        let tree = &chains.tree;
        let mut weights = vec![Weights::default(); tree.len()];
        let mut largest = vec![None; tree.len()];
        for &(leaf, group, weight) in &self.of_leaves {
            if let Some(&chain) = chains.of_node.get(leaf as usize) {
                let chain = chain as usize;
                add(&mut weights[chain], &mut largest[chain], (group, weight));
            }
        }
        for node in (1..tree.len()).rev() {
            let parent = tree.parent[node] as usize;
            let mut small = std::mem::take(&mut weights[node]);
            if small.len() > weights[parent].len() {
                std::mem::swap(&mut small, &mut weights[parent]);
                largest[parent] = largest[node];
            }
            for of in small {
                add(&mut weights[parent], &mut largest[parent], of);
            }
        }
        largest
    }
}

/// Adds to the weight of a group, and keeps the largest.
fn add(weights: &mut Weights, largest: &mut Option<Largest>, (group, weight): (u32, u64)) {
    let sum = weights.entry(group).or_default();
    *sum = sum.saturating_add(weight);
    let now = Largest {
        group,
        weight: *sum,
    };
    let is_larger = |before: &Largest| {
        (now.weight, before.group) > (before.weight, now.group) || before.group == now.group
    };
    if now.weight > 0 && largest.as_ref().is_none_or(is_larger) {
        *largest = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::tests::trees;
    use proptest::prelude::*;

    proptest! {
        /// Against sums over all leaves below each chain.
        #[test]
        fn the_largest_group_of_each_box(
            tree in trees(),
            apart in prop::collection::vec(0..60_u32, 0..3),
            entries in prop::collection::vec((0..60_u32, 0..5_u32, 0..9_u64), 0..40),
        ) {
            let mut weights = std::collections::BTreeMap::<(u32, u32), u64>::new();
            for (leaf, group, weight) in entries {
                if (leaf as usize) < tree.len() {
                    *weights.entry((leaf, group)).or_default() += weight;
                }
            }
            let of_leaves = weights.iter().map(|(&(leaf, group), &weight)| (leaf, group, weight));
            let mixes = Mixes::new(of_leaves, Vec::new(), Vec::new());
            let chains = Chains::of(&tree, false, &apart);
            let found = mixes.largest(&chains);
            for chain in 0..chains.tree.len() as u32 {
                let below = chain..chains.tree.end[chain as usize];
                let mut sums = [0_u64; 5];
                for (&(leaf, group), weight) in &weights {
                    if below.contains(&chains.of_node[leaf as usize]) {
                        sums[group as usize] += weight;
                    }
                }
                let largest = (0..5_u32).rev().max_by_key(|&group| sums[group as usize]).unwrap();
                let weight = sums[largest as usize];
                let expected = (weight > 0).then_some(Largest { group: largest, weight });
                prop_assert_eq!(found[chain as usize], expected);
            }
        }
    }
}
