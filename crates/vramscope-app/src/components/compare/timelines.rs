//! Both recordings on one axis, one above the other; a click sets that side's moment.

use plotters::prelude::*;
use web_sys::Element;
use yew::prelude::*;

use super::ComparedRef;
use crate::canvas::PlotArea;
use crate::components::hooks::use_plot_area;
use crate::protocol::ThemeName;
use crate::protocol::views::compare::Compared;
use crate::state::choices::{CompareChoices, SideChoice, SideWhat, Which};
use vramscope_view::chart::Style;
use vramscope_view::stacked_curves::{Row, draw, hit};
use vramscope_view::theme::Theme;

const FONT: &str = "system-ui, sans-serif";

/// Properties of [`Timelines`].
#[derive(Properties, PartialEq)]
pub(super) struct TimelinesProps {
    pub(super) compared: ComparedRef,
    /// What is written above each.
    pub(super) titles: [AttrValue; 2],
    pub(super) choices: CompareChoices,
    pub(super) theme: ThemeName,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// Both recordings.
#[component]
pub(super) fn Timelines(props: &TimelinesProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let what = (
        props.compared.clone(),
        props.titles.clone(),
        area,
        props.theme,
    );
    let picture = use_memo(what, |(compared, titles, area, theme)| {
        let svg = svg(compared.get()?, titles, (*area)?, *theme);
        Some(Html::from_html_unchecked(svg.into()))
    });
    let onclick = {
        let (compared, titles, node) = (props.compared.clone(), props.titles.clone(), node.clone());
        let (choices, on_choose, theme) =
            (props.choices.clone(), props.on_choose.clone(), props.theme);
        Callback::from(move |event: MouseEvent| {
            let (Some(area), Some(compared)) = (area, compared.get()) else {
                return;
            };
            let Some(bounds) = node
                .cast::<Element>()
                .map(|node| node.get_bounding_client_rect())
            else {
                return;
            };
            let at = (
                (f64::from(event.client_x()) - bounds.left()) * area.pixel_ratio,
                (f64::from(event.client_y()) - bounds.top()) * area.pixel_ratio,
            );
            let style = Style {
                theme: &Theme::of(theme),
                font: FONT,
                pixel_ratio: area.pixel_ratio,
            };
            if let Some((row, moment)) = hit(area.box_px(), &rows(compared, &titles), &style, at) {
                let which = if row == 0 {
                    Which::Before
                } else {
                    Which::After
                };
                let side = SideChoice {
                    what: SideWhat::Event(moment),
                    ..choices.side(which).clone()
                };
                on_choose.emit(choices.with_side(which, side));
            }
        })
    };
    html! {
        <div class="timelines" ref={node} role="img" {onclick} title="Click to compare another moment: the highest of what is under the pointer"
            aria-label="Active and reserved memory of both sides on one axis">
            { (*picture).clone() }
        </div>
    }
}

fn rows<'a>(compared: &'a Compared, titles: &'a [AttrValue; 2]) -> [Row<'a>; 2] {
    let [a, b] = titles;
    [(&compared.before, a), (&compared.after, b)].map(|(side, title)| Row {
        title: title.as_str(),
        curves: &side.curves,
        marks: &side.marks,
    })
}

fn svg(compared: &Compared, titles: &[AttrValue; 2], area: PlotArea, theme: ThemeName) -> String {
    let mut svg = String::new();
    let style = Style {
        theme: &Theme::of(theme),
        font: FONT,
        pixel_ratio: area.pixel_ratio,
    };
    let size = area.box_px();
    let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    // Drawing into text cannot fail.
    let _ = draw(&root, size, &rows(compared, titles), &style);
    drop(root);
    svg
}
