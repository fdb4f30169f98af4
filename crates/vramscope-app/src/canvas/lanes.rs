//! Lanes and marks above a picture, on the page's canvas.

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::{PlotArea, context_2d, css_colour};
use crate::protocol::ThemeName;
use crate::protocol::views::lanes::{Shown, ShownItem};
use vramscope_view::lanes::{LaneLayout, LayoutRow, Place, drawn_px, elided, lane_fill};
use vramscope_view::marks::{self, Mark, SYMBOL_CSS, TRACK_CSS, track};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

/// Height of a letter's line in a row, css px.
const FONT_CSS: f64 = 11.0;

/// What is drawn, and how.
pub(crate) struct LanesPicture<'a> {
    /// What the worker found; for this part of the x axis or another one.
    pub(crate) shown: &'a Shown,
    /// Where lanes lie.
    pub(crate) layout: &'a LaneLayout,
    /// Upper edges of the two tracks of marks, css px; `None` = there is none of these.
    pub(crate) tracks: [Option<f64>; 2],
    /// The part of the x axis; as wide as the picture, device px.
    pub(crate) view: Viewport,
    /// Light or dark.
    pub(crate) theme: ThemeName,
    /// The item under the pointer.
    pub(crate) hovered: Option<Place>,
    /// The mark under the pointer.
    pub(crate) hovered_mark: Option<usize>,
}

impl LanesPicture<'_> {
    /// Draws it, sizing the canvas to `area`.
    pub(crate) fn draw(&self, canvas: &HtmlCanvasElement, area: &PlotArea) {
        let (width, height) = area.box_px();
        if canvas.width() != width || canvas.height() != height {
            canvas.set_width(width);
            canvas.set_height(height);
        }
        let Some(context) = context_2d(canvas) else {
            return;
        };
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
        context.save();
        let left = f64::from(area.origin_px().0);
        context.begin_path();
        context.rect(left, 0.0, f64::from(area.size_px().0), f64::from(height));
        context.clip();
        let _ = context.translate(left, 0.0);
        let theme = Theme::of(self.theme);
        context.set_font(&format!(
            "{}px system-ui, sans-serif",
            FONT_CSS * area.pixel_ratio
        ));
        context.set_text_baseline("middle");
        for row in &self.layout.rows {
            self.draw_row(&context, row, area.pixel_ratio, &theme);
        }
        for (place, mark) in self.shown.marks.iter().enumerate().rev() {
            if let Some(top) = self.tracks[track(mark.kind)] {
                let is_hovered = self.hovered_mark == Some(place);
                let x = self.view.x_px(mark.x);
                draw_mark(
                    &context,
                    mark,
                    (x, top),
                    area.pixel_ratio,
                    &theme,
                    is_hovered,
                );
            }
        }
        context.restore();
    }

    fn draw_row(
        &self,
        context: &CanvasRenderingContext2d,
        row: &LayoutRow,
        ratio: f64,
        theme: &Theme,
    ) {
        let items = self
            .shown
            .lanes
            .get(row.lane)
            .and_then(|lane| lane.rows.get(row.row));
        for (place, item) in items.into_iter().flatten().enumerate() {
            let at = Place {
                lane: row.lane,
                row: row.row,
                item: place,
            };
            self.draw_item(context, row, item, ratio, theme, self.hovered == Some(at));
        }
    }

    fn draw_item(
        &self,
        context: &CanvasRenderingContext2d,
        row: &LayoutRow,
        shown: &ShownItem,
        ratio: f64,
        theme: &Theme,
        is_hovered: bool,
    ) {
        let (from, to) = drawn_px(&shown.item, &self.view, ratio);
        let top = (row.top_css * ratio).round();
        let height = ((row.height_css - 1.0) * ratio).round();
        let (fill, line) = lane_fill(theme, &shown.name);
        context.set_fill_style_str(&css_colour(fill));
        context.fill_rect(from, top, to - from, height);
        context.set_fill_style_str(&css_colour(line));
        let edge = (2.0 * ratio).round().min(to - from);
        if shown.item.count > 1 {
            // Several: a line along the bottom, as they have no single beginning.
            context.fill_rect(from, top + height - edge, to - from, edge);
        } else {
            context.fill_rect(from, top, edge, height);
        }
        if is_hovered {
            context.set_stroke_style_str(&css_colour(theme.text));
            context.set_line_width(ratio);
            context.stroke_rect(from + 0.5, top + 0.5, to - from - 1.0, height - 1.0);
        }
        if self.layout.is_folded {
            return;
        }
        // The label stays in sight while its range reaches out of the picture.
        let (start, end) = (from.max(0.0), to.min(f64::from(self.view.width_px)));
        if let Some(label) = elided(&shown.text(), (end - start) / ratio) {
            context.set_fill_style_str(&css_colour(theme.text));
            let _ = context.fill_text(
                &label,
                start + 5.0 * ratio,
                top + height / 2.0 + 0.5 * ratio,
            );
        }
    }
}

fn draw_mark(
    context: &CanvasRenderingContext2d,
    mark: &Mark,
    (x, top_css): (f64, f64),
    ratio: f64,
    theme: &Theme,
    is_hovered: bool,
) {
    let middle = (top_css + TRACK_CSS / 2.0) * ratio;
    let grown = if mark.count > 1 || is_hovered {
        1.15
    } else {
        0.85
    };
    let half = SYMBOL_CSS * ratio * grown;
    let colour = marks::colour(theme, mark.kind);
    let colour = css_colour(if is_hovered { theme.accent } else { colour });
    context.set_fill_style_str(&colour);
    context.set_stroke_style_str(&colour);
    context.set_line_width(ratio.max(1.0));
    context.begin_path();
    polygon(context, &marks::symbol(mark.kind, (x, middle), half));
    if marks::is_hollow(mark.kind) {
        context.stroke();
    } else {
        context.fill();
    }
}

fn polygon(context: &CanvasRenderingContext2d, corners: &[(f64, f64)]) {
    for &(x, y) in corners {
        context.line_to(x, y);
    }
    context.close_path();
}
