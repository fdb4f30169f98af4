//! The differential flame graph: call paths of two sides in one graph, red where the second side has more, blue where it
//! has less.
//!
//! A node is as wide as its own amount and its children's together. With [`FlameWidth::Either`],
//! the own amount is the larger one of both sides, so paths that only one side has are visible too,
//! and no child is wider than its caller. The other widths show one side alone, or only the
//! difference. Grey means no change. The tint grows with the share of the difference in the node,
//! and is full where one side has nothing.

mod scene;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::compare::changes::{Change, ChangeTree};
use vramscope_core::analysis::compare::side::Amount;
use vramscope_core::sorting::SortFew;

use crate::colour::{Rgb, stable_hash};
use crate::flame::NodeKey;
use crate::theme::Theme;
pub use scene::scene;

/// Least width of a rectangle, px. Narrower siblings share a rectangle, and their children are not
/// drawn.
const LEAST_PX: f64 = 2.0;
/// Most rows below the focus; deeper ones can be seen by moving the focus.
const ROWS_MAX: u32 = 400;
/// Tint of the smallest difference, as a share of the full colour.
const LEAST_TINT: f64 = 0.12;

/// The meaning of the width of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlameWidth {
    /// The larger side's amount of each path.
    #[default]
    Either,
    /// The first side's amount.
    Before,
    /// The second side's amount.
    After,
    /// The difference, in either direction.
    Difference,
}

/// The unit of the amounts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeUnit {
    /// Requested bytes.
    #[default]
    Bytes,
    /// Allocations.
    Count,
}

impl ChangeUnit {
    /// The amount in this unit.
    #[must_use]
    pub fn of(self, amount: Amount) -> u64 {
        match self {
            Self::Bytes => amount.bytes,
            Self::Count => amount.count,
        }
    }
}

/// Options of [`layout`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameOptions {
    /// The meaning of widths.
    pub width: FlameWidth,
    /// The unit of widths and changes.
    pub unit: ChangeUnit,
    /// The node that fills the width; 0 for the root.
    pub focus: u32,
    /// Width of the picture, css px.
    pub width_px: f64,
}

/// A rectangle of the graph.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameRect {
    /// The node; for several narrow siblings, their caller.
    pub node: u32,
    /// 0 for a node; otherwise the number of narrow siblings that the rectangle stands for.
    pub smaller: u32,
    /// Row from the top; callers are above what they call.
    pub row: u32,
    /// Left edge, css px.
    pub x_px: f64,
    /// Width, css px.
    pub width_px: f64,
}

/// A laid out differential flame graph.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeFlame {
    /// Sorted by row, then from left to right.
    pub rects: Vec<FlameRect>,
    /// Number of rows.
    pub rows: u32,
}

impl ChangeFlame {
    /// The rectangle at a position, in css px and as a row.
    #[must_use]
    pub fn at(&self, x_px: f64, row: u32) -> Option<&FlameRect> {
        let after = self
            .rects
            .partition_point(|rect| (rect.row, rect.x_px) <= (row, x_px));
        let rect = self.rects.get(after.checked_sub(1)?)?;
        (rect.row == row && x_px < rect.x_px + rect.width_px).then_some(rect)
    }
}

/// Lays out the focus of a tree, its callees and its callers.
#[must_use]
pub fn layout(tree: &ChangeTree, options: &FlameOptions) -> ChangeFlame {
    if tree.is_empty() {
        return ChangeFlame::default();
    }
    let widths = widths(tree, options);
    let children = Children::of(tree, &widths);
    let focus = if (options.focus as usize) < tree.len() {
        options.focus
    } else {
        0
    };
    let full_px = options.width_px.max(1.0);
    let mut flame = ChangeFlame::default();
    // The callers of the focus, each over the whole width.
    let above = callers(tree, focus);
    for (row, &node) in (0..).zip(&above) {
        flame.rects.push(FlameRect {
            node,
            smaller: 0,
            row,
            x_px: 0.0,
            width_px: full_px,
        });
    }
    let first_row = above.len() as u32;
    let scale = full_px / widths[focus as usize].max(f64::MIN_POSITIVE);
    let scaled = |node: u32| widths[node as usize] * scale;
    let mut open = vec![(focus, first_row, 0.0, full_px)];
    while let Some((node, row, x_px, width_px)) = open.pop() {
        flame.rects.push(FlameRect {
            node,
            smaller: 0,
            row,
            x_px,
            width_px,
        });
        let below = children.of_node(node);
        // Children are sorted by width, so all after the first narrow one are narrow.
        let wide = match row - first_row {
            0..ROWS_MAX => below.partition_point(|&child| scaled(child) >= LEAST_PX),
            _ => 0,
        };
        let mut x = x_px;
        for &child in &below[..wide] {
            open.push((child, row + 1, x, scaled(child)));
            x += scaled(child);
        }
        flame.rects.extend(
            narrow(&below[wide..], scaled).map(|(smaller, width_px)| FlameRect {
                node,
                smaller,
                row: row + 1,
                x_px: x,
                width_px,
            }),
        );
    }
    flame
        .rects
        .sort_few_by(|a, b| a.row.cmp(&b.row).then(a.x_px.total_cmp(&b.x_px)));
    flame.rows = flame.rects.last().map_or(0, |rect| rect.row + 1);
    flame
}

/// The number of nodes that have a width, and their total width; `None` if that is too narrow to
/// see.
fn narrow(nodes: &[u32], scaled: impl Fn(u32) -> f64) -> Option<(u32, f64)> {
    let seen = nodes
        .iter()
        .map(|&node| scaled(node))
        .filter(|&width| width > 0.0);
    let (count, width) = seen.fold((0, 0.0), |(count, sum), width| (count + 1, sum + width));
    (width >= LEAST_PX / 4.0).then_some((count, width))
}

/// The key of each node, computed from its path as in the [flame graph](crate::flame) of one side, so the focus stays when
/// other moments are compared.
#[must_use]
pub fn keys(tree: &ChangeTree) -> Vec<NodeKey> {
    let hashes: Vec<u64> = tree.labels.iter().map(|label| stable_hash(label)).collect();
    let mut keys: Vec<NodeKey> = Vec::with_capacity(tree.len());
    for (&parent, &label) in tree.parent.iter().zip(&tree.label) {
        let hash = hashes.get(label as usize).copied().unwrap_or(0);
        let above = keys.get(parent as usize).copied();
        keys.push(above.map_or(NodeKey::ROOT, |above| above.child(hash)));
    }
    keys
}

/// The callers of a node from the root down, without the node itself.
#[must_use]
pub fn callers(tree: &ChangeTree, node: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut at = node;
    // Every parent's row precedes its children's. The root's does not, and ends the loop.
    while let Some(&parent) = tree.parent.get(at as usize).filter(|&&parent| parent < at) {
        path.push(parent);
        at = parent;
    }
    path.reverse();
    path
}

/// Each node's own width and its descendants'. Floating point, because sums of both sides may
/// exceed 64 bits.
fn widths(tree: &ChangeTree, options: &FlameOptions) -> Vec<f64> {
    let own = |change: &Change| {
        let (before, after) = (
            options.unit.of(change.before),
            options.unit.of(change.after),
        );
        let wide = match options.width {
            FlameWidth::Either => before.max(after),
            FlameWidth::Before => before,
            FlameWidth::After => after,
            FlameWidth::Difference => before.abs_diff(after),
        };
        wide as f64
    };
    let mut widths: Vec<f64> = tree.own.iter().map(own).collect();
    widths.resize(tree.len(), 0.0);
    for row in (1..tree.len()).rev() {
        let parent = tree.parent[row] as usize;
        if parent < row {
            widths[parent] += widths[row];
        }
    }
    widths
}

/// The children of every node, sorted by width, widest first, in one list.
struct Children {
    /// The index of each node's first child in `nodes`; one entry more than nodes.
    starts: Vec<u32>,
    nodes: Vec<u32>,
}

impl Children {
    fn of(tree: &ChangeTree, widths: &[f64]) -> Self {
        let mut starts = vec![0_u32; tree.len() + 1];
        let is_child = |row: usize| (tree.parent[row] as usize) < row;
        let rows = (1..tree.len()).filter(|&row| is_child(row));
        for row in rows.clone() {
            starts[tree.parent[row] as usize + 1] += 1;
        }
        for row in 0..tree.len() {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut nodes = vec![0; starts[tree.len()] as usize];
        for row in rows {
            let place = &mut next[tree.parent[row] as usize];
            nodes[*place as usize] = row as u32;
            *place += 1;
        }
        for row in 0..tree.len() {
            let own = &mut nodes[starts[row] as usize..starts[row + 1] as usize];
            own.sort_by(|&a, &b| {
                let wider = widths[b as usize].total_cmp(&widths[a as usize]);
                wider.then_with(|| tree.text(a).cmp(tree.text(b)))
            });
        }
        Self { starts, nodes }
    }

    fn of_node(&self, node: u32) -> &[u32] {
        let node = node as usize;
        match (self.starts.get(node), self.starts.get(node + 1)) {
            (Some(&start), Some(&end)) => &self.nodes[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// The difference as a share of the larger side, from −1 (the second side has nothing) to 1 (the
/// first side has nothing); 0 where both are equal.
#[must_use]
pub fn growth(before: u64, after: u64) -> f64 {
    let more = before.max(after);
    if more == 0 {
        return 0.0;
    }
    // Rounding to a float is precise enough for a colour.
    let share = before.abs_diff(after) as f64 / more as f64;
    if after < before { -share } else { share }
}

/// The colour of a change, as the module's documentation describes.
#[must_use]
pub fn change_colour(theme: &Theme, before: u64, after: u64) -> Rgb {
    let growth = growth(before, after);
    let full = if growth < 0.0 {
        theme.shrink
    } else {
        theme.growth
    };
    let share = growth.abs();
    let tint = if share > 0.0 {
        LEAST_TINT + (1.0 - LEAST_TINT) * share
    } else {
        0.0
    };
    let still = mix(theme.background, theme.unknown, 0.45);
    mix(still, full, tint)
}

fn mix(from: Rgb, to: Rgb, share: f64) -> Rgb {
    std::array::from_fn(|c| {
        let (from, to) = (f64::from(from[c]), f64::from(to[c]));
        (from + (to - from) * share).round() as u8
    })
}

#[cfg(test)]
#[path = "change_flame_tests.rs"]
mod tests;
