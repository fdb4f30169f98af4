//! Reserved memory over time: really, by the model, and by the model with the settings.

use plotters::prelude::*;
use yew::prelude::*;

use super::ReplayedRef;
use crate::canvas::PlotArea;
use crate::components::hooks::use_plot_area;
use crate::protocol::ThemeName;
use crate::protocol::views::what_if::Replayed;
use vramscope_view::chart::Style;
use vramscope_view::reserved_chart::{Line, ReservedChart};
use vramscope_view::theme::Theme;

const FONT: &str = "system-ui, sans-serif";

/// Properties of [`Chart`].
#[derive(Properties, PartialEq)]
pub(super) struct ChartProps {
    pub(super) replayed: ReplayedRef,
    pub(super) theme: ThemeName,
}

/// See the module.
#[component]
pub(super) fn Chart(props: &ChartProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let what = (props.replayed.clone(), area, props.theme);
    let picture = use_memo(what, |(replayed, area, theme)| {
        let svg = svg(replayed.get()?, (*area)?, *theme);
        Some(Html::from_html_unchecked(svg.into()))
    });
    html! {
        <div class="chart" ref={node} role="img" aria-label="Reserved memory over time: really, by the model, and by the model with these settings">
            { (*picture).clone() }
        </div>
    }
}

fn svg(replayed: &Replayed, area: PlotArea, theme: ThemeName) -> String {
    let theme = Theme::of(theme);
    let style = Style {
        theme: &theme,
        font: FONT,
        pixel_ratio: area.pixel_ratio,
    };
    let curves = &replayed.curves;
    let line = |bytes, colour, width_css, is_dashed| Line {
        bytes,
        colour,
        width_css,
        is_dashed,
    };
    let chart = ReservedChart {
        unit: curves.axis,
        x_end: curves.x_end,
        active_bytes: &curves.active_bytes,
        lines: vec![
            line(&curves.real_bytes, theme.reserved, 1.0, false),
            line(&curves.own_bytes, theme.muted_text, 1.0, true),
            line(&curves.changed_bytes, theme.accent, 2.0, false),
        ],
        limit_bytes: replayed.limit_bytes,
        refused_x: curves.refused_x.as_slice(),
    };
    let (mut svg, size) = (String::new(), area.box_px());
    let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    // Drawing into text cannot fail.
    let _ = chart.draw(&root, size, &style);
    drop(root);
    svg
}
