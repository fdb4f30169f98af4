//! Scenes on the page's canvases.

use std::cell::Cell;

use vramscope_protocol::ThemeName;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::{PlotArea, context_2d, css_colour};
use vramscope_view::colour::Rgb;
use vramscope_view::scene::{Across, Command, Down, Ink, Letters, Measure, Point, Scene, Style};
use vramscope_view::theme::Theme;

/// The font of all pictures, as a CSS font family.
pub(crate) const FONT: &str = "system-ui, sans-serif";

/// Draws on a canvas, and measures texts as the browser writes them.
#[derive(Debug)]
struct Pen<'a> {
    context: &'a CanvasRenderingContext2d,
    set: Cell<Set>,
}

/// What is set on a canvas, so that it is not set again: each text that goes to the browser takes its time, and a font makes
/// it work out the canvas's style.
#[derive(Clone, Copy, Debug, Default)]
struct Set {
    /// Size and boldness.
    font: Option<(f64, bool)>,
    anchor: Option<(Across, Down)>,
    fill: Option<Rgb>,
    opacity: Option<f64>,
}

impl Pen<'_> {
    /// Whether a value is another than the one that is set; sets it.
    fn changes<T: PartialEq>(&self, value: T, of: fn(&mut Set) -> &mut Option<T>) -> bool {
        let mut set = self.set.get();
        let slot = of(&mut set);
        let changes = slot.as_ref() != Some(&value);
        *slot = Some(value);
        self.set.set(set);
        changes
    }

    fn set_font(&self, size_px: f64, is_bold: bool) {
        if self.changes((size_px, is_bold), |set| &mut set.font) {
            let weight = if is_bold { "bold" } else { "normal" };
            let font = format!("{weight} {size_px}px {FONT}");
            self.context.set_font(&font);
        }
    }

    fn set_opacity(&self, opacity: f64) {
        if self.changes(opacity, |set| &mut set.opacity) {
            self.context.set_global_alpha(opacity);
        }
    }

    fn set_fill(&self, ink: Ink) {
        if self.changes(ink.rgb, |set| &mut set.fill) {
            self.context.set_fill_style_str(&css_colour(ink.rgb));
        }
        self.set_opacity(ink.opacity);
    }

    fn set_anchor(&self, anchor: (Across, Down)) {
        if !self.changes(anchor, |set| &mut set.anchor) {
            return;
        }
        self.context.set_text_align(match anchor.0 {
            Across::Left => "left",
            Across::Middle => "center",
            Across::Right => "right",
        });
        self.context.set_text_baseline(match anchor.1 {
            Down::Top => "top",
            Down::Middle => "middle",
            Down::Bottom => "bottom",
        });
    }
}

impl Measure for Pen<'_> {
    fn width_px(&self, text: &str, size_px: f64, is_bold: bool) -> f64 {
        self.set_font(size_px, is_bold);
        // Fails only without text.
        let size = self.context.measure_text(text);
        size.map_or(0.0, |size| size.width())
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
    let pen = Pen {
        context,
        set: Cell::default(),
    };
    let style = Style {
        theme: &Theme::of(theme),
        pixel_ratio: area.pixel_ratio,
        measure: &pen,
    };
    let mut scene = Scene::default();
    fill(&mut scene, &style);
    paint(&pen, &scene);
    pen.set_opacity(1.0);
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

fn paint(pen: &Pen<'_>, scene: &Scene) {
    let context = pen.context;
    for command in &scene.commands {
        match command {
            Command::Rect { at, size, ink } => {
                pen.set_fill(*ink);
                context.fill_rect(at.0, at.1, size.0, size.1);
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
                pen.set_opacity(ink.opacity);
                context.stroke();
            }
            Command::Polygon { points, ink } => {
                path(context, points, true);
                pen.set_fill(*ink);
                context.fill();
            }
            Command::Circle { at, radius_px, ink } => {
                context.begin_path();
                // Fails only for a negative radius.
                let _ = context.arc(at.0, at.1, *radius_px, 0.0, std::f64::consts::TAU);
                pen.set_fill(*ink);
                context.fill();
            }
            Command::Text { at, text, letters } => write(pen, *at, text, letters),
            Command::Clipped { area, scene } => {
                context.save();
                context.begin_path();
                let (x, y) = (f64::from(area.x_px), f64::from(area.y_px));
                context.rect(x, y, f64::from(area.width_px), f64::from(area.height_px));
                context.clip();
                let set = pen.set.get();
                paint(pen, scene);
                context.restore();
                pen.set.set(set);
            }
        }
    }
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

fn write(pen: &Pen<'_>, (x, y): Point, text: &str, letters: &Letters) {
    pen.set_font(letters.size_px, letters.is_bold);
    pen.set_anchor(letters.anchor);
    pen.set_fill(letters.ink);
    // Fails only without text.
    let _ = pen.context.fill_text(text, x, y);
}
