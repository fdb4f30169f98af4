//! Ticks, labels and grid of the timeline, on the page's canvas.

use plotters::prelude::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use web_sys::HtmlCanvasElement;

use super::PlotArea;
use crate::protocol::{DrawRequest, Picture};
use vramscope_view::chart::{Area, Style, draw_axes, draw_x_axis};
use vramscope_view::theme::Theme;

/// Draws the axes of a viewport. The canvas must be empty.
pub(super) fn draw(canvas: &HtmlCanvasElement, area: &PlotArea, wanted: &DrawRequest) {
    let Some(backend) = CanvasBackend::with_canvas_object(canvas.clone()) else {
        return;
    };
    let ((left, top), (width_px, height_px)) = (area.origin_px(), area.size_px());
    let place = Area {
        x_px: left as i32,
        y_px: top as i32,
        width_px,
        height_px,
    };
    let style = Style {
        theme: &Theme::of(wanted.look.theme),
        font: "system-ui, sans-serif",
        pixel_ratio: area.pixel_ratio,
    };
    let root = backend.into_drawing_area();
    let (viewport, unit) = (&wanted.viewport, wanted.look.axis);
    // A canvas without room for labels is left as it is.
    let _ = match wanted.look.picture {
        // Its lanes are labelled by the page.
        Picture::Map => draw_x_axis(&root, &place, viewport, unit, &style),
        Picture::Timeline | Picture::Segments | Picture::Packing => {
            draw_axes(&root, &place, viewport, unit, &style)
        }
    };
}
