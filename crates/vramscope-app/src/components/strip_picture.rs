//! The strip's curves as SVG, drawn by plotters.

use plotters::prelude::*;

use crate::canvas::PlotArea;
use crate::protocol::{Overview, ThemeName};
use vramscope_view::chart::{Area, Style, draw_minimap, rgb};
use vramscope_view::minimap::Minimap;
use vramscope_view::theme::Theme;

/// Air above the highest value, of the strip's height: a line at the edge would be half cut off.
const AIR: f64 = 0.08;

/// Active memory filled, reserved memory as a line above it, failed allocations as ticks; in device px, for
/// the page to stretch to the strip.
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
    draw_minimap(&root, &place, &map, None, &style)?;
    let (from, to) = overview.x;
    for mark in &overview.ooms {
        let x = ((mark.x - from) / (to - from).max(1.0) * f64::from(width_px)).round() as i32;
        let line = rgb(theme.growth).stroke_width(style.px(1.0).max(1) as u32);
        root.draw(&PathElement::new([(x, 0), (x, height_px as i32)], line))?;
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
        let svg = svg(&overview, area, ThemeName::Light);
        assert!(
            svg.starts_with("<svg width=\"600\" height=\"100\""),
            "{svg}"
        );
        assert_eq!(svg.matches("<polygon").count(), 1);
        // Reserved memory and the failed allocation.
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("300,0 300,100"), "{svg}");
    }
}
