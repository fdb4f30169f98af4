//! Axes, grids and the overview's curves, drawn by plotters into scenes.

use crate::axes::{Tick, XUnit, x_ticks, y_ticks};
use crate::colour::Rgb;
use crate::scene::{Area, Scene, Style};
use crate::steps::steps;
use crate::viewport::Viewport;
use plotters::prelude::*;
use plotters::style::FontFamily;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Font size of the labels, css px.
const LABEL_CSS: f64 = 11.0;
/// Length of a tick, css px.
const TICK_CSS: f64 = 4.0;
/// Least distance of two labels along x, css px: enough for `1,234,567,890` and some space.
const X_LABEL_CSS: f64 = 110.0;
/// Least distance of two labels along y, css px.
const Y_LABEL_CSS: f64 = 44.0;

impl Style<'_> {
    /// A line `css` css px wide, and at least one device px.
    pub(crate) fn stroke(&self, colour: Rgb, css: f64) -> ShapeStyle {
        rgb(colour).stroke_width(self.px(css).max(1) as u32)
    }

    /// A text style of `css` css px. The painter chooses the font.
    pub(crate) fn chart_text(&self, css: f64, colour: Rgb, pos: Pos) -> TextStyle<'static> {
        // No font name, because lower-casing it would need a table of all letters.
        (FontFamily::SansSerif, css * self.pixel_ratio)
            .into_font()
            .color(&rgb(colour))
            .pos(pos)
    }
}

/// A colour in plotters' type.
pub(crate) fn rgb([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

/// Draws the grid within `area`, and axes and labels around it. `viewport` is the visible part of
/// the data.
pub fn draw_axes(
    scene: &mut Scene,
    area: &Area,
    viewport: &Viewport,
    unit: XUnit,
    style: &Style<'_>,
) {
    draw_y_axis(scene, area, viewport, style);
    draw_x_axis(scene, area, viewport, unit, style)
}

/// Draws the y axis of [`draw_axes`].
pub fn draw_y_axis(scene: &mut Scene, area: &Area, viewport: &Viewport, style: &Style<'_>) {
    let most = most_y_ticks(area.height_px, style.pixel_ratio);
    // The viewport may be that of a canvas of another size.
    let view = viewport.resized(area.width_px, area.height_px);
    for tick in &y_ticks(viewport, most) {
        let y = area.y_px + view.y_px(tick.at).round() as i32;
        draw_y_tick(scene, tick, y, area, style);
    }
    let ends = vec![(area.x_px, area.y_px), (area.x_px, area.bottom_px())];
    scene
        .chart()
        .draw(&PathElement::new(ends, style.stroke(style.theme.axis, 1.0)));
}

/// How many ticks of the y axis fit.
#[must_use]
pub fn most_y_ticks(height_px: u32, pixel_ratio: f64) -> usize {
    (f64::from(height_px) / (Y_LABEL_CSS * pixel_ratio)) as usize
}

/// Draws the x axis of [`draw_axes`].
pub fn draw_x_axis(
    scene: &mut Scene,
    area: &Area,
    viewport: &Viewport,
    unit: XUnit,
    style: &Style<'_>,
) {
    let ticks = x_ticks(viewport, unit, most_x_ticks(area, style));
    draw_x_ticks(scene, area, viewport, &ticks, style)
}

/// How many ticks of the x axis fit.
#[must_use]
pub fn most_x_ticks(area: &Area, style: &Style<'_>) -> usize {
    let most = f64::from(area.width_px) / (X_LABEL_CSS * style.pixel_ratio);
    most as usize
}

/// Draws the x axis with the given ticks.
pub fn draw_x_ticks(
    scene: &mut Scene,
    area: &Area,
    viewport: &Viewport,
    ticks: &[Tick],
    style: &Style<'_>,
) {
    let view = viewport.resized(area.width_px, area.height_px);
    for tick in ticks {
        let x = area.x_px + view.x_px(tick.at).round() as i32;
        draw_x_tick(scene, tick, x, area, style);
    }
    let ends = vec![
        (area.x_px, area.bottom_px()),
        (area.right_px(), area.bottom_px()),
    ];
    scene
        .chart()
        .draw(&PathElement::new(ends, style.stroke(style.theme.axis, 1.0)));
}

fn draw_y_tick(scene: &mut Scene, tick: &Tick, y: i32, area: &Area, style: &Style<'_>) {
    let (left, length) = (area.x_px, style.px(TICK_CSS));
    let grid = style.stroke(style.theme.grid, 1.0);
    scene.chart().draw(&PathElement::new(
        vec![(left, y), (area.right_px(), y)],
        grid,
    ));
    let axis = style.stroke(style.theme.axis, 1.0);
    scene
        .chart()
        .draw(&PathElement::new(vec![(left - length, y), (left, y)], axis));
    let text = style.chart_text(
        LABEL_CSS,
        style.theme.muted_text,
        Pos::new(HPos::Right, VPos::Center),
    );
    scene.chart().draw(&Text::new(
        tick.label.as_str(),
        (left - length - length / 2, y),
        text,
    ));
}

fn draw_x_tick(scene: &mut Scene, tick: &Tick, x: i32, area: &Area, style: &Style<'_>) {
    let (bottom, length) = (area.bottom_px(), style.px(TICK_CSS));
    let grid = style.stroke(style.theme.grid, 1.0);
    scene
        .chart()
        .draw(&PathElement::new(vec![(x, area.y_px), (x, bottom)], grid));
    let axis = style.stroke(style.theme.axis, 1.0);
    scene.chart().draw(&PathElement::new(
        vec![(x, bottom), (x, bottom + length)],
        axis,
    ));
    // A centred label would be cut off at the right edge.
    let is_last = x + style.px(X_LABEL_CSS / 3.0) > area.right_px();
    let (x, side) = if is_last {
        (area.right_px(), HPos::Right)
    } else {
        (x, HPos::Center)
    };
    let text = style.chart_text(LABEL_CSS, style.theme.muted_text, Pos::new(side, VPos::Top));
    scene.chart().draw(&Text::new(
        tick.label.as_str(),
        (x, bottom + length + length / 2),
        text,
    ));
}

pub(crate) fn y_of(area: &Area, top_bytes: f64, bytes: u64) -> i32 {
    area.bottom_px()
        - (bytes as f64 / top_bytes.max(1.0) * f64::from(area.height_px)).round() as i32
}

/// The corners of a step curve of columns that share the width of an area.
pub(crate) fn step_points(area: &Area, values: &[u64], top_bytes: f64) -> Vec<(i32, i32)> {
    let x = |column: usize| {
        let share = column as f64 / values.len() as f64;
        area.x_px + (share * f64::from(area.width_px)).round() as i32
    };
    steps(values, x, |bytes| y_of(area, top_bytes, bytes))
}

/// Draws active memory as an area and reserved memory as a line. Both are columns that share the
/// width of `area`; its upper edge is `top_bytes`.
pub fn draw_curves(
    scene: &mut Scene,
    area: &Area,
    (active_bytes, reserved_bytes): (&[u64], &[u64]),
    top_bytes: f64,
    style: &Style<'_>,
) {
    if !active_bytes.is_empty() {
        let mut outline = step_points(area, active_bytes, top_bytes);
        outline.extend([
            (area.right_px(), area.bottom_px()),
            (area.x_px, area.bottom_px()),
        ]);
        scene
            .chart()
            .draw(&Polygon::new(outline, rgb(style.theme.active).filled()));
    }
    if !reserved_bytes.is_empty() {
        let line = style.stroke(style.theme.reserved, 1.0);
        let points = step_points(area, reserved_bytes, top_bytes);
        scene.chart().draw(&PathElement::new(points, line));
    }
}

/// Calls [`draw_curves`], and marks the highest active memory with a dot.
pub fn draw_curves_with_peak(
    scene: &mut Scene,
    area: &Area,
    (active_bytes, reserved_bytes): (&[u64], &[u64]),
    top_bytes: u64,
    style: &Style<'_>,
) {
    let top_bytes = top_bytes.max(1) as f64;
    draw_curves(
        scene,
        area,
        (active_bytes, reserved_bytes),
        top_bytes,
        style,
    );
    // Reversed, because `max_by_key` returns the last of equal ones: the first peak is marked.
    let columns = active_bytes.iter().enumerate().rev();
    let Some((column, &bytes)) = columns.max_by_key(|(_, bytes)| **bytes) else {
        return;
    };
    let middle = (column as f64 + 0.5) / active_bytes.len() as f64;
    let x = area.x_px + (middle * f64::from(area.width_px)).round() as i32;
    let radius = style.px(2.0).max(1);
    let at = (x, y_of(area, top_bytes, bytes));
    let dot = Circle::new(at, radius, rgb(style.theme.accent).filled());
    scene.chart().draw(&dot);
}
