//! Call trees of allocations: the tree of a flame graph or call tree, and the two trees of a sandwich view.
//!
//! There are three steps. Allocations are summed by distinct stack ([`StackSums`]; a million allocations have some
//! hundred stacks). Stacks become paths of [groups](super::frame_groups) ([`Paths`]). Paths become a tree
//! ([`CallTree`]), stored as columns in depth-first order. Nothing recurses. Limits protect against hostile stacks, and
//! paths that are cut are counted ([`CallTree::cut_paths`]).

mod chains;
mod folded;
mod functions;
mod paths;
mod places;
mod stack_sums;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::frame_groups::GroupId;
pub use chains::Chains;
pub use folded::folded;
pub use functions::{FunctionTotal, functions};
pub use paths::Paths;
pub use places::Places;
pub use stack_sums::{PathKey, StackSums, TreeOptions};

/// Greatest depth; genuine stacks have at most a few hundred frames.
const MAX_DEPTH: usize = 1024;
/// No node, in [`CallTree::leaf_of`].
const NO_NODE: u32 = u32::MAX;
/// Most nodes of a tree; genuine files make some ten thousand.
const MAX_NODES: usize = 1 << 20;

/// Sums over allocations, saturating.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// By the chosen weight.
    pub weight: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Number of allocations.
    pub count: u64,
    /// The weight of the allocations that match the search.
    pub matched: u64,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.weight = self.weight.saturating_add(other.weight);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.count = self.count.saturating_add(other.count);
        self.matched = self.matched.saturating_add(other.matched);
    }
}

/// A tree as columns. Node 0 is the root. Every node is followed by its subtree, children heaviest first (equal weights
/// by group).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallTree {
    /// The group.
    pub group: Vec<GroupId>,
    /// The parent node. The root is its own parent.
    pub parent: Vec<u32>,
    /// Steps from the root.
    pub depth: Vec<u32>,
    /// The first node after the subtree.
    pub end: Vec<u32>,
    /// Sums of the node and everything below it.
    pub total: Vec<Sums>,
    /// Sums of the paths that end at the node.
    pub own: Vec<Sums>,
    /// By path, the node that counts the path as its own; [`NO_NODE`] for paths that the tree leaves out. Empty for a
    /// tree of [`Chains`].
    leaf_of: Vec<u32>,
    /// Number of paths that were cut because the tree was full. The last node left counts them in `own`.
    pub cut_paths: u64,
    /// The first group that is a place of memory (see [`Places`]) and not code; `None` if no group is.
    pub first_place: Option<GroupId>,
}

impl CallTree {
    /// The tree with callers on top: the children of a function are its callees.
    #[must_use]
    pub fn top_down(paths: &Paths) -> Self {
        let mut builder = Builder::new(GroupId::ALL);
        for (path, sums) in paths.iter() {
            builder.add(path.iter().copied(), sums);
        }
        Self {
            first_place: paths.first_place(),
            ..builder.finish()
        }
    }

    /// Whether a node is a place of memory.
    fn is_place(&self, node: usize) -> bool {
        self.first_place
            .is_some_and(|first| self.group[node] >= first)
    }

    /// The tree with the allocating functions on top: children are the callers.
    #[must_use]
    pub fn bottom_up(paths: &Paths) -> Self {
        let mut builder = Builder::new(GroupId::ALL);
        for (path, sums) in paths.iter() {
            // The kind of a path stays above its frames.
            let about = path
                .iter()
                .take_while(|&&group| group == GroupId::FREED_AT)
                .count();
            let frames = path[about..].iter().rev();
            builder.add(path[..about].iter().chain(frames).copied(), sums);
        }
        builder.finish()
    }

    /// The callers of `group`, as a tree with `group` as its root. In a recursion the outermost call counts.
    #[must_use]
    pub fn callers(paths: &Paths, group: GroupId) -> Self {
        let mut builder = Builder::new(group);
        for through in paths.through(group) {
            match through {
                Some((path, place, sums)) => {
                    builder.add(path[..place].iter().rev().copied(), sums);
                }
                None => builder.leave_out(),
            }
        }
        builder.finish()
    }

    /// The callees of `group`, as a tree with `group` as its root. In a recursion the outermost call counts.
    #[must_use]
    pub fn callees(paths: &Paths, group: GroupId) -> Self {
        let mut builder = Builder::new(group);
        for through in paths.through(group) {
            match through {
                Some((path, place, sums)) => builder.add(path[place + 1..].iter().copied(), sums),
                None => builder.leave_out(),
            }
        }
        builder.finish()
    }

    /// Number of nodes, the root included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Whether the tree has only its root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// The children of a node, heaviest first; empty for a node of another tree.
    pub fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.end.get(node as usize).copied().unwrap_or(0);
        let mut next = node.saturating_add(1);
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.end[child as usize];
            Some(child)
        })
    }

    /// The node that counts the allocations of a path, given by its [number](Paths::number), as its own; `None` if the
    /// tree leaves the path out.
    #[must_use]
    pub fn leaf(&self, path: usize) -> Option<u32> {
        let leaf = *self.leaf_of.get(path)?;
        (leaf != NO_NODE).then_some(leaf)
    }

    /// The groups from below the root to a node.
    #[must_use]
    pub fn path(&self, node: u32) -> Vec<GroupId> {
        let mut path = Vec::new();
        let mut at = node as usize;
        while at != 0 && at < self.len() {
            path.push(self.group[at]);
            at = self.parent[at] as usize;
        }
        path.reverse();
        path
    }

    /// Follows `path` from the root while nodes exist. Returns the last node and the number of steps.
    #[must_use]
    pub fn find(&self, path: &[GroupId]) -> (u32, usize) {
        let mut node = 0;
        for (steps, &group) in path.iter().enumerate() {
            let is_it = |&child: &u32| self.group[child as usize] == group;
            match self.children(node).find(is_it) {
                Some(child) => node = child,
                None => return (node, steps),
            }
        }
        (node, path.len())
    }
}

/// A tree under construction, with nodes in order of insertion.
struct Builder {
    group: Vec<GroupId>,
    parent: Vec<u32>,
    own: Vec<Sums>,
    child: HashMap<(u32, GroupId), u32, RandomState>,
    leaf_of: Vec<u32>,
    cut_paths: u64,
}

impl Builder {
    fn new(root: GroupId) -> Self {
        Self {
            group: vec![root],
            parent: vec![0],
            own: vec![Sums::default()],
            child: HashMap::default(),
            leaf_of: Vec::new(),
            cut_paths: 0,
        }
    }

    fn add(&mut self, path: impl Iterator<Item = GroupId>, sums: Sums) {
        let mut node = 0;
        for (depth, group) in path.enumerate() {
            let next = match self.child.get(&(node, group)) {
                Some(&known) => known,
                None if depth < MAX_DEPTH && self.group.len() < MAX_NODES => {
                    let new = self.group.len() as u32;
                    self.group.push(group);
                    self.parent.push(node);
                    self.own.push(Sums::default());
                    self.child.insert((node, group), new);
                    new
                }
                None => {
                    self.cut_paths += 1;
                    break;
                }
            };
            node = next;
        }
        self.own[node as usize].add(sums);
        self.leaf_of.push(node);
    }

    fn leave_out(&mut self) {
        self.leaf_of.push(NO_NODE);
    }

    fn finish(self) -> CallTree {
        self.finish_in_order().0
    }

    /// Returns the tree, and the number in order of insertion of each node.
    fn finish_in_order(self) -> (CallTree, Vec<u32>) {
        let nodes = self.group.len();
        let mut total = self.own.clone();
        // A node comes after its parent.
        for node in (1..nodes).rev() {
            let sums = total[node];
            total[self.parent[node] as usize].add(sums);
        }
        // Sorted lightest first, because the stack below hands out the last one first.
        let mut siblings: Vec<u32> = (1..nodes as u32).collect();
        siblings.sort_unstable_by_key(|&node| {
            let at = node as usize;
            let sums = total[at];
            (
                self.parent[at],
                sums.weight,
                sums.bytes,
                std::cmp::Reverse(self.group[at]),
            )
        });
        let mut first = vec![0_usize; nodes + 1];
        for &parent in &self.parent[1..] {
            first[parent as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut order = Vec::with_capacity(nodes);
        let mut waiting = vec![0_u32];
        while let Some(node) = waiting.pop() {
            order.push(node);
            let at = node as usize;
            waiting.extend_from_slice(&siblings[first[at]..first[at + 1]]);
        }
        (self.in_order(&order, &total), order)
    }

    fn in_order(&self, order: &[u32], total: &[Sums]) -> CallTree {
        let nodes = order.len();
        let mut place = vec![0_u32; nodes];
        for (new, &old) in order.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let old = || order.iter().map(|&old| old as usize);
        let parent: Vec<u32> = old().map(|old| place[self.parent[old] as usize]).collect();
        let mut depth = vec![0; nodes];
        let mut end: Vec<u32> = (1..=nodes as u32).collect();
        for node in 1..nodes {
            depth[node] = depth[parent[node] as usize] + 1;
        }
        for node in (1..nodes).rev() {
            let above = parent[node] as usize;
            end[above] = end[above].max(end[node]);
        }
        CallTree {
            group: old().map(|old| self.group[old]).collect(),
            parent,
            depth,
            end,
            total: old().map(|old| total[old]).collect(),
            own: old().map(|old| self.own[old]).collect(),
            leaf_of: self
                .leaf_of
                .iter()
                .map(|&old| place.get(old as usize).copied().unwrap_or(NO_NODE))
                .collect(),
            cut_paths: self.cut_paths,
            first_place: None,
        }
    }
}
