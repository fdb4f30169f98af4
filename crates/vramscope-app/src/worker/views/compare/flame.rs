//! The signed flame graph.

use vramscope_core::analysis::call_tree::Sums;
use vramscope_core::analysis::compare::{Change, ChangeTree};
use vramscope_view::change_flame::{
    ChangeFlame, ChangeUnit, FlameOptions, FlameRect, callers, change_colour, keys, layout,
};
use vramscope_view::colour::Rgb;
use vramscope_view::display;
use vramscope_view::flame::{FlameCell, FlameScene, NodeKey};
use vramscope_view::theme::Theme;

use super::Kept;
use crate::protocol::views::compare::{Question, SignedBox, SignedFlame};

/// The boxes that [`Question::Flame`] asks for.
pub(super) fn scene(kept: &mut Kept, question: &Question) -> Option<SignedFlame> {
    let &Question::Flame {
        comparison,
        width,
        unit,
        focus,
        width_px,
        theme,
    } = question
    else {
        return None;
    };
    let tree = &kept.comparison.tree;
    let keys = kept.keys.get_or_insert_with(|| keys(tree));
    let node = focus.and_then(|focus| keys.iter().position(|&key| key == focus));
    let focus = node.unwrap_or(0) as u32;
    let options = FlameOptions {
        width,
        unit,
        focus,
        width_px,
    };
    let ChangeFlame { rects, rows } = layout(tree, &options);
    let theme = Theme::of(theme);
    let above = callers(tree, focus).len() as u32;
    let boxes = rects.iter().map(|rect| SignedBox {
        name: tree.text(rect.node).to_owned(),
        change: change_of(tree, rect.node),
    });
    let cell = |rect: &FlameRect| {
        let (label, fill) = face(tree, rect, unit, &theme);
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
            sums: Sums::default(),
            own: Sums::default(),
            is_code: rect.smaller == 0 && rect.node != 0,
            is_above: rect.row < above,
        }
    };
    Some(SignedFlame {
        comparison,
        scene: FlameScene {
            cells: rects.iter().map(cell).collect(),
            rows,
            width_px,
        },
        boxes: boxes.collect(),
        total: change_of(tree, 0),
    })
}

fn change_of(tree: &ChangeTree, node: u32) -> Change {
    tree.total.get(node as usize).copied().unwrap_or_default()
}

/// What a box says, and its colour.
fn face(tree: &ChangeTree, rect: &FlameRect, unit: ChangeUnit, theme: &Theme) -> (String, Rgb) {
    if rect.smaller > 0 {
        return (
            format!("{} smaller", rect.smaller),
            change_colour(theme, 1, 1),
        );
    }
    let change = change_of(tree, rect.node);
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
