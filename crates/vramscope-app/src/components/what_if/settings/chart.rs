//! Reserved memory over time: recorded, by the model, and by the model with changed settings.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::what_if::{Replayed, ReservedCurves};
use yew::prelude::*;

use super::super::replayed::ReplayedRef;
use crate::canvas::PlotArea;
use crate::components::drawing::drawing;
use crate::components::hooks::{use_plot_area, use_position};
use crate::components::tooltip;
use vramscope_view::display;
use vramscope_view::reserved_chart::{Line, ReservedChart};
use vramscope_view::scene::{Scene, Style};
use vramscope_view::theme::Theme;

#[derive(Properties, PartialEq)]
pub(super) struct ChartProps {
    pub(super) replayed: ReplayedRef,
    pub(super) theme: ThemeName,
}

#[component]
pub(super) fn Chart(props: &ChartProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let what = (props.replayed.clone(), area, props.theme);
    let picture = use_memo(what, |(replayed, area, theme)| {
        Some(pictured(replayed.get()?, (*area)?, *theme))
    });
    let (at, onpointermove, onpointerleave) = use_position(&node);
    let under = at.zip(area).zip(props.replayed.get());
    let tip = under.and_then(|((at, area), replayed)| tip(at, area, &replayed.curves));
    html! {
        <div class="chart" ref={node} role="img" {onpointermove} {onpointerleave}
            aria-label="Reserved memory over time: measured, by the model, and by the model with these settings">
            { (*picture).clone() }
            { for tip }
        </div>
    }
}

/// The tooltip: reserved memory under the pointer.
fn tip(at: (f64, f64), area: PlotArea, curves: &ReservedCurves) -> Option<Html> {
    let theme = Theme::light();
    let style = Style::new(&theme, area.pixel_ratio);
    let columns = curves.real_bytes.len();
    let x_px = at.0 * area.pixel_ratio;
    let column = ReservedChart::column_at(area.box_px(), &style, x_px, columns)?;
    let line = |name: &'static str, bytes: &[u64]| {
        let bytes = *bytes.get(column)?;
        Some(
            html! { <p class="pair"><span>{ name }</span><span>{ display::bytes_exact(bytes) }</span></p> },
        )
    };
    let lines = [
        line("measured", &curves.real_bytes),
        line("model, same settings", &curves.own_bytes),
        line("model, these settings", &curves.changed_bytes),
        line("live", &curves.active_bytes),
    ];
    let room = (area.box_width_css, area.box_height_css);
    Some(html! {
        <div class="tooltip" role="tooltip" style={tooltip::position(at, room)}>{ for lines.into_iter().flatten() }</div>
    })
}

fn pictured(replayed: &Replayed, area: PlotArea, theme: ThemeName) -> Html {
    let theme = Theme::of(theme);
    let style = Style::new(&theme, area.pixel_ratio);
    let curves = &replayed.curves;
    let line = |bytes, colour, width_css, is_dashed| Line {
        bytes,
        first: 0,
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
    let (mut scene, size) = (Scene::default(), area.box_px());
    chart.draw(&mut scene, size, &style);
    drawing(&scene, size)
}
