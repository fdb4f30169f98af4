//! A flame graph: whose calls memory comes from.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use vramscope_core::analysis::call_tree::CallTree;
use vramscope_core::analysis::frame_groups::GroupTable;
use vramscope_core::units::Count;

use super::{Content, text};
use crate::chart::{Area, ChartError, Style};
use crate::flame::picture::draw;
use crate::flame::{FlameScene, GroupColours, NodeKeys, ROW_CSS, Shape};

/// Size of letters, css px.
const LETTER_CSS: f64 = 11.0;

/// A call tree as a flame graph.
#[derive(Clone)]
pub struct FlamePlot<'a> {
    /// The tree.
    pub tree: &'a CallTree,
    /// What its nodes are called.
    pub table: &'a GroupTable,
    /// In which colours.
    pub colours: &'a GroupColours,
    /// Which way up.
    pub shape: Shape,
}

/// Where things are.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) room: Area,
    pub(super) scene: FlameScene,
}

impl FlamePlot<'_> {
    fn scene(&self, width_px: u32, style: &Style<'_>) -> FlameScene {
        let keys = NodeKeys::of(self.tree, self.table);
        let width_css = f64::from(width_px) / style.pixel_ratio;
        FlameScene::new(self.tree, &keys, self.table, self.colours, 0, width_css)
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

    fn draw_below<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        layout: &Layout,
        style: &Style<'_>,
    ) -> Result<(), ChartError<DB>> {
        draw_scene(root, &layout.room, &layout.scene, self.shape, style)
    }

    fn height_px(&self, width_px: u32, _usual_px: u32, style: &Style<'_>) -> u32 {
        height_px(&self.scene(width_px, style), style)
    }
}

/// The height of all rows, device px.
pub(super) fn height_px(scene: &FlameScene, style: &Style<'_>) -> u32 {
    style.px(f64::from(scene.rows) * ROW_CSS).max(0) as u32
}

/// Draws as many rows as the room has, from the root on, and says how many there are further.
pub(super) fn draw_scene<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    room: &Area,
    scene: &FlameScene,
    shape: Shape,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let at = (room.x_px, room.y_px);
    let own = root
        .clone()
        .shrink(at, (room.width_px as i32, room.height_px as i32));
    let height_css = f64::from(room.height_px) / style.pixel_ratio;
    let fitting = (height_css / ROW_CSS) as u32;
    if scene.rows <= fitting {
        // A flame stands on the ground.
        let above = match shape {
            Shape::Icicle => 0.0,
            Shape::Flame => f64::from(scene.rows) * ROW_CSS - height_css,
        };
        return draw(&own, scene, shape, above, height_css, style);
    }
    let shown = fitting.saturating_sub(1);
    let cut = FlameScene {
        cells: (scene.cells.iter().filter(|cell| cell.row < shown).cloned()).collect(),
        rows: shown,
        width_px: scene.width_px,
    };
    let (above, y, vertical) = match shape {
        Shape::Icicle => (0.0, height_css, VPos::Bottom),
        Shape::Flame => (f64::from(shown) * ROW_CSS - height_css, 0.0, VPos::Top),
    };
    draw(&own, &cut, shape, above, height_css, style)?;
    let further = Count(u64::from(scene.rows - shown));
    let words = format!("{further} further rows have no room: a higher picture shows them");
    let words = text::cut_end(&words, |words| {
        text::width_px(words, LETTER_CSS, false, style) <= f64::from(room.width_px)
    });
    let pos = Pos::new(HPos::Left, vertical);
    let ink = style.text(LETTER_CSS, style.theme.muted_text, pos);
    own.draw(&Text::new(words, (0, style.px(y)), ink))
}
