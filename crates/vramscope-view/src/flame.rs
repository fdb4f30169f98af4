//! Flame graphs: a call tree as rows of boxes, each as wide as its weight.
//!
//! [`NodeKeys`] identifies nodes across trees, so that the focus stays when the next moment brings another tree.
//! [`layout`](layout()) computes the boxes below a focus, [`FlameScene`] adds labels and colours for the page, and
//! [`draw`](picture::draw) draws that into a [`Scene`](crate::scene::Scene). Siblings too narrow to see become one grey box
//! with their number, so nothing is left out silently.
//!
//! [`open_rows`] and [`heavy_path`] show the same tree as a table.

mod faces;
mod keys;
mod label;
mod layout;
mod mixes;
pub mod picture;
mod rows;
mod scene;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::selection::Weight;

use crate::display;
pub use faces::{BoxColours, BoxPart, Faces, GroupColours};
pub use keys::{NodeKey, NodeKeys};
pub use label::fit as fit_label;
pub use layout::{FlameBox, FlameLayout, layout};
pub use mixes::Mixes;
pub use rows::{heavy_path, open_rows};
pub use scene::{FlameCell, FlameScene, Shown, Step};

/// Height of a row, css px.
pub const ROW_CSS: f64 = 20.0;

/// The direction in which the tree grows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Root at the top, callees below.
    #[default]
    Icicle,
    /// Root at the bottom, callees above.
    Flame,
}

impl Shape {
    /// The row in the picture, from the top, of the tree's row `row` (0 is the root) of `rows`.
    #[must_use]
    pub fn place(self, row: u32, rows: u32) -> u32 {
        match self {
            Self::Icicle => row,
            Self::Flame => rows.saturating_sub(row).saturating_sub(1),
        }
    }
}

/// A sum in the unit of its weight: `31.2 GiB`, `1,234 allocations`, `31.2 GiB · events`.
#[must_use]
pub fn weight_text(weight: Weight, sum: u64) -> String {
    match weight {
        Weight::Bytes => display::bytes(sum),
        Weight::Count if sum == 1 => "1 allocation".to_owned(),
        Weight::Count => format!("{} allocations", display::count(sum)),
        Weight::ByteEvents => format!("{} · events", display::bytes(sum)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use vramscope_core::analysis::code::call_tree::{CallTree, Sums};
    use vramscope_core::analysis::code::frame_groups::GroupId;

    /// Trees of nodes given as (depth below the node before, at most one deeper; own weight), with
    /// the heaviest child first, as in core's trees.
    pub(crate) fn trees() -> impl Strategy<Value = CallTree> {
        let node = (0..6_u32, prop_oneof![0..4_u64, 0..1_000_u64]);
        prop::collection::vec(node, 0..60).prop_map(|nodes| tree(&nodes))
    }

    pub(crate) fn tree(nodes: &[(u32, u64)]) -> CallTree {
        #[derive(Clone, Default)]
        struct Node {
            own: u64,
            total: u64,
            children: Vec<usize>,
        }
        let mut made = vec![Node::default()];
        let mut open = vec![0_usize];
        for &(depth, own) in nodes {
            open.truncate((depth as usize + 1).min(open.len()));
            let (new, parent) = (made.len(), *open.last().unwrap());
            made[parent].children.push(new);
            made.push(Node {
                own,
                ..Node::default()
            });
            open.push(new);
        }
        for node in (0..made.len()).rev() {
            let below: u64 = made[node]
                .children
                .iter()
                .map(|&child| made[child].total)
                .sum();
            made[node].total = made[node].own + below;
            let mut children = std::mem::take(&mut made[node].children);
            children.sort_by_key(|&child| (std::cmp::Reverse(made[child].total), child));
            made[node].children = children;
        }
        let mut tree = CallTree::default();
        let sums = |weight| Sums {
            weight,
            bytes: weight,
            count: 1,
            matched: weight / 2,
        };
        let mut waiting = vec![(0_usize, 0_u32, 0_u32)];
        while let Some((node, parent, depth)) = waiting.pop() {
            let row = tree.group.len() as u32;
            tree.group.push(GroupId(node as u32 + 5));
            tree.parent.push(parent);
            tree.depth.push(depth);
            tree.total.push(sums(made[node].total));
            tree.own.push(sums(made[node].own));
            tree.end.push(row + 1);
            let children = made[node].children.iter().rev();
            waiting.extend(children.map(|&child| (child, row, depth + 1)));
        }
        for node in (1..tree.len()).rev() {
            let parent = tree.parent[node] as usize;
            tree.end[parent] = tree.end[parent].max(tree.end[node]);
        }
        tree
    }

    #[test]
    fn weights_have_their_unit() {
        assert_eq!(weight_text(Weight::Bytes, 2_048), "2.00 KiB");
        assert_eq!(weight_text(Weight::Count, 1), "1 allocation");
        assert_eq!(weight_text(Weight::Count, 1_200), "1,200 allocations");
        assert_eq!(weight_text(Weight::ByteEvents, 2_048), "2.00 KiB · events");
    }

    #[test]
    fn shapes_mirror_rows() {
        assert_eq!([0, 1, 4].map(|row| Shape::Icicle.place(row, 5)), [0, 1, 4]);
        assert_eq!([0, 1, 4].map(|row| Shape::Flame.place(row, 5)), [4, 3, 0]);
        assert_eq!(Shape::Flame.place(9, 5), 0);
    }
}
