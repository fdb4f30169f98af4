//! Scenes on the page's canvases.

use vramscope_protocol::ThemeName;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::{PlotArea, context_2d, css_colour};
use vramscope_view::scene::{Across, Command, Down, Ink, Letters, Measure, Point, Scene, Style};
use vramscope_view::theme::Theme;

/// The font of all pictures, as a CSS font family.
pub(crate) const FONT: &str = "system-ui, sans-serif";

/// Measures texts as the browser writes them.
#[derive(Debug)]
struct Measured<'a>(&'a CanvasRenderingContext2d);

impl Measure for Measured<'_> {
    fn width_px(&self, text: &str, size_px: f64, is_bold: bool) -> f64 {
        self.0.set_font(&font(size_px, is_bold));
        // Fails only without text.
        self.0.measure_text(text).map_or(0.0, |size| size.width())
    }
}

/// Replaces a canvas's contents by a scene of the size of the area's box, which `fill` fills.
pub(crate) fn draw_scene(
    canvas: &HtmlCanvasElement,
    area: &PlotArea,
    theme: ThemeName,
    fill: impl FnOnce(&mut Scene, &Style<'_>),
) {
    if let Some(context) = emptied(canvas, area.box_px()) {
        add_scene(&context, area, theme, fill);
    }
}

/// Draws a scene of the size of the area's box, which `fill` fills, over what a canvas has.
pub(super) fn add_scene(
    context: &CanvasRenderingContext2d,
    area: &PlotArea,
    theme: ThemeName,
    fill: impl FnOnce(&mut Scene, &Style<'_>),
) {
    let style = Style {
        theme: &Theme::of(theme),
        pixel_ratio: area.pixel_ratio,
        measure: &Measured(context),
    };
    let mut scene = Scene::default();
    fill(&mut scene, &style);
    paint(context, &scene);
}

/// Clears a canvas, sets its size in device px, and returns its context.
pub(super) fn emptied(
    canvas: &HtmlCanvasElement,
    (width_px, height_px): (u32, u32),
) -> Option<CanvasRenderingContext2d> {
    let context = context_2d(canvas)?;
    if (canvas.width(), canvas.height()) == (width_px, height_px) {
        context.clear_rect(0.0, 0.0, f64::from(width_px), f64::from(height_px));
    } else {
        // A new size empties a canvas.
        canvas.set_width(width_px);
        canvas.set_height(height_px);
    }
    Some(context)
}

fn paint(context: &CanvasRenderingContext2d, scene: &Scene) {
    for command in &scene.commands {
        match command {
            Command::Rect { at, size, ink } => {
                fill_with(context, *ink, || {
                    context.fill_rect(at.0, at.1, size.0, size.1);
                });
            }
            Command::Line {
                points,
                is_closed,
                width_px,
                ink,
            } => {
                path(context, points, *is_closed);
                context.set_stroke_style_str(&css_colour(ink.rgb));
                context.set_line_width(*width_px);
                context.set_global_alpha(ink.opacity);
                context.stroke();
                context.set_global_alpha(1.0);
            }
            Command::Polygon { points, ink } => {
                path(context, points, true);
                fill_with(context, *ink, || context.fill());
            }
            Command::Circle { at, radius_px, ink } => {
                context.begin_path();
                // Fails only for a negative radius.
                let _ = context.arc(at.0, at.1, *radius_px, 0.0, std::f64::consts::TAU);
                fill_with(context, *ink, || context.fill());
            }
            Command::Text { at, text, letters } => write(context, *at, text, letters),
            Command::Clipped { area, scene } => {
                context.save();
                context.begin_path();
                let (x, y) = (f64::from(area.x_px), f64::from(area.y_px));
                context.rect(x, y, f64::from(area.width_px), f64::from(area.height_px));
                context.clip();
                paint(context, scene);
                context.restore();
            }
        }
    }
}

fn fill_with(context: &CanvasRenderingContext2d, ink: Ink, fill: impl FnOnce()) {
    context.set_fill_style_str(&css_colour(ink.rgb));
    context.set_global_alpha(ink.opacity);
    fill();
    context.set_global_alpha(1.0);
}

fn path(context: &CanvasRenderingContext2d, points: &[Point], is_closed: bool) {
    context.begin_path();
    for &(x, y) in points {
        context.line_to(x, y);
    }
    if is_closed {
        context.close_path();
    }
}

fn write(context: &CanvasRenderingContext2d, (x, y): Point, text: &str, letters: &Letters) {
    context.set_font(&font(letters.size_px, letters.is_bold));
    context.set_text_align(match letters.anchor.0 {
        Across::Left => "left",
        Across::Middle => "center",
        Across::Right => "right",
    });
    context.set_text_baseline(match letters.anchor.1 {
        Down::Top => "top",
        Down::Middle => "middle",
        Down::Bottom => "bottom",
    });
    fill_with(context, letters.ink, || {
        // Fails only without text.
        let _ = context.fill_text(text, x, y);
    });
}

fn font(size_px: f64, is_bold: bool) -> String {
    let weight = if is_bold { "bold" } else { "normal" };
    format!("{weight} {size_px}px {FONT}")
}
