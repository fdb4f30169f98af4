//! Reserved memory over time as one line per allocator: the recorded one, its model, and the model
//! with other settings. Active memory is below them as an area, on the same scale.

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::axes::XUnit;
use crate::chart::{draw_curves, draw_x_axis, draw_y_axis, rgb, step_points};
use crate::colour::Rgb;
use crate::scene::{Area, Scene, Style};
use crate::viewport::{Bounds, Viewport};

/// Left margin, css px: room for `1,023 MiB` and ticks. As wide as in the page's pictures, so that
/// equal moments are aligned.
const LEFT_CSS: f64 = 72.0;
/// Bottom margin, css px: room for a line of tick labels.
const BOTTOM_CSS: f64 = 24.0;
/// Top and right margin, css px: half a tick label.
const MARGIN_CSS: f64 = 8.0;
/// Length of a dash, and of the gap after it, css px.
const DASH_CSS: f64 = 4.0;

/// The reserved memory of one allocator.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The highest value per column; columns share the width.
    pub bytes: &'a [u64],
    /// The first column that is drawn.
    pub first: usize,
    /// Its colour.
    pub colour: Rgb,
    /// Its width, css px.
    pub width_css: f64,
    /// Whether it is dashed.
    pub is_dashed: bool,
}

/// The contents of the chart.
#[derive(Clone, Debug)]
pub struct ReservedChart<'a> {
    /// The unit of the x axis.
    pub unit: XUnit,
    /// End of the x axis.
    pub x_end: f64,
    /// The highest active memory per column.
    pub active_bytes: &'a [u64],
    /// The lines; later ones are drawn over earlier ones.
    pub lines: Vec<Line<'a>>,
    /// The memory limit; `None` if there is none.
    pub limit_bytes: Option<u64>,
    /// Positions of refused requests, in the x axis's unit.
    pub refused_x: &'a [f64],
}

impl ReservedChart<'_> {
    /// The bounds of all lines. A limit more than twice as high is left out.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        let lines = self.lines.iter().flat_map(|line| line.bytes);
        let highest = lines.chain(self.active_bytes).copied().max().unwrap_or(0);
        let limit = self.limit_bytes.filter(|&limit| limit / 2 <= highest);
        Bounds::new(self.x_end, highest.max(limit.unwrap_or(0)))
    }

    /// The area of the chart in a box of this size, device px.
    #[must_use]
    pub fn place((width_px, height_px): (u32, u32), style: &Style<'_>) -> Area {
        let px = |css: f64| u32::try_from(style.px(css)).unwrap_or(0);
        Area {
            x_px: style.px(LEFT_CSS),
            y_px: style.px(MARGIN_CSS),
            width_px: width_px.saturating_sub(px(LEFT_CSS) + px(MARGIN_CSS)),
            height_px: height_px.saturating_sub(px(BOTTOM_CSS) + px(MARGIN_CSS)),
        }
    }

    /// The index among `columns` columns at `x_px` device px from the box's left edge; `None` outside the chart.
    #[must_use]
    pub fn column_at(
        size_px: (u32, u32),
        style: &Style<'_>,
        x_px: f64,
        columns: usize,
    ) -> Option<usize> {
        let place = Self::place(size_px, style);
        let share = (x_px - f64::from(place.x_px)) / f64::from(place.width_px.max(1));
        let is_inside = (0.0..1.0).contains(&share) && columns > 0;
        is_inside.then_some((share * columns as f64) as usize)
    }

    /// Draws the chart with its axes.
    pub fn draw(&self, scene: &mut Scene, size_px: (u32, u32), style: &Style<'_>) {
        let place = Self::place(size_px, style);
        if place.width_px == 0 || place.height_px == 0 {
            return;
        }
        let bounds = self.bounds();
        let view = Viewport::fit_all(&bounds, place.width_px, place.height_px);
        draw_y_axis(scene, &place, &view, style);
        draw_x_axis(scene, &place, &view, self.unit, style);
        draw_curves(
            scene,
            &place,
            (self.active_bytes, &[]),
            bounds.y_end_bytes,
            style,
        );
        for line in &self.lines {
            draw_line(scene, &place, line, bounds.y_end_bytes, style);
        }
        if let Some(limit) = self
            .limit_bytes
            .filter(|&limit| limit as f64 <= bounds.y_end_bytes)
        {
            let y = place.y_px + view.y_px(limit as f64).round() as i32;
            let ends = vec![(place.x_px, y), (place.right_px(), y)];
            scene.chart().draw(&PathElement::new(
                ends,
                style.stroke(style.theme.capacity, 1.0),
            ));
        }
        for &x in self.refused_x {
            let x_px = place.x_px.saturating_add(view.x_px(x).round() as i32);
            draw_refused(scene, x_px, place.y_px, style);
        }
    }
}

fn draw_line(scene: &mut Scene, place: &Area, line: &Line<'_>, top_bytes: f64, style: &Style<'_>) {
    let share = line.first as f64 / line.bytes.len().max(1) as f64;
    let left_px = (share * f64::from(place.width_px)).round() as u32;
    let place = Area {
        x_px: place.x_px.saturating_add_unsigned(left_px),
        width_px: place.width_px.saturating_sub(left_px),
        ..*place
    };
    let bytes = line.bytes.get(line.first..).unwrap_or_default();
    let points = step_points(&place, bytes, top_bytes);
    if points.is_empty() {
        return;
    }
    let stroke = style.stroke(line.colour, line.width_css);
    if line.is_dashed {
        let dash = style.px(DASH_CSS).max(1);
        scene
            .chart()
            .draw(&DashedPathElement::new(points, dash, dash, stroke));
    } else {
        scene.chart().draw(&PathElement::new(points, stroke));
    }
}

/// Draws a mark at the upper edge that points down.
fn draw_refused(scene: &mut Scene, x: i32, top: i32, style: &Style<'_>) {
    let half = style.px(4.0).max(2);
    let corners = vec![
        (x.saturating_sub(half), top - half),
        (x.saturating_add(half), top - half),
        (x, top + half),
    ];
    scene
        .chart()
        .draw(&Polygon::new(corners, rgb(style.theme.growth).filled()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;

    fn scene(chart: &ReservedChart<'_>, size_px: (u32, u32)) -> Scene {
        let mut scene = Scene::default();
        chart.draw(&mut scene, size_px, &Style::new(&Theme::light(), 1.0));
        scene
    }

    fn chart<'a>(real: &'a [u64], changed: &'a [u64], refused_x: &'a [f64]) -> ReservedChart<'a> {
        let line = |bytes, is_dashed| Line {
            bytes,
            first: 0,
            colour: [1, 2, 3],
            width_css: 1.0,
            is_dashed,
        };
        ReservedChart {
            unit: XUnit::Events,
            x_end: 100.0,
            active_bytes: &[512, 1_024],
            lines: vec![line(real, false), line(changed, true)],
            limit_bytes: Some(1 << 12),
            refused_x,
        }
    }

    #[test]
    fn the_limit_counts_where_it_is_near() {
        let near = chart(&[2_048, 4_096], &[3_000], &[]);
        assert!(near.bounds().y_end_bytes >= 4_096.0);
        let far = ReservedChart {
            limit_bytes: Some(1 << 40),
            ..near
        };
        assert!(far.bounds().y_end_bytes < 8_192.0);
    }

    #[test]
    fn lines_marks_and_limit_are_drawn() {
        let chart = chart(&[2_048, 4_096], &[3_000, 1_000], &[50.0]);
        // The margin is 72 px and the chart 200 px wide: the refused request's mark is at 172 px.
        insta::assert_snapshot!(scene(&chart, (280, 132)));
    }

    #[test]
    fn a_line_may_begin_later() {
        let all = chart(&[0, 0, 2_048, 4_096], &[], &[]);
        let mut late = all.clone();
        late.lines[0].first = 2;
        let [all, late] = [all, late].map(|chart| scene(&chart, (280, 132)).to_string());
        assert_ne!(all, late);
        // The chart begins at 72 px and is 200 px wide.
        assert!(
            late.contains("172,") && !late.contains("(72, 99)"),
            "{late}"
        );
    }

    #[test]
    fn a_place_is_a_column() {
        let theme = Theme::light();
        let style = Style::new(&theme, 1.0);
        let at = |x_px, columns| ReservedChart::column_at((280, 132), &style, x_px, columns);
        assert_eq!((at(72.0, 2), at(271.0, 2)), (Some(0), Some(1)));
        assert_eq!(
            (at(71.0, 2), at(272.0, 2), at(100.0, 0)),
            (None, None, None)
        );
        assert_eq!(ReservedChart::column_at((0, 0), &style, 9.0, 5), None);
    }

    #[test]
    fn nothing_and_no_room_do_no_harm() {
        let empty = ReservedChart {
            active_bytes: &[],
            lines: vec![],
            limit_bytes: None,
            ..chart(&[], &[], &[f64::NAN])
        };
        for size in [(0, 0), (70, 20), (300, 100)] {
            scene(&empty, size);
            scene(&chart(&[], &[1], &[-5.0, 1e300]), size);
        }
    }
}
