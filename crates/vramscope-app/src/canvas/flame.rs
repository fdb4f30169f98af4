//! A flame graph on a canvas of its own.

use plotters::prelude::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use web_sys::HtmlCanvasElement;

use super::{PlotArea, context_2d};
use crate::protocol::ThemeName;
use vramscope_view::chart::Style;
use vramscope_view::flame::picture::draw;
use vramscope_view::flame::{FlameScene, Shape};
use vramscope_view::theme::Theme;

/// Draws what of a scene lies in a box of this size, from `scroll_css` below the scene's top on.
pub(crate) fn draw_flame(
    canvas: &HtmlCanvasElement,
    area: &PlotArea,
    scene: &FlameScene,
    shape: Shape,
    scroll_css: f64,
    theme: ThemeName,
) {
    let (width_px, height_px) = area.box_px();
    if (canvas.width(), canvas.height()) == (width_px, height_px) {
        if let Some(context) = context_2d(canvas) {
            context.clear_rect(0.0, 0.0, f64::from(width_px), f64::from(height_px));
        }
    } else {
        canvas.set_width(width_px);
        canvas.set_height(height_px);
    }
    let Some(backend) = CanvasBackend::with_canvas_object(canvas.clone()) else {
        return;
    };
    let style = Style {
        theme: &Theme::of(theme),
        font: "system-ui, sans-serif",
        pixel_ratio: area.pixel_ratio,
    };
    // The page's canvas takes whatever is drawn.
    let _ = draw(
        &backend.into_drawing_area(),
        scene,
        shape,
        scroll_css,
        area.box_height_css,
        &style,
    );
}
