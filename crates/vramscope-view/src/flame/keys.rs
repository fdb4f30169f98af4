//! Keys of nodes that stay the same across trees.
//!
//! Node numbers differ in the tree of the next moment, of another filter, or of the same file opened again. The path of
//! labels from the root stays the same, so its hash identifies a node; the focus and the opened rows are stored by it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::CallTree;
use vramscope_core::analysis::code::frame_groups::GroupTable;

use crate::colour::stable_hash;

/// The hash of a node's path of labels; nodes of different trees with the same path have the same
/// key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeKey(pub u64);

impl NodeKey {
    /// The key of every tree's root.
    pub const ROOT: Self = Self(0x9e37_79b9_7f4a_7c15);

    /// The key of the child with this label, given by its [`stable_hash`].
    #[must_use]
    pub fn child(self, label_hash: u64) -> Self {
        let mixed = (self.0.rotate_left(23) ^ label_hash).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Self(mixed ^ mixed >> 32)
    }
}

/// The keys of a tree's nodes, and the nodes by key.
#[derive(Clone, Debug, Default)]
pub struct NodeKeys {
    keys: Vec<NodeKey>,
    nodes: HashMap<NodeKey, u32>,
}

impl NodeKeys {
    /// Computes the keys of all nodes. `table` holds the groups of the tree.
    #[must_use]
    pub fn of(tree: &CallTree, table: &GroupTable) -> Self {
        let labels: Vec<u64> = table
            .groups()
            .iter()
            .map(|group| stable_hash(&group.label))
            .collect();
        let mut keys: Vec<NodeKey> = Vec::with_capacity(tree.len());
        for (node, (&parent, group)) in tree.parent.iter().zip(&tree.group).enumerate() {
            let label = labels.get(group.index()).copied().unwrap_or(0);
            keys.push(match node {
                0 => NodeKey::ROOT,
                _ => keys[parent as usize].child(label),
            });
        }
        let nodes = keys.iter().copied().zip(0..).collect();
        Self { keys, nodes }
    }

    /// The key of a node; the root's if the tree has no such node.
    #[must_use]
    pub fn key(&self, node: u32) -> NodeKey {
        let key = self.keys.get(node as usize).copied();
        key.unwrap_or(NodeKey::ROOT)
    }

    /// The node with this key, if the tree has one.
    #[must_use]
    pub fn node(&self, key: NodeKey) -> Option<u32> {
        self.nodes.get(&key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::tests::trees;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_node_is_found_by_its_key(tree in trees()) {
            // Groups not in the table have no label, so siblings share a key.
            let keys = NodeKeys::of(&tree, &GroupTable::default());
            for node in 0..tree.len() as u32 {
                let found = keys.node(keys.key(node)).unwrap();
                prop_assert_eq!(tree.depth[found as usize], tree.depth[node as usize]);
            }
            prop_assert_eq!(keys.node(NodeKey(7)), None);
            prop_assert_eq!(keys.key(u32::MAX), NodeKey::ROOT);
        }
    }

    #[test]
    fn keys_follow_the_path() {
        let (a, b) = (stable_hash("a"), stable_hash("b"));
        let key = |path: &[u64]| {
            path.iter()
                .fold(NodeKey::ROOT, |key, &hash| key.child(hash))
        };
        assert_ne!(key(&[a, b]), key(&[b, a]));
        assert_ne!(key(&[a]), key(&[a, a]));
        assert_eq!(key(&[a, b]), key(&[a]).child(b));
    }
}
