//! Turns a differential flame graph into a [`FlameScene`], so that it is drawn like any other flame graph.

use vramscope_core::analysis::code::call_tree::Sums;
use vramscope_core::analysis::compare::changes::{Change, ChangeTree};

use super::{ChangeFlame, ChangeUnit, FlameOptions, FlameRect, callers, change_colour};
use crate::colour::Rgb;
use crate::display;
use crate::flame::{FlameCell, FlameScene, NodeKey};
use crate::theme::Theme;

/// The boxes of a laid out tree. `keys` come from [`super::keys`]; `options` are those of the
/// layout.
#[must_use]
pub fn scene(
    tree: &ChangeTree,
    keys: &[NodeKey],
    flame: &ChangeFlame,
    options: &FlameOptions,
    theme: &Theme,
) -> FlameScene {
    let above = callers(tree, options.focus).len() as u32;
    let cell = |rect: &FlameRect| {
        let (label, fill) = face(tree, rect, options.unit, theme);
        FlameCell {
            key: keys
                .get(rect.node as usize)
                .copied()
                .unwrap_or(NodeKey::ROOT),
            row: rect.row,
            x_px: rect.x_px,
            width_px: rect.width_px,
            label,
            fill,
            lit: 1.0,
            smaller: rect.smaller,
            joined: 1,
            sums: Sums::default(),
            own: Sums::default(),
            is_code: rect.smaller == 0 && rect.node != 0,
            is_above: rect.row < above,
            parts: Vec::new(),
            is_marked: false,
        }
    };
    FlameScene {
        cells: flame.rects.iter().map(cell).collect(),
        rows: flame.rows,
        width_px: options.width_px,
    }
}

fn face(tree: &ChangeTree, rect: &FlameRect, unit: ChangeUnit, theme: &Theme) -> (String, Rgb) {
    if rect.smaller > 0 {
        return (
            format!("{} smaller", rect.smaller),
            change_colour(theme, 1, 1),
        );
    }
    let change = tree
        .total
        .get(rect.node as usize)
        .copied()
        .unwrap_or_default();
    let (before, after) = (unit.of(change.before), unit.of(change.after));
    let text = format!("{}  {}", tree.text(rect.node), change_text(unit, &change));
    (text, change_colour(theme, before, after))
}

/// `+1.20 GiB`, `−3`.
fn change_text(unit: ChangeUnit, change: &Change) -> String {
    match unit {
        ChangeUnit::Bytes => display::bytes_change(change.before.bytes, change.after.bytes),
        ChangeUnit::Count => display::count_change(change.before.count, change.after.count),
    }
}
