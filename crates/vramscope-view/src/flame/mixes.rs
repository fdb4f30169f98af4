//! The groups of allocations in each box, for boxes coloured like other views: by role, stream or size.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use vramscope_core::analysis::code::call_tree::{CallTree, Chains, PathKey, Paths, TreeOptions};
use vramscope_core::analysis::recording::Device;

use crate::colour::Rgb;
use crate::groups::Groups;

type Weights = BTreeMap<u32, u64>;

/// The groups of the allocations of a call tree.
#[derive(Clone, Debug, Default)]
pub struct Mixes {
    /// The node that counts the allocations as its own, the group, and the weight; sorted by node and group.
    of_leaves: Vec<(u32, u32, u64)>,
    labels: Vec<String>,
    rgb: Vec<Rgb>,
}

/// Most groups listed for a box.
const MOST_PARTS: usize = 4;
/// With more groups, only the largest is determined, because ranking the others takes time in proportion to all of them.
const MOST_SORTED: usize = 32;

/// A group, and its weight in a node.
pub(super) type Part = (u32, u64);

impl Mixes {
    /// The mixes of a tree. `paths` are those of the tree and of the allocations selected by `options`.
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

    pub(super) fn group(&self, group: u32) -> Option<(&str, Rgb)> {
        let at = group as usize;
        Some((self.labels.get(at)?, *self.rgb.get(at)?))
    }

    /// By chain, the groups with the most of its total, largest first, ties in order of the groups; at most [`MOST_PARTS`].
    /// Empty for a chain without weight.
    ///
    /// From the leaves up, the weights of each node are merged into those of its largest child. So an entry moves at most as
    /// often as the number of entries can be halved.
    pub(super) fn parts(&self, chains: &Chains) -> Vec<Vec<Part>> {
        let tree = &chains.tree;
        let mut mixed = vec![Mixed::default(); tree.len()];
        for &(leaf, group, weight) in &self.of_leaves {
            if let Some(&chain) = chains.of_node.get(leaf as usize) {
                mixed[chain as usize].add((group, weight));
            }
        }
        let mut parts = vec![Vec::new(); tree.len()];
        for node in (0..tree.len()).rev() {
            parts[node] = mixed[node].parts();
            if node == 0 {
                break;
            }
            let parent = tree.parent[node] as usize;
            let mut smaller = std::mem::take(&mut mixed[node]);
            if smaller.weights.len() > mixed[parent].weights.len() {
                std::mem::swap(&mut smaller, &mut mixed[parent]);
            }
            for part in smaller.weights {
                mixed[parent].add(part);
            }
        }
        parts
    }
}

#[derive(Clone, Debug, Default)]
struct Mixed {
    weights: Weights,
    largest: Option<Part>,
}

impl Mixed {
    fn add(&mut self, (group, weight): Part) {
        let sum = self.weights.entry(group).or_default();
        *sum = sum.saturating_add(weight);
        let now = (group, *sum);
        let is_larger = |before: Part| before.0 == group || (now.1, before.0) > (before.1, now.0);
        if now.1 > 0 && self.largest.is_none_or(is_larger) {
            self.largest = Some(now);
        }
    }

    fn parts(&self) -> Vec<Part> {
        if self.weights.len() > MOST_SORTED {
            return self.largest.into_iter().collect();
        }
        let parts = self.weights.iter().map(|(&group, &weight)| (group, weight));
        let mut parts: Vec<Part> = parts.filter(|&(_, weight)| weight > 0).collect();
        parts.sort_unstable_by_key(|&(group, weight)| (Reverse(weight), group));
        parts.truncate(MOST_PARTS);
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::tests::trees;
    use proptest::prelude::*;

    proptest! {
        /// Compared with sums over all leaves below each chain.
        #[test]
        fn the_groups_of_each_box(
            tree in trees(),
            apart in prop::collection::vec(0..60_u32, 0..3),
            (groups, entries) in (1..60_u32).prop_flat_map(|groups| {
                (Just(groups), prop::collection::vec((0..60_u32, 0..groups, 0..9_u64), 0..90))
            }),
        ) {
            let mut weights = BTreeMap::<(u32, u32), u64>::new();
            for (leaf, group, weight) in entries {
                if (leaf as usize) < tree.len() {
                    *weights.entry((leaf, group)).or_default() += weight;
                }
            }
            let of_leaves = weights.iter().map(|(&(leaf, group), &weight)| (leaf, group, weight));
            let mixes = Mixes::new(of_leaves, Vec::new(), Vec::new());
            let chains = Chains::of(&tree, false, &apart);
            let found = mixes.parts(&chains);
            for chain in 0..chains.tree.len() as u32 {
                let below = chain..chains.tree.end[chain as usize];
                let mut sums = BTreeMap::<u32, u64>::new();
                for (&(leaf, group), weight) in &weights {
                    if below.contains(&chains.of_node[leaf as usize]) {
                        *sums.entry(group).or_default() += weight;
                    }
                }
                let most = if sums.len() > MOST_SORTED { 1 } else { MOST_PARTS };
                let mut parts: Vec<Part> = sums.into_iter().filter(|of| of.1 > 0).collect();
                parts.sort_by_key(|&(_, weight)| Reverse(weight));
                parts.truncate(most);
                prop_assert_eq!(&found[chain as usize], &parts);
            }
            prop_assert!(groups > 0);
        }
    }
}
