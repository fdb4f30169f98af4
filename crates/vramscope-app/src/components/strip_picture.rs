//! The strip's curves as SVG, drawn by plotters.

use plotters::prelude::*;

use crate::canvas::PlotArea;
use crate::protocol::{Overview, ThemeName};
use vramscope_view::chart::{Area, Style, draw_minimap, rgb};
use vramscope_view::minimap::Minimap;
use vramscope_view::theme::Theme;

/// Air above the highest value, of the strip's height: a line at the edge would be half cut off.
const AIR: f64 = 0.08;

/// What is drawn beside the curves.
pub(super) struct StripLines<'a> {
    /// Where training steps begin.
    pub(super) steps: &'a [f64],
    /// The device's capacity, where it is known.
    pub(super) capacity_bytes: Option<u64>,
}

/// Steps closer than this are not drawn: they would only make the strip grey.
const LEAST_STEP_CSS: f64 = 4.0;

/// Active memory filled, reserved memory and capacity as lines above it, failed allocations as marks, the
/// beginnings of training steps as ticks; in device px, for the page to stretch to the strip.
#[must_use]
pub(super) fn svg(
    overview: &Overview,
    lines: &StripLines<'_>,
    area: PlotArea,
    theme: ThemeName,
) -> String {
    let mut svg = String::new();
    // Drawing into text cannot fail, and a strip without curves is still a brush.
    let _ = draw(&mut svg, overview, lines, area, &Theme::of(theme));
    svg
}

fn draw(
    svg: &mut String,
    overview: &Overview,
    lines: &StripLines<'_>,
    area: PlotArea,
    theme: &Theme,
) -> Result<(), Box<dyn std::error::Error>> {
    let (width_px, height_px) = area.box_px();
    let air_px = (f64::from(height_px) * AIR).round() as u32;
    let place = Area {
        x_px: 0,
        y_px: air_px as i32,
        width_px,
        height_px: height_px - air_px,
    };
    let style = Style {
        theme,
        font: "system-ui, sans-serif",
        pixel_ratio: area.pixel_ratio,
    };
    let map = Minimap {
        active_bytes: overview.active_bytes.clone(),
        reserved_bytes: overview.reserved_bytes.clone(),
    };
    let root = SVGBackend::with_string(svg, (width_px, height_px)).into_drawing_area();
    draw_minimap(&root, &place, &map, lines.capacity_bytes, &style)?;
    let (from, to) = overview.x;
    let x_px = |x: f64| ((x - from) / (to - from).max(1.0) * f64::from(width_px)).round() as i32;
    let width_of_steps = LEAST_STEP_CSS * area.pixel_ratio * lines.steps.len() as f64;
    if width_of_steps <= f64::from(width_px) {
        let line = rgb(theme.muted_text).stroke_width(style.px(1.0).max(1) as u32);
        for &x in lines.steps {
            let tick = [
                (x_px(x), height_px as i32 - style.px(5.0)),
                (x_px(x), height_px as i32),
            ];
            root.draw(&PathElement::new(tick, line))?;
        }
    }
    for mark in &overview.ooms {
        let x = x_px(mark.x);
        let line = rgb(theme.growth).stroke_width(style.px(1.0).max(1) as u32);
        root.draw(&PathElement::new([(x, 0), (x, height_px as i32)], line))?;
        let half = style.px(4.0);
        let corners = vec![(x - half, 0), (x + half, 0), (x, style.px(7.0))];
        root.draw(&Polygon::new(corners, rgb(theme.growth).filled()))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_in_the_picture() {
        let overview = Overview {
            x: (0.0, 100.0),
            active_bytes: vec![1, 5, 2],
            reserved_bytes: vec![4, 8, 8],
            ooms: vec![crate::protocol::OomMark {
                x: 50.0,
                ..Default::default()
            }],
            ..Overview::default()
        };
        let area = PlotArea::within(300.0, 50.0, 2.0);
        let lines = StripLines {
            steps: &[10.0],
            capacity_bytes: Some(20),
        };
        let svg = svg(&overview, &lines, area, ThemeName::Light);
        assert!(
            svg.starts_with("<svg width=\"600\" height=\"100\""),
            "{svg}"
        );
        // Active memory, and the head of the failed allocation's mark.
        assert_eq!(svg.matches("<polygon").count(), 2);
        // Reserved memory, capacity, the step and the failed allocation.
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains("300,0 300,100"), "{svg}");
    }
}
