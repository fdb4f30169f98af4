//! A flame graph of a call tree.

use vramscope_core::analysis::code::call_tree::CallTree;
use vramscope_core::analysis::code::frame_groups::GroupTable;
use vramscope_core::units::Count;

use super::Content;
use crate::flame::picture::draw;
use crate::flame::{BoxColours, FlameScene, NodeKeys, ROW_CSS, Shape, Shown};
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::shortened::cut_end;

/// Font size, css px.
const LETTER_CSS: f64 = 11.0;

/// A call tree as a flame graph.
#[derive(Clone)]
pub struct FlamePlot<'a> {
    /// The tree.
    pub tree: &'a CallTree,
    /// Labels of its nodes.
    pub table: &'a GroupTable,
    /// Keys of its nodes.
    pub keys: &'a NodeKeys,
    /// Colours of its boxes.
    pub colours: BoxColours<'a>,
    /// Whether a node's children are its callers.
    pub callers_below: bool,
    /// The direction in which the tree grows.
    pub shape: Shape,
    /// Node that fills the width.
    pub focus: u32,
}

/// The positions of the boxes.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) room: Area,
    pub(super) scene: FlameScene,
}

impl FlamePlot<'_> {
    fn scene(&self, width_px: u32, style: &Style<'_>) -> FlameScene {
        let width_css = f64::from(width_px) / style.pixel_ratio;
        let tree = (self.tree, self.callers_below);
        let (keys, table) = (self.keys, self.table);
        let shown = Shown {
            focus: self.focus,
            marked: None,
            width_px: width_css,
        };
        FlameScene::new(tree, keys, table, self.colours, shown)
    }
}

impl Content for FlamePlot<'_> {
    type Layout = Layout;

    fn layout(&self, room: &Area, style: &Style<'_>, _is_vector: bool) -> Layout {
        Layout {
            room: *room,
            scene: self.scene(room.width_px, style),
        }
    }

    fn draw_below(&self, scene: &mut Scene, layout: &Layout, style: &Style<'_>) {
        draw_flame(scene, &layout.room, &layout.scene, self.shape, style);
    }

    fn height_px(&self, width_px: u32, _usual_px: u32, style: &Style<'_>) -> u32 {
        height_px(&self.scene(width_px, style), style)
    }
}

/// Height of all rows, device px.
pub(super) fn height_px(scene: &FlameScene, style: &Style<'_>) -> u32 {
    style.px(f64::from(scene.rows) * ROW_CSS).max(0) as u32
}

/// Draws as many rows as fit, from the root on, and a note with the number of rows left out.
pub(super) fn draw_flame(
    scene: &mut Scene,
    room: &Area,
    flame: &FlameScene,
    shape: Shape,
    style: &Style<'_>,
) {
    let height_css = f64::from(room.height_px) / style.pixel_ratio;
    let fitting = (height_css / ROW_CSS) as u32;
    if flame.rows <= fitting {
        // A flame's root is at the bottom.
        let above = match shape {
            Shape::Icicle => 0.0,
            Shape::Flame => f64::from(flame.rows) * ROW_CSS - height_css,
        };
        return draw(scene, room, flame, shape, above, style);
    }
    let shown = fitting.saturating_sub(1);
    let cut = FlameScene {
        cells: (flame.cells.iter().filter(|cell| cell.row < shown).cloned()).collect(),
        rows: shown,
        width_px: flame.width_px,
    };
    let (above, y, down) = match shape {
        Shape::Icicle => (0.0, height_css, Down::Bottom),
        Shape::Flame => (f64::from(shown) * ROW_CSS - height_css, 0.0, Down::Top),
    };
    draw(scene, room, &cut, shape, above, style);
    let further = Count(u64::from(flame.rows - shown));
    let words = format!("{further} further rows have no room: a higher picture shows them");
    let words = cut_end(&words, |words| {
        style.width_px(words, LETTER_CSS, false) <= f64::from(room.width_px)
    });
    let letters = style.letters(LETTER_CSS, style.theme.muted_text, (Across::Left, down));
    let at = (f64::from(room.x_px), f64::from(room.y_px + style.px(y)));
    scene.text(at, words, letters);
}
