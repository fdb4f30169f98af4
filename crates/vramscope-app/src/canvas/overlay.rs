//! The overlay of the picture: outlines of the hovered and the pinned band, crosshair, box.

use vramscope_protocol::{DrawRequest, OutlineColumns, ThemeName};
use web_sys::CanvasRenderingContext2d;

use super::{BoxCss, PlotArea, css_colour};
use vramscope_view::theme::Theme;

/// Width of the hover's outline, css px.
const HOVER_CSS: f64 = 1.0;
/// Width of the pin's outline, css px.
const PIN_CSS: f64 = 2.0;

/// The contents of the overlay.
pub(super) struct Overlay<'a> {
    pub(super) hover: Option<&'a OutlineColumns>,
    pub(super) pin: Option<&'a OutlineColumns>,
    /// The mouse's position in the box, css px; `None` outside.
    pub(super) pointer: Option<(f64, f64)>,
    pub(super) selection: Option<BoxCss>,
}

/// What the overlay's canvas shows.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) enum Shown {
    #[default]
    Nothing,
    /// What moves only with the mouse.
    Still(PlotArea, ThemeName, Option<(f64, f64)>, Option<BoxCss>),
    /// What moves along with the picture, too.
    Outlines,
}

impl Overlay<'_> {
    pub(super) fn shown(&self, area: PlotArea, theme: ThemeName) -> Shown {
        if self.hover.is_some() || self.pin.is_some() {
            Shown::Outlines
        } else if self.pointer.is_some() || self.selection.is_some() {
            Shown::Still(area, theme, self.pointer, self.selection)
        } else {
            Shown::Nothing
        }
    }

    /// Draws the overlay over a picture of `wanted`.
    pub(super) fn draw(
        &self,
        context: &CanvasRenderingContext2d,
        area: &PlotArea,
        wanted: &DrawRequest,
    ) {
        let theme = Theme::of(wanted.look.theme);
        let (left, top) = area.origin_px();
        let (width, height) = area.size_px();
        let (x, y, width, height) = (
            f64::from(left),
            f64::from(top),
            f64::from(width),
            f64::from(height),
        );
        context.save();
        context.begin_path();
        context.rect(x, y, width, height);
        context.clip();
        for (outline, width_css) in [(self.hover, HOVER_CSS), (self.pin, PIN_CSS)] {
            if let Some(outline) = outline {
                stroke_outline(
                    context,
                    outline,
                    wanted,
                    (x, y),
                    width_css * area.pixel_ratio,
                    &theme,
                );
            }
        }
        if let Some(at) = self.pointer.filter(|&at| area.contains(at)) {
            let (at_x, at_y) = area.to_px(at);
            context.set_fill_style_str(&css_colour(theme.axis));
            context.set_global_alpha(0.7);
            let thick = area.pixel_ratio.round().max(1.0);
            context.fill_rect((x + at_x).floor(), y, thick, height);
            context.fill_rect(x, (y + at_y).floor(), width, thick);
            context.set_global_alpha(1.0);
        }
        context.restore();
        if let Some(selection) = self.selection {
            draw_box(context, selection, area, &theme);
        }
    }
}

/// Strokes twice, dark and light, so that the line is visible on every colour.
fn stroke_outline(
    context: &CanvasRenderingContext2d,
    outline: &OutlineColumns,
    wanted: &DrawRequest,
    origin: (f64, f64),
    width_px: f64,
    theme: &Theme,
) {
    let (made, now) = (&outline.draw.viewport, &wanted.viewport);
    context.begin_path();
    for &(x, y) in &outline.points_px {
        let x = now
            .x_px(made.x_at(x))
            .clamp(-4.0, f64::from(now.width_px) + 4.0);
        let y = now
            .y_px(made.bytes_at(y))
            .clamp(-4.0, f64::from(now.height_px) + 4.0);
        context.line_to(origin.0 + x, origin.1 + y);
    }
    context.close_path();
    context.set_line_join("round");
    for (colour, extra) in [(theme.background, 2.0), (theme.text, 0.0)] {
        context.set_stroke_style_str(&css_colour(colour));
        context.set_line_width(width_px + extra);
        context.stroke();
    }
}

fn draw_box(context: &CanvasRenderingContext2d, selection: BoxCss, area: &PlotArea, theme: &Theme) {
    let ratio = area.pixel_ratio;
    let (x0, x1) = (
        selection.from.0.min(selection.to.0) * ratio,
        selection.from.0.max(selection.to.0) * ratio,
    );
    let (y0, y1) = (
        selection.from.1.min(selection.to.1) * ratio,
        selection.from.1.max(selection.to.1) * ratio,
    );
    let accent = css_colour(theme.accent);
    context.set_fill_style_str(&accent);
    context.set_global_alpha(0.15);
    context.fill_rect(x0, y0, x1 - x0, y1 - y0);
    context.set_global_alpha(1.0);
    context.set_stroke_style_str(&accent);
    context.set_line_width(ratio);
    context.stroke_rect(x0, y0, x1 - x0, y1 - y0);
}
