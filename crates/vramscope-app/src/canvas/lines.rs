//! Over the picture: reserved memory, the device's capacity, private pools, rulers.

use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::{PlotArea, context_2d, css_colour};
use crate::protocol::views::lanes::{Shown, ShownPool};
use crate::protocol::{Axis, ThemeName};
use vramscope_core::units::Bytes;
use vramscope_view::colour::{Rgb, ordinal_colour};
use vramscope_view::reserved::Curve;
use vramscope_view::ruler::Ruler;
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

/// Size of words on the picture, css px.
const FONT_CSS: f64 = 11.0;
/// About how long a pool's name is, css px.
const NAME_CSS: f64 = 230.0;

/// What is drawn, and how.
pub(crate) struct LinesPicture<'a> {
    /// What the worker found; for this part of the x axis or another one.
    pub(crate) shown: Option<&'a Shown>,
    /// The device's capacity, if it is to be shown.
    pub(crate) capacity_bytes: Option<u64>,
    /// All rulers, the one being drawn included.
    pub(crate) rulers: &'a [Ruler],
    /// What the picture shows.
    pub(crate) view: Viewport,
    /// The x axis.
    pub(crate) axis: Axis,
    /// Light or dark.
    pub(crate) theme: ThemeName,
}

impl LinesPicture<'_> {
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
        let ((left, top), size) = (area.origin_px(), area.size_px());
        context.save();
        context.begin_path();
        let (left, top) = (f64::from(left), f64::from(top));
        context.rect(left, top, f64::from(size.0), f64::from(size.1));
        context.clip();
        let _ = context.translate(left, top);
        let theme = Theme::of(self.theme);
        context.set_font(&format!(
            "{}px system-ui, sans-serif",
            FONT_CSS * area.pixel_ratio
        ));
        if let Some(shown) = self.shown {
            for pool in &shown.pools {
                self.draw_pool(&context, &shown.reserved, pool, area.pixel_ratio, &theme);
            }
            self.draw_reserved(&context, &shown.reserved, area.pixel_ratio, &theme);
        }
        if let Some(bytes) = self.capacity_bytes {
            self.draw_capacity(&context, bytes, area.pixel_ratio, &theme);
        }
        for ruler in self.rulers {
            self.draw_ruler(&context, ruler, area.pixel_ratio, &theme);
        }
        context.restore();
    }

    /// Adds `values` to the path as steps, from left to right or back.
    fn steps(&self, context: &CanvasRenderingContext2d, x: (f64, f64), values: &[u64], back: bool) {
        let width = (x.1 - x.0) / values.len().max(1) as f64;
        let point = |column: usize, bytes: u64| {
            let at = self.view.x_px(x.0 + width * column as f64);
            context.line_to(at, self.view.y_px(bytes as f64));
        };
        let mut column = 0;
        // Equal neighbours are one step.
        let runs: Vec<(usize, usize, u64)> = values
            .chunk_by(|a, b| a == b)
            .map(|run| {
                let first = column;
                column += run.len();
                (first, column, run[0])
            })
            .collect();
        if back {
            for &(first, end, bytes) in runs.iter().rev() {
                point(end, bytes);
                point(first, bytes);
            }
        } else {
            for &(first, end, bytes) in &runs {
                point(first, bytes);
                point(end, bytes);
            }
        }
    }

    fn draw_reserved(
        &self,
        context: &CanvasRenderingContext2d,
        curve: &Curve,
        ratio: f64,
        theme: &Theme,
    ) {
        if curve.bytes.is_empty() {
            return;
        }
        context.begin_path();
        self.steps(context, (curve.x_min, curve.x_max), &curve.bytes, false);
        context.set_stroke_style_str(&css_colour(theme.reserved));
        context.set_line_width(1.5 * ratio);
        context.stroke();
        let last = curve.bytes.last().copied().unwrap_or(0);
        self.words(context, "reserved", last, (theme.reserved, "right"), ratio);
    }

    fn draw_capacity(
        &self,
        context: &CanvasRenderingContext2d,
        bytes: u64,
        ratio: f64,
        theme: &Theme,
    ) {
        let y = self.view.y_px(bytes as f64).round();
        context.set_fill_style_str(&css_colour(theme.capacity));
        context.fill_rect(
            0.0,
            y,
            f64::from(self.view.width_px),
            ratio.round().max(1.0),
        );
        let words = format!("capacity {}", Bytes(bytes));
        // On the left: what failed stands where the recording ends, more often than not.
        self.words(context, &words, bytes, (theme.capacity, "left"), ratio);
    }

    /// Words at the left or right end of a line, above it, where it is in sight.
    fn words(
        &self,
        context: &CanvasRenderingContext2d,
        words: &str,
        bytes: u64,
        (colour, side): (Rgb, &str),
        ratio: f64,
    ) {
        let y = self.view.y_px(bytes as f64);
        if !(0.0..=f64::from(self.view.height_px)).contains(&y) {
            return;
        }
        let below = y < 16.0 * ratio;
        context.set_text_align(side);
        context.set_text_baseline(if below { "top" } else { "bottom" });
        context.set_fill_style_str(&css_colour(colour));
        let y = if below {
            y + 3.0 * ratio
        } else {
            y - 2.0 * ratio
        };
        let air = 4.0 * ratio;
        let x = match side {
            "left" => air,
            _ => f64::from(self.view.width_px) - air,
        };
        let _ = context.fill_text(words, x, y);
    }

    fn draw_pool(
        &self,
        context: &CanvasRenderingContext2d,
        curve: &Curve,
        pool: &ShownPool,
        ratio: f64,
        theme: &Theme,
    ) {
        let x = (curve.x_min, curve.x_max);
        context.begin_path();
        self.steps(context, x, &pool.envelope.high_bytes, false);
        self.steps(context, x, &pool.envelope.low_bytes, true);
        context.close_path();
        let colour = css_colour(ordinal_colour(theme, pool.ordinal));
        context.set_fill_style_str(&colour);
        context.set_global_alpha(0.22);
        context.fill();
        context.set_global_alpha(1.0);
        context.set_stroke_style_str(&colour);
        context.set_line_width(ratio);
        context.stroke();
        self.name_pool(context, pool, ratio, theme);
    }

    /// The pool's name at the right end of its envelope, where that is high enough.
    fn name_pool(
        &self,
        context: &CanvasRenderingContext2d,
        pool: &ShownPool,
        ratio: f64,
        theme: &Theme,
    ) {
        let least_px = 15.0 * ratio;
        let place = pool
            .envelope
            .label_y_px(&self.view, NAME_CSS * ratio, least_px);
        let Some(middle) = place else { return };
        context.set_text_align("right");
        context.set_text_baseline("middle");
        context.set_fill_style_str(&css_colour(theme.text));
        let right = f64::from(self.view.width_px) - 4.0 * ratio;
        let _ = context.fill_text(&pool.text(), right, middle);
    }

    fn draw_ruler(
        &self,
        context: &CanvasRenderingContext2d,
        ruler: &Ruler,
        ratio: f64,
        theme: &Theme,
    ) {
        let (x0, x1) = (self.view.x_px(ruler.x.0), self.view.x_px(ruler.x.1));
        let (y0, y1) = (self.view.y_px(ruler.bytes.0), self.view.y_px(ruler.bytes.1));
        let accent = css_colour(theme.accent);
        context.set_stroke_style_str(&accent);
        context.set_fill_style_str(&accent);
        context.set_line_width(ratio);
        context.set_global_alpha(0.08);
        context.fill_rect(x0.min(x1), y0.min(y1), (x1 - x0).abs(), (y1 - y0).abs());
        context.set_global_alpha(1.0);
        context.stroke_rect(x0.min(x1), y0.min(y1), (x1 - x0).abs(), (y1 - y0).abs());
        let (bytes, along) = ruler.words(self.axis);
        let text = format!("{bytes} · {along}");
        let width = context
            .measure_text(&text)
            .map_or(160.0, |size| size.width())
            + 10.0 * ratio;
        let height = 18.0 * ratio;
        // At the end that moves, inside the picture.
        let room = (
            f64::from(self.view.width_px),
            f64::from(self.view.height_px),
        );
        let left = (x1 + 6.0 * ratio).clamp(0.0, (room.0 - width).max(0.0));
        let top = (y1 - height - 6.0 * ratio).clamp(0.0, (room.1 - height).max(0.0));
        context.set_fill_style_str(&css_colour(theme.background));
        context.fill_rect(left, top, width, height);
        context.stroke_rect(left, top, width, height);
        context.set_text_align("left");
        context.set_text_baseline("middle");
        context.set_fill_style_str(&css_colour(theme.text));
        let _ = context.fill_text(&text, left + 5.0 * ratio, top + height / 2.0 + ratio);
    }
}
