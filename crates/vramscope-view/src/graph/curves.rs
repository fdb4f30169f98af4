//! Memory by step of several execution orders, as step curves with a dot at each peak.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axes::{Tick, XUnit, x_ticks};
use crate::chart::{draw_x_ticks, draw_y_axis, most_x_ticks, rgb};
use crate::colour::{Rgb, oklch};
use crate::scene::{Area, Scene, Style};
use crate::steps::steps;
use crate::theme::{Theme, ThemeName};
use crate::viewport::{Bounds, Viewport};

/// The curves' share of the height; the bars below get the rest.
const CURVES_SHARE: f64 = 0.42;
/// Gap between curves and bars, css px.
const GAP_CSS: f64 = 10.0;
/// Font size of the labels, css px.
const LABEL_CSS: f64 = 11.0;
/// Per order, a hue and an offset of lightness. They differ enough for the common kinds of colour
/// blindness.
const INKS: [(f64, f64); 5] = [
    (255.0, 0.0),
    (60.0, 0.06),
    (330.0, -0.05),
    (160.0, 0.02),
    (25.0, -0.02),
];

/// The colour of an order, by its index.
#[must_use]
pub fn ink(theme: &Theme, order: usize) -> Rgb {
    let (hue, lighter) = INKS[order % INKS.len()];
    let lightness = match theme.name {
        ThemeName::Light => 0.56,
        ThemeName::Dark => 0.76,
    };
    oklch(lightness + lighter, 0.14, hue)
}

/// Divides an area into one for the curves and one below for the bars.
#[must_use]
pub fn split(whole: &Area, style: &Style<'_>) -> (Area, Area) {
    let gap = style.px(GAP_CSS).unsigned_abs().min(whole.height_px);
    let free = whole.height_px - gap;
    // `CURVES_SHARE` is below 1, so the result is at most `free`.
    let upper = (f64::from(free) * CURVES_SHARE).round() as u32;
    let above = Area {
        height_px: upper,
        ..*whole
    };
    let below = Area {
        y_px: whole.y_px.saturating_add_unsigned(upper + gap),
        height_px: free - upper,
        ..*whole
    };
    (above, below)
}

/// The highest of `values` (one per step, from 0) in each of `columns` equal parts of the range
/// `x`. A part within one step has that step's value; a part beyond the last step is 0.
#[must_use]
pub fn columns(values: &[u64], x: (f64, f64), columns: u32) -> Vec<u64> {
    let per_column = (x.1 - x.0) / f64::from(columns.max(1));
    let highest = |column: u32| {
        let (from, to) = (
            x.0 + per_column * f64::from(column),
            x.0 + per_column * (f64::from(column) + 1.0),
        );
        // The casts saturate, so a negative position becomes step 0.
        let (first, end) = (from as usize, to.ceil() as usize);
        let end = end.max(first.saturating_add(1)).min(values.len());
        let within = values.get(first..end).unwrap_or_default();
        within.iter().copied().max().unwrap_or(0)
    };
    (0..columns).map(highest).collect()
}

/// The curve of one order.
#[derive(Clone, Copy, Debug)]
pub struct OrderCurve<'a> {
    /// Highest bytes per column; see [`columns`].
    pub bytes: &'a [u64],
    /// Its colour.
    pub colour: Rgb,
    /// Its peak: bytes, and the first step that reaches them.
    pub peak: (u64, u32),
}

/// The contents of the chart.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// One curve per order; the last is filled and drawn over the others.
    pub curves: Vec<OrderCurve<'a>>,
    /// Highest value of the y axis, without the margin above it.
    pub top_bytes: u64,
    /// Range of the x axis, in steps.
    pub x: (f64, f64),
    /// Number of steps. Buffers that remain at the end are drawn after the last step.
    pub steps: u32,
    /// Height of the bars' area in bytes; `None` if bars are one row each.
    pub packed_bytes: Option<u64>,
}

impl Picture<'_> {
    /// The viewport of the curves' area.
    #[must_use]
    pub fn viewport(&self, area: &Area) -> Viewport {
        let bounds = Bounds::new(self.x.1, self.top_bytes);
        let whole = Viewport::fit_all(&bounds, area.width_px, area.height_px);
        Viewport {
            x_min: self.x.0,
            ..whole
        }
    }
}

/// The viewport of the bars' area: `height` rows (first row on top) or bytes (byte 0 at the
/// bottom).
#[must_use]
pub fn bars_viewport(x: (f64, f64), height: f64, (width_px, height_px): (u32, u32)) -> Viewport {
    Viewport {
        x_min: x.0,
        x_max: x.1,
        y_min_bytes: 0.0,
        y_max_bytes: height.max(1.0),
        width_px,
        height_px,
    }
}

/// Draws axes and curves. The bars are pixels and are drawn by [`super::bars`].
pub fn draw(scene: &mut Scene, whole: &Area, picture: &Picture<'_>, style: &Style<'_>) {
    let (above, below) = split(whole, style);
    let view = picture.viewport(&above);
    draw_y_axis(scene, &above, &view, style);
    let count = picture.curves.len();
    for (number, curve) in picture.curves.iter().enumerate() {
        draw_curve(scene, &above, &view, curve, number + 1 == count, style);
    }
    let height = picture.packed_bytes.unwrap_or(0) as f64;
    let lower = bars_viewport(picture.x, height, (below.width_px, below.height_px));
    if picture.packed_bytes.is_some() {
        draw_y_axis(scene, &below, &lower, style);
    } else {
        let text = style.chart_text(
            LABEL_CSS,
            style.theme.muted_text,
            Pos::new(HPos::Right, VPos::Top),
        );
        let left = whole.x_px - style.px(6.0);
        for (line, words) in ["a row", "per buffer,", "by birth"].into_iter().enumerate() {
            let y = below.y_px + style.px(14.0 * line as f64);
            scene
                .chart()
                .draw(&Text::new(words, (left, y), text.clone()));
        }
    }
    let ticks = step_ticks(&lower, picture.steps, most_x_ticks(&below, style));
    draw_x_ticks(scene, &below, &lower, &ticks, style);
}

/// Ticks at step numbers, and one labelled "end" after the last step.
fn step_ticks(view: &Viewport, steps: u32, most: usize) -> Vec<Tick> {
    let end = f64::from(steps);
    let mut ticks = x_ticks(view, XUnit::Events, most);
    if (view.x_min..=view.x_max).contains(&end) {
        let apart = match ticks[..] {
            [ref first, ref second, ..] => second.at - first.at,
            _ => 1.0,
        };
        ticks.retain(|tick| tick.at <= end - apart / 2.0);
        let label = "end".to_owned();
        ticks.push(Tick { at: end, label });
    }
    ticks
}

fn draw_curve(
    scene: &mut Scene,
    area: &Area,
    view: &Viewport,
    curve: &OrderCurve<'_>,
    is_last: bool,
    style: &Style<'_>,
) {
    let of = curve.bytes.len().max(1) as f64;
    let x =
        |column: usize| area.x_px + (column as f64 / of * f64::from(area.width_px)).round() as i32;
    let y = |bytes: u64| area.y_px + view.y_px(bytes as f64).round() as i32;
    let corners = steps(curve.bytes, x, y);
    if corners.is_empty() {
        return;
    }
    if is_last {
        let bottom = area.y_px.saturating_add_unsigned(area.height_px);
        let mut outline = corners.clone();
        outline.extend([(x(curve.bytes.len()), bottom), (area.x_px, bottom)]);
        let fill = rgb(curve.colour).mix(0.16).filled();
        scene.chart().draw(&Polygon::new(outline, fill));
    }
    let width = if is_last { 2.0 } else { 1.25 };
    let line = rgb(curve.colour).stroke_width(style.px(width).max(1) as u32);
    scene.chart().draw(&PathElement::new(corners, line));
    let (bytes, step) = curve.peak;
    let middle = view.x_px(f64::from(step) + 0.5);
    if (0.0..=f64::from(area.width_px)).contains(&middle) {
        let at = (area.x_px + middle.round() as i32, y(bytes));
        let radius = style.px(if is_last { 4.0 } else { 2.5 }).max(1);
        scene
            .chart()
            .draw(&Circle::new(at, radius, rgb(curve.colour).filled()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: Area = Area {
        x_px: 72,
        y_px: 8,
        width_px: 600,
        height_px: 300,
    };

    fn style(theme: &Theme) -> Style<'_> {
        Style::new(theme, 1.0)
    }

    #[test]
    fn both_parts_fit_and_do_not_overlap() {
        let theme = Theme::light();
        for height_px in [0, 3, 9, 300, 2_000] {
            let whole = Area { height_px, ..WHOLE };
            let (above, below) = split(&whole, &style(&theme));
            assert!(above.y_px + above.height_px as i32 <= below.y_px);
            assert_eq!(below.bottom_px(), whole.bottom_px());
        }
    }

    #[test]
    fn a_column_has_the_highest_of_its_steps() {
        let values = [1, 9, 2, 3];
        assert_eq!(columns(&values, (0.0, 4.0), 2), [9, 3]);
        assert_eq!(columns(&values, (0.0, 4.0), 8), [1, 1, 9, 9, 2, 2, 3, 3]);
        assert_eq!(columns(&values, (1.0, 2.0), 3), [9, 9, 9]);
        assert_eq!(columns(&values, (2.0, 6.0), 4), [2, 3, 0, 0]);
        assert!(columns(&values, (0.0, 4.0), 0).is_empty());
        assert_eq!(columns(&[], (0.0, 1.0), 1), [0]);
    }

    #[test]
    fn inks_are_seen_on_their_ground() {
        for theme in [Theme::light(), Theme::dark()] {
            for order in 0..INKS.len() {
                let ratio = crate::theme::contrast(ink(&theme, order), theme.background);
                assert!(ratio >= 3.0, "{:?} {order}: {ratio:.2}", theme.name);
            }
        }
    }

    fn scene(picture: &Picture<'_>) -> Scene {
        let mut scene = Scene::default();
        draw(&mut scene, &WHOLE, picture, &style(&Theme::light()));
        scene
    }

    #[test]
    fn every_order_is_a_line_and_its_peak_a_dot_where_it_is_in_sight() {
        let curve = |bytes, step| OrderCurve {
            bytes,
            colour: [1, 2, 3],
            peak: (4 << 20, step),
        };
        let (a, b) = ([1 << 20, 4 << 20], [4 << 20, 1 << 20]);
        let picture = Picture {
            curves: vec![curve(&a, 9), curve(&b, 500)],
            top_bytes: 4 << 20,
            x: (0.0, 10.0),
            steps: 9,
            packed_bytes: None,
        };
        insta::assert_snapshot!(scene(&picture));
        let packed = Picture {
            packed_bytes: Some(3 << 30),
            ..picture
        };
        assert!(scene(&packed).to_string().contains("2 GiB"));
    }

    #[test]
    fn after_the_last_step_comes_the_end() {
        let labels = |x, steps, most| {
            let ticks = step_ticks(&bars_viewport(x, 1.0, (600, 100)), steps, most);
            let labels = ticks.into_iter().map(|tick| tick.label);
            labels.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels((0.0, 5.0), 4, 8), "0 1 2 3 end");
        assert_eq!(labels((0.0, 5.0), 4, 3), "0 2 end");
        assert_eq!(labels((0.0, 202.0), 201, 4), "0 100 end");
        assert_eq!(labels((0.0, 3.0), 4, 8), "0 1 2 3");
        assert_eq!(labels((0.0, 1.0), 0, 8), "end");
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let picture = Picture {
            curves: Vec::new(),
            top_bytes: 0,
            x: (0.0, 0.0),
            steps: 0,
            packed_bytes: None,
        };
        assert!(!scene(&picture).to_string().contains("polygon"));
    }

    proptest! {
        #[test]
        fn columns_are_as_the_obvious_way(
            values in proptest::collection::vec(0..100_u64, 0..50), from in 0.0..60.0, length in 0.001..60.0,
            count in 1..40_u32,
        ) {
            let width = length / f64::from(count);
            for (column, &value) in columns(&values, (from, from + length), count).iter().enumerate() {
                let (low, high) = (from + width * column as f64, from + width * (column as f64 + 1.0));
                let inside = values.iter().enumerate().filter(|(step, _)| {
                    let step = *step as f64;
                    step < high - 1e-9 && step + 1.0 > low + 1e-9
                });
                let expected = inside.map(|(_, value)| *value).max().unwrap_or(0);
                // At an edge, rounding may include the neighbouring step.
                prop_assert!(value >= expected);
            }
        }
    }
}
