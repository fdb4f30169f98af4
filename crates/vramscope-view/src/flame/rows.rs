//! A call tree as a table with expandable rows.

use vramscope_core::analysis::code::call_tree::CallTree;

/// The visible nodes, in order: the root's children, and the children of every open visible node. Takes time proportional
/// to their number.
#[must_use]
pub fn open_rows(tree: &CallTree, is_open: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut rows = Vec::new();
    let mut node = 1;
    while (node as usize) < tree.len() {
        rows.push(node);
        node = if is_open(node) {
            node + 1
        } else {
            tree.end[node as usize]
        };
    }
    rows
}

/// The rows to open initially: from the root's heaviest child down, as long as one child has more than half of its
/// parent's weight.
#[must_use]
pub fn heavy_path(tree: &CallTree) -> Vec<u32> {
    let mut path = Vec::new();
    let mut node = 0;
    while let Some(child) = tree.children(node).next() {
        let (part, whole) = (tree.total[child as usize], tree.total[node as usize]);
        if node != 0 && part.weight <= whole.weight / 2 {
            break;
        }
        path.push(child);
        node = child;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::tests::{tree, trees};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_shows_if_all_above_are_open(tree in trees(), bits: u64) {
            let is_open = |node: u32| bits >> (node % 64) & 1 == 1;
            let expected: Vec<u32> = (1..tree.len() as u32)
                .filter(|&node| {
                    let above = std::iter::successors(Some(tree.parent[node as usize]), |&at| Some(tree.parent[at as usize]));
                    above.take_while(|&at| at != 0).all(is_open)
                })
                .collect();
            prop_assert_eq!(open_rows(&tree, is_open), expected);
        }
    }

    #[test]
    fn opens_until_it_splits() {
        let tree = tree(&[(0, 1), (1, 2), (2, 10), (2, 10), (0, 3)]);
        assert_eq!(heavy_path(&tree), [1, 2]);
        assert_eq!(heavy_path(&CallTree::default()), [0; 0]);
        assert_eq!(open_rows(&tree, |_| false), [1, 5]);
    }
}
