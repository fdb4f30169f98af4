//! Lanes of named ranges and tracks of marks above a picture.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::{Area, ChartError, Style, rgb};
use crate::header::Header;
use crate::lanes::{LayoutRow, drawn_px, elided, lane_fill};
use crate::marks::{self, Mark, SYMBOL_CSS, TRACK_CSS, track};
use crate::shown::{Shown, ShownItem};
use crate::viewport::Viewport;

/// Size of letters, css px.
const FONT_CSS: f64 = 11.0;
/// Lanes are folded where they would take more than this part of the height.
const MOST_OF_HEIGHT: f64 = 0.3;

/// Lays out what there is to show above a picture in a room of this height.
pub(super) fn layout(rows_of_lanes: &[usize], tracks: [bool; 2], height_css: f64) -> Header {
    let open = Header::new(rows_of_lanes, false, tracks);
    if open.height_css <= height_css * MOST_OF_HEIGHT {
        return open;
    }
    let folded = Header::new(rows_of_lanes, true, tracks);
    if folded.height_css <= height_css * MOST_OF_HEIGHT {
        folded
    } else {
        Header::default()
    }
}

/// Draws it above `area`, from `top_px` on.
pub(super) fn draw<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    (area, top_px): (&Area, i32),
    header: &Header,
    shown: &Shown,
    view: &Viewport,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let origin = (area.x_px, top_px);
    for row in &header.lanes.rows {
        let lane = shown.lanes.get(row.lane);
        let items = lane.and_then(|lane| lane.rows.get(row.row));
        for item in items.into_iter().flatten() {
            draw_item(root, origin, row, item, header.lanes.is_folded, view, style)?;
        }
    }
    // What matters most comes first and is drawn last.
    for mark in shown.marks.iter().rev() {
        if let Some(top_css) = header.tracks[track(mark.kind)] {
            draw_mark(root, origin, mark, top_css, view, style)?;
        }
    }
    Ok(())
}

fn draw_item<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    (left, top): (i32, i32),
    row: &LayoutRow,
    shown: &ShownItem,
    is_folded: bool,
    view: &Viewport,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let (from, to) = drawn_px(&shown.item, view, style.pixel_ratio);
    let width = f64::from(view.width_px);
    let (from, to) = (from.clamp(0.0, width) as i32, to.clamp(0.0, width) as i32);
    if to <= from {
        return Ok(());
    }
    let (top, height) = (
        top + style.px(row.top_css),
        style.px(row.height_css - 1.0).max(1),
    );
    let (fill, line) = lane_fill(style.theme, &shown.name);
    let edge = style.px(2.0).max(1).min(to - from);
    let boxed = |x0: i32, y0: i32, x1: i32, y1: i32, colour| {
        let corners = [(left + x0, top + y0), (left + x1, top + y1)];
        Rectangle::new(corners, rgb(colour).filled())
    };
    root.draw(&boxed(from, 0, to, height, fill))?;
    if shown.item.count > 1 {
        root.draw(&boxed(from, height - edge, to, height, line))?;
    } else {
        root.draw(&boxed(from, 0, from + edge, height, line))?;
    }
    if is_folded {
        return Ok(());
    }
    let Some(label) = elided(&shown.text(), f64::from(to - from) / style.pixel_ratio) else {
        return Ok(());
    };
    let pos = Pos::new(HPos::Left, VPos::Center);
    let ink = style.text(FONT_CSS, style.theme.text, pos);
    let at = (left + from + style.px(5.0), top + height / 2);
    root.draw(&Text::new(label, at, ink))
}

fn draw_mark<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    (left, top): (i32, i32),
    mark: &Mark,
    top_css: f64,
    view: &Viewport,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let grown = if mark.count > 1 { 1.15 } else { 0.85 };
    let half = SYMBOL_CSS * style.pixel_ratio * grown;
    let middle = (top_css + TRACK_CSS / 2.0) * style.pixel_ratio;
    let corners = marks::symbol(mark.kind, (view.x_px(mark.x), middle), half);
    let mut corners: Vec<(i32, i32)> = corners
        .into_iter()
        .map(|(x, y)| (left + x.round() as i32, top + y.round() as i32))
        .collect();
    let colour = marks::colour(style.theme, mark.kind);
    if marks::is_hollow(mark.kind) {
        corners.extend(corners.first().copied());
        return root.draw(&PathElement::new(corners, style.stroke(colour, 1.0)));
    }
    root.draw(&Polygon::new(corners, rgb(colour).filled()))
}
