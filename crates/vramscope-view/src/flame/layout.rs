//! The boxes of the part of a tree that a focus selects.

use vramscope_core::analysis::code::call_tree::{CallTree, Sums};
use vramscope_core::sorting::SortFew;

/// Siblings narrower than this share one box, in px.
const LEAST_PX: f64 = 0.5;
/// Most boxes of a picture; no screen shows more distinctly. For larger trees the least width is doubled until there are
/// few enough boxes.
const MOST_BOXES: usize = 12_000;

/// A box of a flame graph: a node, or several narrow siblings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlameBox {
    /// The node; for several siblings, their parent.
    pub node: u32,
    /// Depth below the tree's root.
    pub row: u32,
    /// Left edge, px.
    pub x_px: f64,
    /// Width, px.
    pub width_px: f64,
    /// 0 for a node; otherwise the number of narrow siblings that the box stands for.
    pub smaller: u32,
    /// Total of the node or of the siblings.
    pub sums: Sums,
}

/// The boxes of a flame graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlameLayout {
    /// Sorted by row, then from left to right.
    pub boxes: Vec<FlameBox>,
    /// Number of rows: one more than the deepest box's.
    pub rows: u32,
    /// Width of the whole graph, px.
    pub width_px: f64,
    /// Siblings narrower than this share a box, px.
    pub least_px: f64,
}

/// Lays out the focus and its descendants over the whole width, and each ancestor as a full row
/// above. The root is the focus if `focus` is no node of the tree.
#[must_use]
pub fn layout(tree: &CallTree, focus: u32, width_px: f64) -> FlameLayout {
    let width_px = if width_px.is_finite() {
        width_px.max(1.0)
    } else {
        1.0
    };
    let focus = if (focus as usize) < tree.len() {
        focus
    } else {
        0
    };
    let mut least_px = LEAST_PX;
    loop {
        let mut boxes = boxes(tree, focus, width_px, least_px);
        // No box can be narrower, so doubling any further removes none.
        if boxes.len() <= MOST_BOXES || least_px > width_px {
            boxes.sort_few_by(|a, b| {
                (a.row, a.x_px)
                    .partial_cmp(&(b.row, b.x_px))
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            return FlameLayout {
                rows: boxes.last().map_or(0, |last| last.row + 1),
                boxes,
                width_px,
                least_px,
            };
        }
        least_px *= 2.0;
    }
}

fn boxes(tree: &CallTree, focus: u32, width_px: f64, least_px: f64) -> Vec<FlameBox> {
    if tree.group.is_empty() {
        return Vec::new();
    }
    let mut boxes = ancestors(tree, focus, width_px);
    let total = tree.total[focus as usize].weight;
    if total == 0 {
        return boxes;
    }
    let scale = width_px / total as f64;
    let top = tree.depth[focus as usize];
    // Per level below the focus, the left edge of its next box.
    let mut next_x_px = vec![0.0];
    let (mut node, end) = (focus + 1, tree.end[focus as usize]);
    while node < end {
        let at = node as usize;
        let level = (tree.depth[at] - top) as usize;
        next_x_px.truncate(level);
        let Some(&x_px) = next_x_px.last() else {
            break;
        };
        let of_node = FlameBox {
            node,
            row: tree.depth[at],
            x_px,
            width_px: tree.total[at].weight as f64 * scale,
            smaller: 0,
            sums: tree.total[at],
        };
        if of_node.width_px >= least_px {
            boxes.push(of_node);
            if let Some(x_px) = next_x_px.last_mut() {
                *x_px += of_node.width_px;
            }
            next_x_px.push(x_px);
            node += 1;
        } else {
            // Siblings are sorted by weight, so later ones are no wider.
            boxes.extend(smaller(tree, node, scale, of_node));
            node = tree.end[tree.parent[at] as usize];
        }
    }
    boxes
}

/// One box for a node and all siblings after it; `None` if their weight is 0.
fn smaller(tree: &CallTree, first: u32, scale: f64, of_first: FlameBox) -> Option<FlameBox> {
    let parent = tree.parent[first as usize];
    let (mut sums, mut count) = (Sums::default(), 0);
    let mut node = first;
    while node < tree.end[parent as usize] {
        let of_node = tree.total[node as usize];
        sums.weight = sums.weight.saturating_add(of_node.weight);
        sums.bytes = sums.bytes.saturating_add(of_node.bytes);
        sums.count = sums.count.saturating_add(of_node.count);
        sums.matched = sums.matched.saturating_add(of_node.matched);
        count += 1;
        node = tree.end[node as usize];
    }
    (sums.weight > 0).then_some(FlameBox {
        node: parent,
        width_px: sums.weight as f64 * scale,
        smaller: count,
        sums,
        ..of_first
    })
}

/// The boxes of the focus and its ancestors.
fn ancestors(tree: &CallTree, focus: u32, width_px: f64) -> Vec<FlameBox> {
    let mut boxes = Vec::new();
    let mut node = focus;
    loop {
        boxes.push(FlameBox {
            node,
            row: tree.depth[node as usize],
            x_px: 0.0,
            width_px,
            smaller: 0,
            sums: tree.total[node as usize],
        });
        if node == 0 {
            return boxes;
        }
        node = tree.parent[node as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flame::tests::{tree, trees};
    use proptest::prelude::*;

    /// Lays out by recursion, straight from the definition.
    fn naive(tree: &CallTree, node: u32, x_px: f64, scale: f64, boxes: &mut Vec<FlameBox>) {
        let mut x_px = x_px;
        let mut rest: Vec<u32> = Vec::new();
        for child in tree.children(node) {
            let sums = tree.total[child as usize];
            let width_px = sums.weight as f64 * scale;
            if width_px < LEAST_PX {
                rest.push(child);
                continue;
            }
            boxes.push(FlameBox {
                node: child,
                row: tree.depth[child as usize],
                x_px,
                width_px,
                smaller: 0,
                sums,
            });
            naive(tree, child, x_px, scale, boxes);
            x_px += width_px;
        }
        let weight: u64 = rest
            .iter()
            .map(|&child| tree.total[child as usize].weight)
            .sum();
        if weight > 0 {
            let sum = |of: fn(&Sums) -> u64| {
                rest.iter()
                    .map(|&child| of(&tree.total[child as usize]))
                    .sum()
            };
            boxes.push(FlameBox {
                node,
                row: tree.depth[node as usize] + 1,
                x_px,
                width_px: weight as f64 * scale,
                smaller: rest.len() as u32,
                sums: Sums {
                    weight,
                    bytes: sum(|s| s.bytes),
                    count: sum(|s| s.count),
                    matched: sum(|s| s.matched),
                },
            });
        }
    }

    proptest! {
        #[test]
        fn boxes_are_where_the_slow_ones_are(tree in trees(), focus in 0..60_u32, width_px in 1.0..900.0_f64) {
            let layout = layout(&tree, focus, width_px);
            let focus = if (focus as usize) < tree.len() { focus } else { 0 };
            let mut expected = ancestors(&tree, focus, width_px);
            let total = tree.total[focus as usize].weight;
            if total > 0 {
                naive(&tree, focus, 0.0, width_px / total as f64, &mut expected);
            }
            expected.sort_by(|a, b| (a.row, a.x_px).partial_cmp(&(b.row, b.x_px)).unwrap());
            prop_assert_eq!(&layout.boxes, &expected);
            // Boxes of a row do not overlap and lie within the width.
            for pair in layout.boxes.windows(2) {
                let is_next = pair[0].row < pair[1].row || pair[0].x_px + pair[0].width_px <= pair[1].x_px + 1e-6;
                prop_assert!(is_next, "{:?}", pair);
            }
            prop_assert!(layout.boxes.iter().all(|b| b.x_px + b.width_px <= width_px + 1e-6 && b.row < layout.rows));
        }
    }

    #[test]
    fn a_tree_of_many_boxes_keeps_to_the_limit() {
        let nodes: Vec<(u32, u64)> = (0..200)
            .flat_map(|_| (0..200).map(|depth| (depth, 1)))
            .collect();
        let tree = tree(&nodes);
        let layout = layout(&tree, 0, 100_000.0);
        assert!(layout.boxes.len() <= MOST_BOXES && layout.least_px > LEAST_PX);
        let merged: u64 = layout
            .boxes
            .iter()
            .filter(|b| b.row == 1)
            .map(|b| b.sums.weight)
            .sum();
        assert_eq!(merged, 200 * 200, "all that is there");
    }

    #[test]
    fn strange_sizes_and_trees_draw_nothing_strange() {
        let empty = CallTree::default();
        assert_eq!(layout(&empty, 3, 100.0).boxes, []);
        let weightless = tree(&[(0, 0), (1, 0)]);
        assert_eq!(layout(&weightless, 0, f64::NAN).boxes.len(), 1);
    }
}
