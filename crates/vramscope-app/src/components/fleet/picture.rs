//! The heat map with its axis, its legend and what is under the pointer.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::fleet::{Along, Answer, At, Drawing, Drawn, Memory, Question};
use wasm_bindgen::JsCast;
use web_sys::{Element, ImageBitmap, MouseEvent};
use yew::prelude::*;

use super::opening::Wish;
use super::{Edit, PartProps, on_choose, use_fleet};
use crate::canvas::PlotArea;
use crate::components::choice::Choice;
use crate::components::commands::use_commands;
use crate::components::drawing::{drawing, use_bitmap};
use crate::components::hooks::{use_painted, use_plot_area};
use crate::components::tooltip;
use crate::state::choices::FleetChoices;
use crate::state::{Action, Chosen, fleet_words};
use vramscope_view::display;
use vramscope_view::fleet::{draw, picture_px, row_span};
use vramscope_view::scene::{Area, Scene, Style};
use vramscope_view::theme::Theme;

/// The place of the pixels in the stage, device px.
fn picture(area: &PlotArea, drawn: &Drawn) -> Area {
    let room = area.picture();
    Area {
        height_px: picture_px(drawn.frame.rows, room.height_px, area.pixel_ratio),
        ..room
    }
}

#[component]
pub(super) fn HeatMap(props: &PartProps) -> Html {
    let (node, canvas) = (use_node_ref(), use_node_ref());
    let area = use_plot_area(&node);
    let ranks = props.file.ranks;
    let asked = area.map(|area| {
        let place = area.picture();
        Drawing {
            shown: props.shown(),
            look: props.look(),
            size_px: (place.width_px, place.height_px),
            pixel_ratio: area.pixel_ratio,
            theme: props.theme,
        }
    });
    let (answer, bitmap) = use_fleet(&props.session, asked.clone().map(Question::Draw)).unzip();
    let bitmap = bitmap.and_then(|it| it.dyn_into::<ImageBitmap>().ok());
    use_painted("fleet", bitmap.clone());
    use_bitmap(&canvas, bitmap);
    let drawn = match answer.flatten().as_deref() {
        Some(Answer::Drawn(drawn)) => Some(drawn.clone()),
        _ => None,
    };
    let frame = use_memo(
        (drawn.clone(), area, props.theme),
        |(drawn, area, theme)| Some(frame(drawn.as_ref()?, &(*area)?, *theme)),
    );
    let pointed = use_state_eq(|| None::<(f64, f64)>);
    let place = area.zip(drawn.as_ref());
    let place = place.map(|(area, drawn)| (area, picture(&area, drawn)));
    let over = pointed.and_then(|at| question(place, asked.as_ref(), at));
    let over = use_fleet(&props.session, over);
    let over = over.and_then(|(answer, _)| match answer.as_deref() {
        Some(Answer::At(at)) => Some(at.clone()),
        _ => None,
    });
    let chosen = use_chosen(props);
    let onclick = use_click(props, &node, place, asked.clone());
    let (set, stage) = (pointed.setter(), node.clone());
    let onpointermove =
        Callback::from(move |event: PointerEvent| set.set(place_in(&stage, &event)));
    let set = pointed.setter();
    let onpointerleave = Callback::from(move |_: PointerEvent| set.set(None));
    html! {
        <div class="fleet-picture">
            <div class="fleet-legend">{ for drawn.as_ref().map(|drawn| html! { <Legend drawn={drawn.clone()} choices={props.choices.clone()} /> }) }</div>
            <div class="stage" ref={node} role="img" aria-label="Memory of each rank over time" {onclick} onmousedown={keep_focus()} {onpointermove} {onpointerleave}>
                <div class="fleet-frame">{ (*frame).clone() }</div>
                <canvas ref={canvas} style={area.zip(drawn.as_ref()).map(|(area, drawn)| css(&picture(&area, drawn), &area))} />
                if let (Some(area), Some(drawn)) = (area, drawn.as_ref()) {
                    { for chosen.map(|row| outline("chosen", row, drawn, &area)) }
                    if let Some(at) = over.as_ref() { { outline("hovered", at.row, drawn, &area) } }
                    if drawn.frame.rows == 0 { <p class="fleet-none muted">{ fleet_words::none(ranks) }</p> }
                }
                if let (Some(at), Some(over), Some(area)) = (*pointed, over.as_ref(), area) {
                    <div class="tooltip" role="tooltip" style={tooltip::position(at, (area.box_width_css, area.box_height_css))}>{ tip(over, drawn.as_ref()) }</div>
                }
            </div>
        </div>
    }
}

/// The list keeps the focus, and with it the keys.
fn keep_focus() -> Callback<MouseEvent> {
    Callback::from(|event: MouseEvent| event.prevent_default())
}

/// The row of the chosen rank, if it is shown.
#[hook]
fn use_chosen(props: &PartProps) -> Option<u32> {
    let question = props.choices.rank.map(|rank| Question::Ranks {
        shown: props.shown(),
        first: 0,
        count: 0,
        locate: Some(rank),
    });
    let (answer, _) = use_fleet(&props.session, question)?;
    match answer.as_deref() {
        Some(Answer::Ranks(ranks)) => ranks.located.as_ref().map(|(row, _)| *row),
        _ => None,
    }
}

/// The question what is at a place of the stage, css px; `None` outside of the picture.
fn question(
    place: Option<(PlotArea, Area)>,
    asked: Option<&Drawing>,
    at_css: (f64, f64),
) -> Option<Question> {
    let (area, picture) = place?;
    let (x, y) = area.to_px(at_css);
    let drawing = asked?.clone();
    let (width, height) = (picture.width_px, picture.height_px);
    let is_inside = x >= 0.0 && y >= 0.0 && x < width.into() && y < height.into();
    let at_px = (x as u32, y as u32);
    is_inside.then_some(Question::At { drawing, at_px })
}

/// The pointer's place in the stage, css px.
fn place_in(node: &NodeRef, event: &MouseEvent) -> Option<(f64, f64)> {
    let rect = node.cast::<Element>()?.get_bounding_client_rect();
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    Some((x - rect.left(), y - rect.top()))
}

/// Opens what is clicked.
#[hook]
fn use_click(
    props: &PartProps,
    node: &NodeRef,
    place: Option<(PlotArea, Area)>,
    asked: Option<Drawing>,
) -> Callback<MouseEvent> {
    let commands = use_commands();
    let (props, node) = (props.clone(), node.clone());
    Callback::from(move |event: MouseEvent| {
        let at = place_in(&node, &event);
        let Some(question) = at.and_then(|at| question(place, asked.as_ref(), at)) else {
            return;
        };
        let (on_open, choices) = (props.on_open.clone(), props.choices.clone());
        let dispatch = commands.dispatch.clone();
        props
            .session
            .ask_once(question, move |answer: Option<Answer>, _| {
                if let Some(Answer::At(at)) = answer {
                    let rank = at.rank.id;
                    dispatch.emit(Action::Choose(Chosen::Fleet(choices.with_rank(rank))));
                    on_open.emit(Wish {
                        rank,
                        at: Some((at.look, at.place)),
                        compares: false,
                    });
                }
            });
    })
}

fn frame(drawn: &Drawn, area: &PlotArea, theme: ThemeName) -> Html {
    let theme = Theme::of(theme);
    let mut scene = Scene::default();
    let style = Style::new(&theme, area.pixel_ratio);
    draw(&mut scene, &picture(area, drawn), &drawn.frame, &style);
    drawing(&scene, area.box_px())
}

fn css(place: &Area, area: &PlotArea) -> String {
    let css = |px: f64| px / area.pixel_ratio;
    format!(
        "left:{}px;top:{}px;width:{}px;height:{}px",
        css(place.x_px.into()),
        css(place.y_px.into()),
        css(place.width_px.into()),
        css(place.height_px.into())
    )
}

fn outline(class: &'static str, row: u32, drawn: &Drawn, area: &PlotArea) -> Html {
    let whole = picture(area, drawn);
    let (top, bottom) = row_span(row, drawn.frame.rows, whole.height_px);
    let place = Area {
        y_px: whole.y_px.saturating_add_unsigned(top),
        height_px: bottom - top,
        ..whole
    };
    html! { <div class={classes!("fleet-row", class)} style={css(&place, area)} /> }
}

fn tip(at: &At, drawn: Option<&Drawn>) -> Html {
    let whereabouts = fleet_words::whereabouts(&at.rank);
    html! {
        <>
            <p><strong>{ format!("Rank {}", at.rank.number) }</strong>
                if !whereabouts.is_empty() { <span class="muted">{ format!(" · {whereabouts}") }</span> }</p>
            <p>{ format!("{}: {}", fleet_words::place(at, drawn.and_then(|drawn| drawn.start_us)), fleet_words::at(at)) }</p>
            <p class="muted">{ format!("peak {} · click opens the snapshot here", display::bytes(at.rank.peak_bytes)) }</p>
        </>
    }
}

#[derive(Properties, PartialEq)]
struct LegendProps {
    drawn: Drawn,
    choices: FleetChoices,
}

/// What is shown, and what colours and marks mean.
#[component]
fn Legend(props: &LegendProps) -> Html {
    let drawn = &props.drawn;
    let commands = use_commands();
    let choose = |edit: Edit| on_choose(&commands, &props.choices, edit);
    let memories = vec![
        ("active", "What the program had allocated"),
        ("reserved", "What was taken from the device"),
    ];
    let alongs: Vec<(Along, (&str, &str))> = vec![
        (Along::Clock, ("clock", "By the clocks of the hosts")),
        (
            Along::Start,
            ("start", "Each rank from its own first event on"),
        ),
        (Along::Step, ("step", "By the numbers of steps")),
    ];
    let offered = |along: Along| match along {
        Along::Clock => drawn.offers.clock,
        Along::Start => true,
        Along::Step => drawn.offers.steps,
    };
    let alongs: Vec<_> = alongs
        .into_iter()
        .filter(|(along, _)| offered(*along))
        .collect();
    let chosen = alongs
        .iter()
        .position(|(along, _)| *along == drawn.look.along);
    // As offered above.
    let on_along = match (drawn.offers.clock, drawn.offers.steps) {
        (true, _) => choose(|choices, place| {
            choices.along = [Along::Clock, Along::Start, Along::Step][place.min(2)];
        }),
        (false, _) => choose(|choices, place| {
            choices.along = [Along::Start, Along::Step][place.min(1)];
        }),
    };
    let colours: Vec<String> = drawn
        .ramp
        .iter()
        .map(|[r, g, b]| format!("rgb({r} {g} {b})"))
        .collect();
    let ramp = format!("background:linear-gradient(to right,{})", colours.join(","));
    html! {
        <>
            if drawn.offers.reserved {
                <Choice label="Memory" options={memories} chosen={usize::from(drawn.look.memory == Memory::Reserved)}
                    on_choose={choose(|choices, place| choices.memory = if place == 1 { Memory::Reserved } else { Memory::Active })} />
            }
            if alongs.len() > 1 {
                <Choice label="Time" options={alongs.iter().map(|(_, words)| *words).collect::<Vec<_>>()} chosen={chosen.unwrap_or(0)} on_choose={on_along} />
            }
            <span class="muted axis">{ fleet_words::axis(drawn) }</span>
            <span class="grow" />
            <span class="key"><span>{ "0" }</span><span class="ramp" style={ramp} /><span>{ display::bytes(drawn.highest_bytes) }</span></span>
            <span class="key"><span class="mark peak" />{ "peak" }</span>
            <span class="key"><span class="mark oom" />{ "out of memory" }</span>
            if drawn.blank > 0 { <span class="muted">{ format!("{} blank: no such times", drawn.blank) }</span> }
        </>
    }
}
