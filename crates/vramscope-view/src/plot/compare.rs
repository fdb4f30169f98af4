//! Two sides compared: memory over time of both, and the differential flame graph.

use vramscope_core::analysis::compare::changes::ChangeTree;

use super::Content;
use super::flame::{Layout as FlameRoom, draw_flame, height_px};
use crate::change_flame::{self, ChangeUnit, FlameOptions, FlameWidth};
use crate::flame::{FlameScene, Shape};
use crate::scene::{Area, Scene, Style};
use crate::stacked_curves::{self, Row};

/// Height of the curves of one recording and of two, css px.
const ONE_ROW_CSS: f64 = 150.0;
const TWO_ROWS_CSS: f64 = 250.0;
/// The curves' largest share of the height.
const MOST_OF_HEIGHT: f64 = 0.45;
/// Gap between the curves and the flame graph, css px.
const GAP_CSS: f64 = 14.0;

/// The comparison of two sides.
#[derive(Clone, Debug)]
pub struct ComparePlot<'a> {
    /// The call tree with both sides' amounts.
    pub tree: &'a ChangeTree,
    /// The curves of their recordings: one row if both sides are moments of the same recording.
    pub rows: &'a [Row<'a>],
    /// The side, or the difference, shown by widths.
    pub width: FlameWidth,
    /// The unit of widths and colours.
    pub unit: ChangeUnit,
    /// Node that fills the width.
    pub focus: u32,
}

/// The positions of the parts.
#[derive(Clone, Debug)]
pub struct Layout {
    curves: Area,
    flame: FlameRoom,
}

impl ComparePlot<'_> {
    fn curves_css(&self) -> f64 {
        if self.rows.len() > 1 {
            TWO_ROWS_CSS
        } else {
            ONE_ROW_CSS
        }
    }

    fn scene(&self, width_px: u32, style: &Style<'_>) -> FlameScene {
        let options = FlameOptions {
            width: self.width,
            unit: self.unit,
            focus: self.focus,
            width_px: f64::from(width_px) / style.pixel_ratio,
        };
        let flame = change_flame::layout(self.tree, &options);
        let keys = change_flame::keys(self.tree);
        change_flame::scene(self.tree, &keys, &flame, &options, style.theme)
    }
}

impl Content for ComparePlot<'_> {
    type Layout = Layout;

    fn layout(&self, room: &Area, style: &Style<'_>, _is_vector: bool) -> Layout {
        let most = f64::from(room.height_px) * MOST_OF_HEIGHT;
        let height = style.px(self.curves_css()).min(most as i32).max(1);
        let below = height + style.px(GAP_CSS);
        let flame = Area {
            y_px: room.y_px + below,
            height_px: room.height_px.saturating_sub(below as u32).max(1),
            ..*room
        };
        Layout {
            curves: Area {
                height_px: height as u32,
                ..*room
            },
            flame: FlameRoom {
                room: flame,
                scene: self.scene(room.width_px, style),
            },
        }
    }

    fn draw_below(&self, scene: &mut Scene, layout: &Layout, style: &Style<'_>) {
        let Area {
            x_px,
            y_px,
            width_px,
            height_px,
        } = layout.curves;
        let size = (width_px, height_px);
        stacked_curves::draw(scene, (x_px, y_px), size, self.rows, style);
        let FlameRoom { room, scene: flame } = &layout.flame;
        draw_flame(scene, room, flame, Shape::Icicle, style);
    }

    fn height_px(&self, width_px: u32, _usual_px: u32, style: &Style<'_>) -> u32 {
        let curves = style.px(self.curves_css() + GAP_CSS).max(0) as u32;
        let flame = height_px(&self.scene(width_px, style), style);
        // In a lower picture, the curves would be limited to their share.
        let least = (f64::from(curves) / MOST_OF_HEIGHT).ceil() as u32;
        curves.saturating_add(flame).max(least)
    }
}
