//! The curves of both recordings on one axis, one above the other. A click sets the moment of that
//! side.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::compare::{Compared, Profile};
use web_sys::Element;
use yew::prelude::*;

use super::ComparedRef;
use crate::canvas::PlotArea;
use crate::components::drawing::drawing;
use crate::components::hooks::use_plot_area;
use crate::state::choices::{CompareChoices, SideChoice, SideWhat, Which};
use vramscope_view::scene::{Scene, Style};
use vramscope_view::stacked_curves::{Mark, Row, draw, hit};
use vramscope_view::theme::Theme;

#[derive(Properties, PartialEq)]
pub(super) struct TimelinesProps {
    pub(super) compared: ComparedRef,
    /// The titles of the recordings; one if both sides are of the same recording.
    pub(super) titles: Vec<AttrValue>,
    pub(super) choices: CompareChoices,
    pub(super) theme: ThemeName,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// The curves of both recordings, with the sides' moments as marks.
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
        Some(pictured(compared.get()?, titles, (*area)?, *theme))
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
            let theme = Theme::of(theme);
            let style = Style::new(&theme, area.pixel_ratio);
            if let Some(found) = hit(area.box_px(), &rows(compared, &titles), &style, at) {
                // If both sides are of one recording, the nearer mark moves.
                let which = match (found.row, found.letter) {
                    (_, "A") => Which::Before,
                    (_, "B") => Which::After,
                    (0, _) => Which::Before,
                    _ => Which::After,
                };
                let side = SideChoice {
                    what: SideWhat::Event(found.moment),
                    ..choices.side(which).clone()
                };
                on_choose.emit(choices.with_side(which, side));
            }
        })
    };
    html! {
        <div class={classes!("timelines", (props.titles.len() == 1).then_some("one"))} ref={node} role="img" {onclick} title="Click to compare another moment: the highest of what is under the pointer"
            aria-label="Live and reserved memory of both sides on one axis">
            { (*picture).clone() }
        </div>
    }
}

fn rows<'a>(compared: &'a Compared, titles: &'a [AttrValue]) -> Vec<Row<'a>> {
    let sides = [(&compared.before, "A"), (&compared.after, "B")];
    let marks = sides.map(|(side, letter)| {
        let marks = side.marks.iter().map(move |&at| Mark { at, letter });
        marks.collect::<Vec<_>>()
    });
    let row = |(side, marks): (&'a Profile, Vec<Mark<'a>>), title: &'a AttrValue| Row {
        title: title.as_str(),
        curves: &side.curves,
        marks,
    };
    match titles {
        [both] => vec![row((sides[0].0, marks.concat()), both)],
        _ => (sides.into_iter().zip(marks).zip(titles))
            .map(|(((side, _), marks), title)| row((side, marks), title))
            .collect(),
    }
}

fn pictured(compared: &Compared, titles: &[AttrValue], area: PlotArea, theme: ThemeName) -> Html {
    let (theme, size) = (Theme::of(theme), area.box_px());
    let style = Style::new(&theme, area.pixel_ratio);
    let mut scene = Scene::default();
    draw(&mut scene, (0, 0), size, &rows(compared, titles), &style);
    drawing(&scene, size)
}
