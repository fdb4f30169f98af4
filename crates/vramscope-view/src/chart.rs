//! Axes, grid and the overview's curves, drawn with plotters on any of its backends: the page's canvas,
//! the CLI's SVG and PNG.

use crate::axes::{Tick, XUnit, x_ticks, y_ticks};
use crate::colour::Rgb;
use crate::minimap::Minimap;
use crate::theme::Theme;
use crate::viewport::Viewport;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Why a chart was not drawn: the backend's own error.
pub type ChartError<DB> = DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// Size of the labels, css px.
const LABEL_CSS: f64 = 11.0;
/// Length of a tick, css px.
const TICK_CSS: f64 = 4.0;
/// Least distance of two labels along x, css px: room for `1,234,567,890` and air.
const X_LABEL_CSS: f64 = 110.0;
/// The same along y.
const Y_LABEL_CSS: f64 = 44.0;

/// A part of a picture, device px from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x_px: i32,
    /// Upper edge.
    pub y_px: i32,
    /// Width.
    pub width_px: u32,
    /// Height.
    pub height_px: u32,
}

impl Area {
    pub(crate) fn right_px(&self) -> i32 {
        self.x_px.saturating_add_unsigned(self.width_px)
    }

    pub(crate) fn bottom_px(&self) -> i32 {
        self.y_px.saturating_add_unsigned(self.height_px)
    }
}

/// How lines and text look.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Colours.
    pub theme: &'a Theme,
    /// Font family, as CSS has it.
    pub font: &'a str,
    /// Device px per css px.
    pub pixel_ratio: f64,
}

impl Style<'_> {
    /// A length in css px as device px.
    #[must_use]
    pub fn px(&self, css: f64) -> i32 {
        (css * self.pixel_ratio).round() as i32
    }

    pub(crate) fn stroke(&self, colour: Rgb, css: f64) -> ShapeStyle {
        let stroke_width = self.px(css).max(1) as u32;
        ShapeStyle {
            color: rgb(colour).into(),
            filled: false,
            stroke_width,
        }
    }

    /// A text style of `css` px.
    #[must_use]
    pub fn text(&self, css: f64, colour: Rgb, pos: Pos) -> TextStyle<'_> {
        (self.font, css * self.pixel_ratio)
            .into_font()
            .color(&rgb(colour))
            .pos(pos)
    }
}

/// Plotters takes the size of a font for the height of a line, which is this many times the letters'.
const LINE_EM: f64 = 1.24;

/// An SVG of plotters with letters as large as its other backends make them.
#[must_use]
pub fn with_letters_in_px(svg: &str) -> String {
    let mut parts = svg.split("font-size=\"");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (size, rest) = part.split_once('"').unwrap_or((part, ""));
        let size_px = size.parse::<f64>().unwrap_or(0.0) * LINE_EM;
        text.push_str(&format!("font-size=\"{:.1}\"{rest}", size_px));
    }
    text
}

/// A colour as plotters has it.
#[must_use]
pub fn rgb([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

/// Draws grid, axes and labels around (and the grid within) the area where the timeline goes, which is
/// what `viewport` shows.
///
/// # Errors
/// What the backend says.
pub fn draw_axes<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    viewport: &Viewport,
    unit: XUnit,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    draw_y_axis(root, area, viewport, style)?;
    draw_x_axis(root, area, viewport, unit, style)
}

/// The vertical half of [`draw_axes`].
///
/// # Errors
/// What the backend says.
pub fn draw_y_axis<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    viewport: &Viewport,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let most = most_y_ticks(area.height_px, style.pixel_ratio);
    // The viewport may be that of a canvas of another size.
    let view = viewport.resized(area.width_px, area.height_px);
    for tick in &y_ticks(viewport, most) {
        let y = area.y_px + view.y_px(tick.at).round() as i32;
        draw_y_tick(root, tick, y, area, style)?;
    }
    let ends = vec![(area.x_px, area.y_px), (area.x_px, area.bottom_px())];
    root.draw(&PathElement::new(ends, style.stroke(style.theme.axis, 1.0)))
}

/// For how many ticks of the y axis there is room.
#[must_use]
pub fn most_y_ticks(height_px: u32, pixel_ratio: f64) -> usize {
    (f64::from(height_px) / (Y_LABEL_CSS * pixel_ratio)) as usize
}

/// The horizontal half of [`draw_axes`].
///
/// # Errors
/// What the backend says.
pub fn draw_x_axis<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    viewport: &Viewport,
    unit: XUnit,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let ticks = x_ticks(viewport, unit, most_x_ticks(area, style));
    draw_x_ticks(root, area, viewport, &ticks, style)
}

/// For how many ticks of the x axis there is room.
#[must_use]
pub fn most_x_ticks(area: &Area, style: &Style<'_>) -> usize {
    let most = f64::from(area.width_px) / (X_LABEL_CSS * style.pixel_ratio);
    most as usize
}

/// [`draw_x_axis`] with ticks that are given.
///
/// # Errors
/// What the backend says.
pub fn draw_x_ticks<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    viewport: &Viewport,
    ticks: &[Tick],
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let view = viewport.resized(area.width_px, area.height_px);
    for tick in ticks {
        let x = area.x_px + view.x_px(tick.at).round() as i32;
        draw_x_tick(root, tick, x, area, style)?;
    }
    let ends = vec![
        (area.x_px, area.bottom_px()),
        (area.right_px(), area.bottom_px()),
    ];
    root.draw(&PathElement::new(ends, style.stroke(style.theme.axis, 1.0)))
}

fn draw_y_tick<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    tick: &Tick,
    y: i32,
    area: &Area,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let (left, length) = (area.x_px, style.px(TICK_CSS));
    let grid = style.stroke(style.theme.grid, 1.0);
    root.draw(&PathElement::new(
        vec![(left, y), (area.right_px(), y)],
        grid,
    ))?;
    let axis = style.stroke(style.theme.axis, 1.0);
    root.draw(&PathElement::new(vec![(left - length, y), (left, y)], axis))?;
    let text = style.text(
        LABEL_CSS,
        style.theme.muted_text,
        Pos::new(HPos::Right, VPos::Center),
    );
    root.draw(&Text::new(
        tick.label.as_str(),
        (left - length - length / 2, y),
        text,
    ))
}

fn draw_x_tick<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    tick: &Tick,
    x: i32,
    area: &Area,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let (bottom, length) = (area.bottom_px(), style.px(TICK_CSS));
    let grid = style.stroke(style.theme.grid, 1.0);
    root.draw(&PathElement::new(vec![(x, area.y_px), (x, bottom)], grid))?;
    let axis = style.stroke(style.theme.axis, 1.0);
    root.draw(&PathElement::new(
        vec![(x, bottom), (x, bottom + length)],
        axis,
    ))?;
    // A label in the middle of its tick would be cut off at the right end.
    let is_last = x + style.px(X_LABEL_CSS / 3.0) > area.right_px();
    let (x, side) = if is_last {
        (area.right_px(), HPos::Right)
    } else {
        (x, HPos::Center)
    };
    let text = style.text(LABEL_CSS, style.theme.muted_text, Pos::new(side, VPos::Top));
    root.draw(&Text::new(
        tick.label.as_str(),
        (x, bottom + length + length / 2),
        text,
    ))
}

/// Draws the overview's curves: active memory filled, reserved memory and the device's capacity as lines.
///
/// # Errors
/// What the backend says.
pub fn draw_minimap<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    map: &Minimap,
    capacity_bytes: Option<u64>,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let top_bytes = map.highest_bytes().max(capacity_bytes.unwrap_or(0)).max(1);
    let values = (&map.active_bytes[..], &map.reserved_bytes[..]);
    draw_curves(root, area, values, top_bytes as f64, style)?;
    if let Some(capacity) = capacity_bytes {
        let y = y_of(area, top_bytes as f64, capacity);
        let line = style.stroke(style.theme.capacity, 1.0);
        root.draw(&PathElement::new(
            vec![(area.x_px, y), (area.right_px(), y)],
            line,
        ))?;
    }
    Ok(())
}

fn y_of(area: &Area, top_bytes: f64, bytes: u64) -> i32 {
    area.bottom_px()
        - (bytes as f64 / top_bytes.max(1.0) * f64::from(area.height_px)).round() as i32
}

/// Where the highest of these columns is in an area, if there is one; see [`draw_curves`].
#[must_use]
pub fn highest_point(area: &Area, values: &[u64], top_bytes: f64) -> Option<(i32, i32)> {
    let (column, &bytes) = (values.iter().enumerate())
        .rev()
        .max_by_key(|(_, bytes)| **bytes)?;
    let middle = (column as f64 + 0.5) / values.len() as f64;
    let x = area.x_px + (middle * f64::from(area.width_px)).round() as i32;
    Some((x, y_of(area, top_bytes, bytes)))
}

/// The corners of columns that share an area's width. Steps and not slopes: a column's value holds for its
/// whole width.
pub(crate) fn step_points(area: &Area, values: &[u64], top_bytes: f64) -> Vec<(i32, i32)> {
    let x = |column: usize| {
        let share = column as f64 / values.len() as f64;
        area.x_px + (share * f64::from(area.width_px)).round() as i32
    };
    let edges = |(column, &bytes): (usize, &u64)| {
        let y = y_of(area, top_bytes, bytes);
        [(x(column), y), (x(column + 1), y)]
    };
    values.iter().enumerate().flat_map(edges).collect()
}

/// Draws active memory filled and reserved memory as a line, each in columns that share the area's width,
/// on a scale whose upper edge is `top_bytes`.
///
/// # Errors
/// What the backend says.
pub fn draw_curves<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    area: &Area,
    (active_bytes, reserved_bytes): (&[u64], &[u64]),
    top_bytes: f64,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    if !active_bytes.is_empty() {
        let mut outline = step_points(area, active_bytes, top_bytes);
        outline.extend([
            (area.right_px(), area.bottom_px()),
            (area.x_px, area.bottom_px()),
        ]);
        root.draw(&Polygon::new(outline, rgb(style.theme.active).filled()))?;
    }
    if !reserved_bytes.is_empty() {
        let line = style.stroke(style.theme.reserved, 1.0);
        let points = step_points(area, reserved_bytes, top_bytes);
        root.draw(&PathElement::new(points, line))?;
    }
    Ok(())
}
