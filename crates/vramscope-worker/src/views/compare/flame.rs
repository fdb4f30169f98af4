//! The signed flame graph.

use vramscope_core::analysis::compare::changes::{Change, ChangeTree};
use vramscope_protocol::views::compare::{Question, SignedBox, SignedFlame};
use vramscope_view::change_flame::{self, FlameOptions, layout};
use vramscope_view::theme::Theme;

use super::Kept;

/// The flame graph of a [`Question::Flame`]; `None` for any other question.
pub(super) fn scene(kept: &mut Kept, question: &Question) -> Option<SignedFlame> {
    let &Question::Flame {
        width,
        unit,
        focus,
        width_px,
        theme,
        ..
    } = question
    else {
        return None;
    };
    let focus = kept.node(focus);
    let tree = &kept.comparison.tree;
    let keys = kept.keys.as_deref().unwrap_or_default();
    let options = FlameOptions {
        width,
        unit,
        focus,
        width_px,
    };
    let flame = layout(tree, &options);
    let boxes = flame.rects.iter().map(|rect| SignedBox {
        name: tree.text(rect.node).to_owned(),
        change: change_of(tree, rect.node),
    });
    Some(SignedFlame {
        boxes: boxes.collect(),
        scene: change_flame::scene(tree, keys, &flame, &options, &Theme::of(theme)),
        search: kept.filters.get(tree.text(focus)).cloned(),
    })
}

fn change_of(tree: &ChangeTree, node: u32) -> Change {
    tree.total.get(node as usize).copied().unwrap_or_default()
}
