//! Over a picture: reserved memory, the device's capacity, private pools, failed allocations.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use vramscope_core::analysis::markers::MarkerKind;
use vramscope_core::units::Bytes;

use super::text;
use crate::chart::{Area, ChartError, Style, rgb};
use crate::colour::{Rgb, ordinal_colour};
use crate::reserved::Curve;
use crate::shown::{Shown, ShownPool};
use crate::viewport::Viewport;

/// Size of words, css px.
const FONT_CSS: f64 = 11.0;
/// Size of the word at a failed allocation, css px.
const OOM_CSS: f64 = 10.0;
/// A word at a failure that begins less than this from the right end is in the way there, css px.
const NEAR_CSS: f64 = 90.0;
/// How much of its colour a pool's envelope has.
const POOL_OPACITY: f64 = 0.22;

/// A picture's place, and what of the data it shows.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) area: &'a Area,
    pub(super) view: &'a Viewport,
}

impl Place<'_> {
    /// A place of the data, within the area.
    fn at(&self, x: f64, bytes: u64) -> (i32, i32) {
        let inside = |px: f64, most: u32| px.clamp(0.0, f64::from(most)).round() as i32;
        (
            self.area.x_px + inside(self.view.x_px(x), self.area.width_px),
            self.area.y_px + inside(self.view.y_px(bytes as f64), self.area.height_px),
        )
    }

    /// `values` of a curve's columns as steps, from left to right.
    fn steps(&self, curve: &Curve, values: &[u64]) -> Vec<(i32, i32)> {
        let width = (curve.x_max - curve.x_min) / values.len().max(1) as f64;
        let x = |column: usize| curve.x_min + width * column as f64;
        let mut first = 0;
        let mut steps = Vec::new();
        // Equal neighbours are one step.
        for run in values.chunk_by(|a, b| a == b) {
            steps.push(self.at(x(first), run[0]));
            first += run.len();
            steps.push(self.at(x(first), run[0]));
        }
        steps
    }
}

/// Draws it all.
pub(super) fn draw<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    place: Place<'_>,
    shown: &Shown,
    capacity_bytes: Option<u64>,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    for pool in &shown.pools {
        draw_pool(root, place, &shown.reserved, pool, style)?;
    }
    if let Some(&last) = shown.reserved.bytes.last() {
        let line = style.stroke(style.theme.reserved, 1.0);
        let steps = place.steps(&shown.reserved, &shown.reserved.bytes);
        root.draw(&PathElement::new(steps, line))?;
        let colour = style.theme.reserved;
        // Left of the word at a failure at the end, which is where many recordings end.
        let room = oom_left_px(shown, place, style).map_or(0, |left| place.area.right_px() - left);
        let is_near = room < style.px(NEAR_CSS);
        let narrower = Area {
            width_px: place.area.width_px - if is_near { room.max(0) as u32 } else { 0 },
            ..*place.area
        };
        let narrower = Place {
            area: &narrower,
            ..place
        };
        words(
            root,
            narrower,
            "reserved",
            last,
            (colour, HPos::Right),
            style,
        )?;
    }
    if let Some(bytes) = capacity_bytes.filter(|&bytes| bytes as f64 <= place.view.y_max_bytes) {
        let colour = style.theme.capacity;
        let (_, y) = place.at(place.view.x_min, bytes);
        let ends = vec![(place.area.x_px, y), (place.area.right_px(), y)];
        root.draw(&PathElement::new(ends, style.stroke(colour, 1.0)))?;
        // On the left: what failed stands where the recording ends, more often than not.
        let text = format!("capacity {}", Bytes(bytes));
        words(root, place, &text, bytes, (colour, HPos::Left), style)?;
    }
    draw_ooms(root, place, shown, style)
}

/// Words at the left or right end of a line, above it, where it is in sight.
fn words<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    place: Place<'_>,
    words: &str,
    bytes: u64,
    (colour, side): (Rgb, HPos),
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let y = place.view.y_px(bytes as f64);
    if !(0.0..=f64::from(place.area.height_px)).contains(&y) {
        return Ok(());
    }
    let below = y < 16.0 * style.pixel_ratio;
    let (vertical, dy) = if below {
        (VPos::Top, style.px(3.0))
    } else {
        (VPos::Bottom, -style.px(2.0))
    };
    let air = style.px(4.0);
    let x = match side {
        HPos::Left => place.area.x_px + air,
        _ => place.area.right_px() - air,
    };
    let ink = style.text(FONT_CSS, colour, Pos::new(side, vertical));
    let at = (x, place.area.y_px + y.round() as i32 + dy);
    root.draw(&Text::new(words, at, ink))
}

fn draw_pool<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    place: Place<'_>,
    curve: &Curve,
    pool: &ShownPool,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let colour = rgb(ordinal_colour(style.theme, pool.ordinal));
    let mut outline = place.steps(curve, &pool.envelope.high_bytes);
    let upper = outline.clone();
    outline.extend(
        place
            .steps(curve, &pool.envelope.low_bytes)
            .into_iter()
            .rev(),
    );
    if outline.is_empty() {
        return Ok(());
    }
    root.draw(&Polygon::new(outline, colour.mix(POOL_OPACITY).filled()))?;
    let line = colour.stroke_width(style.px(1.0).max(1) as u32);
    root.draw(&PathElement::new(upper, line))?;
    let name = pool.text();
    let name_px = text::width_px(&name, FONT_CSS, false, style) + 12.0 * style.pixel_ratio;
    let least_px = 15.0 * style.pixel_ratio;
    let middle = pool.envelope.label_y_px(place.view, name_px, least_px);
    let Some(middle) = middle.filter(|_| name_px < f64::from(place.area.width_px)) else {
        return Ok(());
    };
    let pos = Pos::new(HPos::Right, VPos::Center);
    let ink = style.text(FONT_CSS, style.theme.text, pos);
    let at = (
        place.area.right_px() - style.px(4.0),
        place.area.y_px + middle.round() as i32,
    );
    root.draw(&Text::new(name, at, ink))
}

/// Where the word at the last failure begins, device px.
fn oom_left_px(shown: &Shown, place: Place<'_>, style: &Style<'_>) -> Option<i32> {
    let mut marks = shown.marks.iter().rev();
    let last = marks.find(|mark| mark.kind == MarkerKind::Oom)?;
    let half = half_oom_px(style);
    let most = place.area.right_px() - half;
    Some(place.at(last.x, 0).0.min(most) - half)
}

/// Half the width of the word at a failure, with air, device px.
fn half_oom_px(style: &Style<'_>) -> i32 {
    let half = text::width_px("OOM", OOM_CSS, true, style) / 2.0 + 2.0 * style.pixel_ratio;
    half.ceil() as i32
}

/// A word and an arrow where allocations failed; where words would lie over each other, one for several.
fn draw_ooms<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    place: Place<'_>,
    shown: &Shown,
    style: &Style<'_>,
) -> Result<(), ChartError<DB>> {
    let colour = style.theme.growth;
    let half_word = half_oom_px(style);
    let half = style.px(4.0);
    let mut free_from = i32::MIN;
    for mark in shown
        .marks
        .iter()
        .filter(|mark| mark.kind == MarkerKind::Oom)
    {
        let (x, _) = place.at(mark.x, 0);
        // Where a recording ends, there is no room on the right.
        let most = place.area.right_px() - half_word;
        let middle = x.min(most).max(place.area.x_px + half_word);
        if middle - half_word < free_from {
            continue;
        }
        free_from = middle + half_word;
        let top = place.area.y_px;
        let bottom = top + style.px(13.0);
        let ground = [
            (middle - half_word, top),
            (middle + half_word, bottom - style.px(1.0)),
        ];
        let paper = rgb(style.theme.background).mix(0.75);
        root.draw(&Rectangle::new(ground, paper.filled()))?;
        let pos = Pos::new(HPos::Center, VPos::Top);
        let bold = style.text(OOM_CSS, colour, pos);
        let bold = TextStyle {
            font: bold.font.style(FontStyle::Bold),
            ..bold
        };
        root.draw(&Text::new("OOM", (middle, top + style.px(1.0)), bold))?;
        let arrow = vec![(x - half, bottom), (x + half, bottom), (x, bottom + half)];
        root.draw(&Polygon::new(arrow, rgb(colour).filled()))?;
    }
    Ok(())
}
