//! The parts of the chart: axes and curves as SVG, bars as pixels on a canvas.

use vramscope_protocol::views::graph::{DrawGraph, Drawn, OrderName};
use yew::prelude::*;

use crate::canvas::PlotArea;
use crate::components::drawing::drawing;
use vramscope_core::sorting::SortFew;
use vramscope_view::graph::curves::{OrderCurve, Picture, draw, ink, split};
use vramscope_view::scene::{Area, Scene, Style};
use vramscope_view::theme::Theme;

/// The areas of the curves and of the bars, in device px of the stage.
pub(super) fn parts(area: &PlotArea) -> (Area, Area) {
    let theme = Theme::light();
    split(&area.picture(), &Style::new(&theme, area.pixel_ratio))
}

/// Draws axes and curves, the shown order on top.
pub(super) fn curves(drawn: &Drawn, asked: &DrawGraph, steps: u32, area: &PlotArea) -> Html {
    let theme = Theme::of(asked.theme);
    let place = |order: OrderName| OrderName::ALL.iter().position(|known| *known == order);
    let is_shown = |order: OrderName| order == asked.key.order;
    let mut curves: Vec<_> = drawn.curves.iter().collect();
    curves.sort_few_by_key(|curve| is_shown(curve.order));
    let curves = curves.into_iter().map(|curve| OrderCurve {
        bytes: &curve.bytes,
        colour: ink(&theme, place(curve.order).unwrap_or(0)),
        peak: curve.peak,
    });
    let picture = Picture {
        curves: curves.collect(),
        top_bytes: drawn.top_bytes,
        x: asked.x,
        steps,
        packed_bytes: drawn.packed_bytes,
    };
    let mut scene = Scene::default();
    let style = Style::new(&theme, area.pixel_ratio);
    draw(&mut scene, &area.picture(), &picture, &style);
    drawing(&scene, area.box_px())
}
