//! A flame graph for the page: boxes with label, colour and numbers.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::{CallTree, Chains, Sums};
use vramscope_core::analysis::code::frame_groups::GroupTable;

use super::faces::{BoxColours, BoxPart, Faces};
use super::keys::{NodeKey, NodeKeys};
use super::layout::{FlameLayout, layout};
use super::{ROW_CSS, Shape};
use crate::colour::Rgb;

/// A box of a flame graph: a node, or several narrow siblings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameCell {
    /// The node's key; for several siblings, their parent's.
    pub key: NodeKey,
    /// Depth below the root.
    pub row: u32,
    /// Left edge, css px.
    pub x_px: f64,
    /// Width, css px.
    pub width_px: f64,
    /// The full label.
    pub label: String,
    /// The colour of its code, or of its largest group.
    pub fill: Rgb,
    /// Its largest groups, largest first; none if colours stand for code.
    pub parts: Vec<BoxPart>,
    /// The share that matches the search, 0 to 1; 1 without a search.
    pub lit: f64,
    /// 0 for a node; otherwise the number of narrow siblings that the box stands for.
    pub smaller: u32,
    /// Number of nodes in the box's chain, at least 1. With the focus on it, each has a box.
    pub joined: u32,
    /// Total of the node or of the siblings.
    pub sums: Sums,
    /// The part of the total that is the node's own; 0 for several siblings.
    pub own: Sums,
    /// Whether the box is an ancestor of the focus.
    pub is_above: bool,
    /// Whether the box stands for code that the search box can find.
    pub is_code: bool,
    /// Whether the marked allocation counts in it.
    pub is_marked: bool,
}

/// The part of a tree to show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shown {
    /// The node that fills the width.
    pub focus: u32,
    /// The node that counts the marked allocation as its own; `None` without one.
    pub marked: Option<u32>,
    /// Width of the picture, css px.
    pub width_px: f64,
}

/// A flame graph, ready to draw.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlameScene {
    /// Sorted by row, then from left to right.
    pub cells: Vec<FlameCell>,
    /// Number of rows.
    pub rows: u32,
    /// Width of the whole graph, css px.
    pub width_px: f64,
}

impl FlameScene {
    /// A part of a tree with one box per [chain](Chains). `keys`, `table` and `colours` must belong to the tree.
    /// `callers_below`: see [`Chains::of`].
    #[must_use]
    pub fn new(
        (whole, callers_below): (&CallTree, bool),
        keys: &NodeKeys,
        table: &GroupTable,
        colours: BoxColours<'_>,
        shown: Shown,
    ) -> Self {
        let chains = Chains::of(whole, callers_below, &[shown.focus]);
        let tree = &chains.tree;
        let chain = |node: u32| chains.of_node.get(node as usize).copied();
        let focus = chain(shown.focus).unwrap_or(0);
        let marked = shown.marked.and_then(chain);
        let faces = Faces::of(&chains, table, colours);
        let FlameLayout {
            boxes,
            rows,
            width_px,
            ..
        } = layout(tree, focus, shown.width_px);
        let top = tree.depth.get(focus as usize).copied().unwrap_or(0);
        let cells = boxes.into_iter().map(|of| {
            let (label, fill, parts) = if of.smaller > 0 {
                (
                    format!("{} smaller", of.smaller),
                    colours.code.unknown(),
                    Vec::new(),
                )
            } else {
                (
                    faces.label(of.node),
                    faces.fill(of.node),
                    faces.parts(of.node),
                )
            };
            let is_marked =
                marked.is_some_and(|at| (of.node..tree.end[of.node as usize]).contains(&at));
            FlameCell {
                key: keys.key(chains.named[of.node as usize]),
                joined: match of.smaller {
                    0 => chains.lengths[of.node as usize],
                    _ => 1,
                },
                row: of.row,
                x_px: of.x_px,
                width_px: of.width_px,
                label,
                fill,
                parts,
                lit: lit(&of.sums),
                smaller: of.smaller,
                sums: of.sums,
                own: if of.smaller > 0 {
                    Sums::default()
                } else {
                    tree.own[of.node as usize]
                },
                is_above: of.row < top,
                is_code: of.smaller == 0 && tree.group[of.node as usize].is_code(),
                is_marked: is_marked && of.smaller == 0,
            }
        });
        Self {
            cells: cells.collect(),
            rows,
            width_px,
        }
    }

    /// The index in `cells` of a node's box; `None` if the node has no box.
    #[must_use]
    pub fn find(&self, key: NodeKey) -> Option<usize> {
        let is_it = |cell: &FlameCell| cell.key == key && cell.smaller == 0;
        self.cells.iter().position(is_it)
    }

    /// The row of the innermost marked box; `None` if only the root is marked.
    #[must_use]
    pub fn marked_row(&self) -> Option<u32> {
        let marked = self.cells.iter().filter(|cell| cell.is_marked);
        marked.map(|cell| cell.row).max().filter(|&row| row > 0)
    }

    /// The index in `cells` of the box under a point, in css px from the top left of the whole
    /// graph.
    #[must_use]
    pub fn hit(&self, shape: Shape, x_px: f64, y_px: f64) -> Option<usize> {
        let from_top = y_px / ROW_CSS;
        if !(0.0..f64::from(self.rows)).contains(&from_top) {
            return None;
        }
        // The mapping between rows of the tree and of the picture is its own inverse.
        let row = shape.place(from_top as u32, self.rows);
        let is_before = |cell: &FlameCell| cell.row < row || (cell.row == row && cell.x_px <= x_px);
        let place = self.cells.partition_point(is_before).checked_sub(1)?;
        let cell = &self.cells[place];
        (cell.row == row && x_px < cell.x_px + cell.width_px).then_some(place)
    }

    /// The index in `cells` of the box that an arrow key moves to: up and down in the picture, left
    /// and right within the row. Stays at `from` at the edges; the first box if `from` is `None` or
    /// no box.
    #[must_use]
    pub fn step(&self, shape: Shape, from: Option<usize>, step: Step) -> Option<usize> {
        let Some((place, cell)) = from.and_then(|at| Some((at, self.cells.get(at)?))) else {
            return (!self.cells.is_empty()).then_some(0);
        };
        let in_row = |place: Option<usize>| {
            place.filter(|&at| {
                self.cells
                    .get(at)
                    .is_some_and(|other| other.row == cell.row)
            })
        };
        let row = match (step, shape) {
            (Step::Left, _) => return in_row(place.checked_sub(1)).or(from),
            (Step::Right, _) => return in_row(place.checked_add(1)).or(from),
            (Step::Up, Shape::Icicle) | (Step::Down, Shape::Flame) => cell.row.checked_sub(1),
            (Step::Down, Shape::Icicle) | (Step::Up, Shape::Flame) => cell.row.checked_add(1),
        };
        let Some(row) = row else { return from };
        let of_row = |of: &&FlameCell| of.row == row;
        let start = self.cells.partition_point(|other| other.row < row);
        let others = self.cells[start..].iter().take_while(of_row);
        let overlaps = |other: &FlameCell| {
            other.x_px < cell.x_px + cell.width_px && cell.x_px < other.x_px + other.width_px
        };
        others
            .enumerate()
            .find(|(_, other)| overlaps(other))
            .map(|(at, _)| start + at)
            .or(from)
    }
}

/// A direction for [`FlameScene::step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Step {
    Left,
    Right,
    Up,
    Down,
}

fn lit(sums: &Sums) -> f64 {
    if sums.weight == 0 {
        return 1.0;
    }
    sums.matched as f64 / sums.weight as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::Leaders;
    use crate::flame::GroupColours;
    use crate::flame::tests::trees;
    use crate::theme::Theme;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_box_is_hit_in_its_middle_and_reached_by_keys(tree in trees(), focus in 0..60_u32) {
            let table = GroupTable::default();
            let keys = NodeKeys::of(&tree, &table);
            let fills = GroupColours::of(&table, &Theme::light(), &Leaders::default(), |_| false);
            let colours = BoxColours { code: &fills, mixes: None };
            let shown = Shown { focus, marked: None, width_px: 500.0 };
            let scene = FlameScene::new((&tree, false), &keys, &table, colours, shown);
            for shape in [Shape::Icicle, Shape::Flame] {
                for (place, cell) in scene.cells.iter().enumerate() {
                    let y_px = (f64::from(shape.place(cell.row, scene.rows)) + 0.5) * ROW_CSS;
                    prop_assert_eq!(scene.hit(shape, cell.x_px + cell.width_px / 2.0, y_px), Some(place));
                    // Towards the root, then to neighbouring boxes, which reaches every box.
                    let towards = if shape == Shape::Icicle { Step::Up } else { Step::Down };
                    let mut at = Some(place);
                    for _ in 0..scene.rows {
                        at = scene.step(shape, at, towards);
                    }
                    prop_assert_eq!(at, Some(0));
                    for step in [Step::Left, Step::Right, Step::Up, Step::Down] {
                        prop_assert!(scene.step(shape, Some(place), step).is_some());
                    }
                }
                prop_assert_eq!(scene.hit(shape, 1.0, -1.0), None);
                prop_assert_eq!(scene.hit(shape, f64::NAN, 1.0), None);
                prop_assert_eq!(scene.hit(shape, 500.1, 1.0), None);
                prop_assert_eq!(scene.hit(shape, 1.0, f64::from(scene.rows) * ROW_CSS), None);
            }
        }
    }
}
