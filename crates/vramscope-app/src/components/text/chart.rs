//! What log lines tell, over the text: a line per quantity and teller, in the colour of the quantity.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::text::{Courses, Quantity};
use vramscope_view::axes::XUnit;
use vramscope_view::colour::{Rgb, ordinal_colour};
use vramscope_view::display;
use vramscope_view::reserved_chart::{Line, ReservedChart};
use vramscope_view::scene::{Scene, Style};
use vramscope_view::theme::Theme;
use yew::prelude::*;

use crate::canvas::PlotArea;
use crate::components::drawing::drawing;
use crate::components::hooks::{use_plot_area, use_position};
use crate::components::site_label::background;
use crate::components::tooltip;

#[derive(Properties, PartialEq)]
pub(super) struct CourseChartProps {
    pub(super) courses: Courses,
    pub(super) theme: ThemeName,
}

/// The chart with its legend.
#[component]
pub(super) fn CourseChart(props: &CourseChartProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let (at, onpointermove, onpointerleave) = use_position(&node);
    let what = (props.courses.clone(), area, props.theme);
    let picture = use_memo(what, |(courses, area, theme)| {
        Some(pictured(courses, (*area)?, &Theme::of(*theme)))
    });
    let tip = at
        .zip(area)
        .and_then(|(at, area)| tip(at, area, &props.courses));
    let theme = Theme::of(props.theme);
    let entry = |(place, quantity): (usize, &Quantity)| {
        html! {
            <li>
                <span class="swatch" style={background(colour(&theme, place))} aria-hidden="true" />
                <span>{ &quantity.name }</span>
                <span class="muted">{ &quantity.tellers }</span>
            </li>
        }
    };
    html! {
        <section>
            <h2>{ "Over the text, by line" }</h2>
            <div class="course" ref={node} role="img" {onpointermove} {onpointerleave}
                aria-label="What log lines tell of memory, by the line of the text">
                { (*picture).clone() }
                { for tip }
            </div>
            <ul class="course-legend">{ for props.courses.quantities.iter().enumerate().map(entry) }</ul>
        </section>
    }
}

fn colour(theme: &Theme, place: usize) -> Rgb {
    ordinal_colour(theme, u32::try_from(place).unwrap_or(0))
}

/// The tooltip: the highest of each quantity under the pointer, as roundly as logs tell it.
fn tip(at: (f64, f64), area: PlotArea, courses: &Courses) -> Option<Html> {
    let theme = Theme::light();
    let style = Style::new(&theme, area.pixel_ratio);
    let x_px = at.0 * area.pixel_ratio;
    let columns = courses.quantities.first()?.highest_bytes.len();
    let column = ReservedChart::column_at(area.box_px(), &style, x_px, columns)?;
    let line = |quantity: &Quantity| {
        let bytes = quantity.highest_bytes.get(column).copied().flatten()?;
        Some(
            html! { <p class="pair"><span>{ &quantity.name }</span><span>{ display::bytes(bytes) }</span></p> },
        )
    };
    let lines: Vec<_> = courses.quantities.iter().filter_map(line).collect();
    let room = (area.box_width_css, area.box_height_css);
    (!lines.is_empty()).then(|| {
        html! { <div class="tooltip" role="tooltip" style={tooltip::position(at, room)}>{ for lines }</div> }
    })
}

fn pictured(courses: &Courses, area: PlotArea, theme: &Theme) -> Html {
    let lines = courses.lines.iter().map(|line| Line {
        bytes: &line.bytes,
        first: line.first as usize,
        colour: colour(theme, line.quantity as usize),
        width_css: 1.0,
        is_dashed: false,
    });
    let chart = ReservedChart {
        unit: XUnit::Events,
        x_end: courses.text_lines as f64,
        active_bytes: &[],
        lines: lines.collect(),
        limit_bytes: None,
        refused_x: &[],
    };
    let (mut scene, size) = (Scene::default(), area.box_px());
    chart.draw(&mut scene, size, &Style::new(theme, area.pixel_ratio));
    drawing(&scene, size)
}
