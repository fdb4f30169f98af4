//! Ticks, labels and grid of the timeline, drawn by plotters.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters_canvas::CanvasBackend;
use web_sys::HtmlCanvasElement;

use super::PlotArea;
use crate::protocol::DrawRequest;
use vramscope_view::axes::{x_ticks, y_ticks};
use vramscope_view::theme::Theme;

/// Size of the labels, css px.
const LABEL_CSS: f64 = 11.0;
/// Length of a tick, css px.
const TICK_CSS: f64 = 4.0;
/// Least distance of two labels along x, css px: room for `1,234,567,890` and air.
const X_LABEL_CSS: f64 = 110.0;
/// The same along y.
const Y_LABEL_CSS: f64 = 44.0;

/// Draws the axes of a viewport. The canvas must be empty.
pub(super) fn draw(canvas: &HtmlCanvasElement, area: &PlotArea, wanted: &DrawRequest) {
    let Some(backend) = CanvasBackend::with_canvas_object(canvas.clone()) else {
        return;
    };
    let root = backend.into_drawing_area();
    // A canvas without room for labels is left as it is.
    let _ = Axes {
        area,
        wanted,
        theme: Theme::of(wanted.look.theme),
    }
    .draw(&root);
}

struct Axes<'a> {
    area: &'a PlotArea,
    wanted: &'a DrawRequest,
    theme: Theme,
}

type Root = DrawingArea<CanvasBackend, plotters::coord::Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Axes<'_> {
    fn draw(&self, root: &Root) -> Drawn {
        let (left, top) = self.area.origin_px();
        let (width, height) = self.area.size_px();
        let (x0, y0) = (left as i32, top as i32);
        let (x1, y1) = (x0 + width as i32, y0 + height as i32);
        let tick = self.px(TICK_CSS) as i32;
        let view = &self.wanted.viewport;
        let most = |px: u32, label_css: f64| (f64::from(px) / self.px(label_css)) as usize;
        for tick_at in y_ticks(view, most(height, Y_LABEL_CSS)) {
            let y = y0 + view.y_px(tick_at.at).round() as i32;
            self.line(root, [(x0, y), (x1, y)], self.theme.grid)?;
            self.line(root, [(x0 - tick, y), (x0, y)], self.theme.axis)?;
            self.label(
                root,
                &tick_at.label,
                (x0 - tick - tick / 2, y),
                Pos::new(HPos::Right, VPos::Center),
            )?;
        }
        for tick_at in x_ticks(view, self.wanted.look.axis, most(width, X_LABEL_CSS)) {
            let x = x0 + view.x_px(tick_at.at).round() as i32;
            self.line(root, [(x, y0), (x, y1)], self.theme.grid)?;
            self.line(root, [(x, y1), (x, y1 + tick)], self.theme.axis)?;
            // A label in the middle of its tick would be cut off at the box's right end.
            let is_last = x + self.px(X_LABEL_CSS / 3.0) as i32 > x1;
            let (x, side) = if is_last {
                (x1 + tick, HPos::Right)
            } else {
                (x, HPos::Center)
            };
            self.label(
                root,
                &tick_at.label,
                (x, y1 + tick + tick / 2),
                Pos::new(side, VPos::Top),
            )?;
        }
        self.line(root, [(x0, y0), (x0, y1)], self.theme.axis)?;
        self.line(root, [(x0, y1), (x1, y1)], self.theme.axis)
    }

    fn px(&self, css: f64) -> f64 {
        css * self.area.pixel_ratio
    }

    fn line(&self, root: &Root, ends: [(i32, i32); 2], [r, g, b]: [u8; 3]) -> Drawn {
        let width = self.area.pixel_ratio.round().max(1.0) as u32;
        let style = ShapeStyle {
            color: RGBColor(r, g, b).into(),
            filled: false,
            stroke_width: width,
        };
        root.draw(&PathElement::new(ends.to_vec(), style))
            .map_err(Into::into)
    }

    fn label(&self, root: &Root, text: &str, at: (i32, i32), pos: Pos) -> Drawn {
        let [r, g, b] = self.theme.muted_text;
        let style = ("system-ui, sans-serif", self.px(LABEL_CSS))
            .into_font()
            .color(&RGBColor(r, g, b))
            .pos(pos);
        root.draw(&Text::new(text, at, style)).map_err(Into::into)
    }
}
