//! Chains: runs of call tree nodes that say the same, shown as one node.
//!
//! Real programs have dozens of callers with a single callee before the first call that matters. A node that has all of
//! its parent's memory joins its parent. In a tree from the outside in, the callers common to nearly all memory, the
//! trunk, are joined too, although a little memory branches off between them; those branches then hang from the chain.
//! Places of memory are not joined.

use super::{Builder, CallTree, Sums};

/// A call tree with each chain as one node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chains {
    /// The tree of the chains. A chain has the sums of its nodes, and the group of the node that it is named after: for
    /// callers the innermost, nearest to the allocation.
    pub tree: CallTree,
    /// By chain, the node of the whole tree that gives its name.
    pub named: Vec<u32>,
    /// By chain, its number of nodes, at least 1.
    pub lengths: Vec<u32>,
    /// By node of the whole tree, its chain.
    pub of_node: Vec<u32>,
}

/// The share of all memory that every node of the trunk has at least, in percent.
const TRUNK_PERCENT: u128 = 90;

impl Chains {
    /// Joins the nodes of a tree. Chains that contain a node of `apart` are not joined, and the root is in no chain.
    /// `callers_below`: whether a node's children are its callers.
    #[must_use]
    pub fn of(tree: &CallTree, callers_below: bool, apart: &[u32]) -> Self {
        if tree.group.is_empty() {
            return Self::default();
        }
        // The first node of each node's chain.
        let mut head: Vec<u32> = (0..tree.len() as u32).collect();
        for node in 2..tree.len() {
            if joins(tree, &head, node, callers_below) {
                head[node] = head[tree.parent[node] as usize];
            }
        }
        let mut is_apart = vec![false; tree.len()];
        for head in apart.iter().filter_map(|&node| head.get(node as usize)) {
            is_apart[*head as usize] = true;
        }
        for (node, head) in (0..).zip(&mut head) {
            if is_apart[*head as usize] {
                *head = node;
            }
        }
        Self::joined(tree, &head, callers_below)
    }

    fn joined(tree: &CallTree, head: &[u32], callers_below: bool) -> Self {
        let mut builder = Builder::new(tree.group[0]);
        let (mut made, mut named, mut lengths) = (vec![0_u32; tree.len()], vec![0], vec![1]);
        builder.own[0] = tree.own[0];
        builder.cut_paths = tree.cut_paths;
        for node in 1..tree.len() {
            let first = head[node] as usize;
            if first == node {
                made[node] = builder.group.len() as u32;
                builder.group.push(tree.group[node]);
                builder.parent.push(made[tree.parent[node] as usize]);
                builder.own.push(tree.own[node]);
                named.push(node as u32);
                lengths.push(1);
                continue;
            }
            let chain = made[first] as usize;
            made[node] = chain as u32;
            builder.own[chain].add(tree.own[node]);
            lengths[chain] += 1;
            if !callers_below {
                builder.group[chain] = tree.group[node];
                named[chain] = node as u32;
            }
        }
        let (joined, order) = builder.finish_in_order();
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let sorted = |column: &[u32]| order.iter().map(|&old| column[old as usize]).collect();
        Self {
            named: sorted(&named),
            lengths: sorted(&lengths),
            of_node: made.iter().map(|&chain| place[chain as usize]).collect(),
            tree: joined,
        }
    }

    /// Whether a chain is the trunk, the callers of nearly all memory.
    #[must_use]
    pub fn is_trunk(&self, chain: u32) -> bool {
        let at = chain as usize;
        let is_below_root = chain != 0 && self.tree.parent.get(at) == Some(&0);
        is_below_root && self.lengths[at] > 1 && holds_most(self.tree.total[at], self.tree.total[0])
    }
}

/// Whether a node joins its parent's chain.
fn joins(tree: &CallTree, head: &[u32], node: usize, callers_below: bool) -> bool {
    let parent = tree.parent[node] as usize;
    if tree.is_place(parent) || tree.is_place(node) {
        return false;
    }
    let is_first = node == parent + 1;
    // Allocating code has a row of its own: the children of the root or, from the outside in, the leaves.
    let is_kept = if callers_below {
        tree.parent[parent] == 0
    } else {
        tree.end[node] as usize == node + 1
    };
    if parent == 0 || !is_first || is_kept {
        return false;
    }
    let is_in_trunk = !callers_below
        && tree.parent[head[parent] as usize] == 0
        && holds_most(tree.total[node], tree.total[0]);
    if is_in_trunk {
        // The trunk is shown without names, so it ends above the line that allocates.
        let child = node + 1;
        return tree.end[child] as usize != child + 1;
    }
    tree.end[node] == tree.end[parent] && tree.own[parent] == Sums::default()
}

fn holds_most(part: Sums, whole: Sums) -> bool {
    whole.weight > 0 && u128::from(part.weight) * 100 >= u128::from(whole.weight) * TRUNK_PERCENT
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::GroupId;
    use super::*;

    /// A tree of paths given as groups with a weight each.
    fn tree(paths: &[(&[u32], u64)]) -> CallTree {
        let mut builder = Builder::new(GroupId::ALL);
        for &(path, weight) in paths {
            let sums = Sums {
                weight,
                bytes: weight,
                count: 1,
                matched: 0,
            };
            builder.add(path.iter().map(|&group| GroupId(group + 5)), sums);
        }
        builder.finish()
    }

    /// Group (less 5), depth, number of nodes and weight of every chain but the root.
    fn rows(chains: &Chains) -> Vec<(u32, u32, u32, u64)> {
        let tree = &chains.tree;
        let row = |at: usize| {
            let group = tree.group[at].0 - 5;
            (
                group,
                tree.depth[at],
                chains.lengths[at],
                tree.total[at].weight,
            )
        };
        (1..tree.len()).map(row).collect()
    }

    #[test]
    fn the_trunk_is_one_row_and_what_branches_off_hangs_from_it() {
        let tree = tree(&[
            (&[1, 2, 3, 4, 7], 60),
            (&[1, 2, 3, 5, 6, 8], 35),
            (&[1, 2, 9], 4),
            (&[0], 1),
        ]);
        let chains = Chains::of(&tree, false, &[]);
        assert_eq!(
            rows(&chains),
            [
                (3, 1, 3, 99),
                (4, 2, 1, 60),
                (7, 3, 1, 60),
                (6, 2, 2, 35),
                (8, 3, 1, 35),
                (9, 2, 1, 4),
                (0, 1, 1, 1)
            ]
        );
        assert!(chains.is_trunk(1) && !chains.is_trunk(4));
        // With a node of the trunk open, its rows are back.
        let opened = Chains::of(&tree, false, &chains.named[1..2]);
        assert_eq!(
            rows(&opened)[..3],
            [(1, 1, 1, 99), (2, 2, 1, 99), (3, 3, 1, 95)]
        );
    }

    #[test]
    fn towards_the_callers_a_chain_is_named_by_the_nearest() {
        // 7 allocates; 3 calls it, and has the callers 2 and 1.
        let tree = tree(&[(&[7, 3, 2, 1], 10), (&[8, 1], 5)]);
        assert_eq!(
            rows(&Chains::of(&tree, true, &[])),
            [(7, 1, 1, 10), (3, 2, 3, 10), (8, 1, 1, 5), (1, 2, 1, 5)]
        );
    }

    proptest! {
        /// Compares with the unfolded tree: nothing is lost, and each node is where its chain is.
        #[test]
        fn sums_stay_what_they_are(paths in vec((vec(0..4_u32, 1..9), 0..50_u64), 0..24), callers_below: bool, apart in vec(0..40_u32, 0..3)) {
            let paths: Vec<(&[u32], u64)> = paths.iter().map(|(path, weight)| (&path[..], *weight)).collect();
            let whole = tree(&paths);
            let chains = Chains::of(&whole, callers_below, &apart);
            let merged = &chains.tree;
            prop_assert_eq!(merged.total[0], whole.total[0]);
            let members: u32 = chains.lengths.iter().sum();
            prop_assert_eq!(members as usize, whole.len());
            for chain in 0..merged.len() as u32 {
                let of_chain = |&node: &usize| chains.of_node[node] == chain;
                let nodes: Vec<usize> = (0..whole.len()).filter(of_chain).collect();
                let mut own = Sums::default();
                nodes.iter().for_each(|&node| own.add(whole.own[node]));
                prop_assert_eq!(merged.own[chain as usize], own);
                // The outermost node of a chain has all memory of the chain.
                prop_assert_eq!(merged.total[chain as usize], whole.total[nodes[0]]);
                prop_assert_eq!(nodes.len() as u32, chains.lengths[chain as usize]);
                let named = chains.named[chain as usize] as usize;
                prop_assert!(nodes.contains(&named) && whole.group[named] == merged.group[chain as usize]);
                prop_assert!(nodes.len() == 1 || !apart.iter().any(|&node| nodes.contains(&(node as usize))));
                let parent = chains.of_node[whole.parent[nodes[0]] as usize];
                prop_assert_eq!(merged.parent[chain as usize], parent);
            }
        }
    }
}
