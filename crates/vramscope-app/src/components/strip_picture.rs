//! The strip's curves as SVG, drawn by plotters.

use plotters::prelude::*;

use crate::canvas::PlotArea;
use crate::protocol::{Overview, ThemeName};
use vramscope_view::theme::Theme;

/// Air above the highest value, of the height: a line at the edge would be half cut off.
const AIR: f64 = 1.08;

/// Active memory filled, reserved memory as a line above it, failed allocations as ticks.
#[must_use]
pub(super) fn svg(overview: &Overview, area: PlotArea, theme: ThemeName) -> String {
    let mut svg = String::new();
    // Drawing into text cannot fail, and a strip without curves is still a brush.
    let _ = draw(&mut svg, overview, area, &Theme::of(theme));
    svg
}

fn draw(
    svg: &mut String,
    overview: &Overview,
    area: PlotArea,
    theme: &Theme,
) -> Result<(), Box<dyn std::error::Error>> {
    let size = (
        area.box_width_css.max(1.0) as u32,
        area.box_height_css.max(1.0) as u32,
    );
    let highest = overview
        .active_bytes
        .iter()
        .chain(&overview.reserved_bytes)
        .max();
    let top = highest.map_or(1.0, |&bytes| (bytes as f64).max(1.0)) * AIR;
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    let mut chart = ChartBuilder::on(&root)
        .build_cartesian_2d(overview.x.0..overview.x.1.max(overview.x.0 + 1.0), 0.0..top)?;
    let rgb = |[r, g, b]: [u8; 3]| RGBColor(r, g, b);
    let active = steps(overview, &overview.active_bytes);
    let reserved = steps(overview, &overview.reserved_bytes);
    let series = AreaSeries::new(active, 0.0, rgb(theme.active));
    chart.draw_series(series)?;
    let line = LineSeries::new(reserved, rgb(theme.reserved).stroke_width(1));
    chart.draw_series(line)?;
    let ooms = overview
        .oom_x
        .iter()
        .map(|&x| PathElement::new([(x, 0.0), (x, top)], rgb(theme.growth)));
    chart.draw_series(ooms)?;
    root.present()?;
    Ok(())
}

/// Each column's value from its left end to its right, so that a single event has a width.
fn steps(overview: &Overview, bytes: &[u64]) -> Vec<(f64, f64)> {
    let (from, to) = overview.x;
    let width = (to - from) / bytes.len().max(1) as f64;
    let corners = |(column, &bytes): (usize, &u64)| {
        let left = from + column as f64 * width;
        [(left, bytes as f64), (left + width, bytes as f64)]
    };
    bytes.iter().enumerate().flat_map(corners).collect()
}
