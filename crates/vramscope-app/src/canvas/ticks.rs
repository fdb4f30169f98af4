//! The axes of a picture.

use vramscope_protocol::{DrawRequest, Picture};
use vramscope_view::chart::{draw_axes, draw_x_axis, draw_y_axis};
use vramscope_view::scene::{Scene, Style};

use super::PlotArea;

/// Ticks, labels and grid of a picture.
pub(super) fn draw_ticks(
    scene: &mut Scene,
    area: &PlotArea,
    wanted: &DrawRequest,
    style: &Style<'_>,
) {
    let (place, viewport, unit) = (area.picture(), &wanted.viewport, wanted.look.axis);
    let has_x_axis = !wanted.look.is_state;
    match wanted.look.picture {
        // The page labels the map's lanes.
        Picture::Map if !has_x_axis => {}
        Picture::Map => draw_x_axis(scene, &place, viewport, unit, style),
        _ if !has_x_axis => draw_y_axis(scene, &place, viewport, style),
        Picture::Timeline | Picture::Segments | Picture::Packing => {
            draw_axes(scene, &place, viewport, unit, style);
        }
    }
}
