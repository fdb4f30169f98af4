//! The chart: memory by step above, lifetimes of buffers below, and the cursor across both.

use vramscope_protocol::Picture;
use vramscope_protocol::views::graph::{Answer, DrawGraph, Placed, Question, Tip};
use wasm_bindgen::JsCast;
use web_sys::ImageBitmap;
use yew::prelude::*;

use super::PartProps;
use super::picture::{curves, parts};
use crate::canvas::PlotArea;
use crate::components::commands::use_commands;
use crate::components::drawing::use_bitmap;
use crate::components::hooks::{use_answer, use_painted, use_plot_area, use_pointer, use_wheel};
use crate::components::tooltip;
use crate::state::{Action, GraphAction, Shared, graph_words};
use vramscope_view::display;
use vramscope_view::graph::curves::{bars_viewport, ink};
use vramscope_view::scene::Area;
use vramscope_view::theme::Theme;

#[component]
pub(super) fn Stage(props: &PartProps) -> Html {
    let commands = use_commands();
    let graphs = &props.graphs;
    let (node, canvas) = (use_node_ref(), use_node_ref());
    let area = use_plot_area(&node);
    use_wheel(&node, area, commands.dispatch.clone());
    let pointer = use_pointer(
        (area, Picture::default()),
        None,
        None,
        commands.dispatch.clone(),
    );
    let draw = area.map(|area| draw_of(props, &area));
    let (asked, answer) = use_drawn(props, draw, &canvas);
    let steps = graphs.facts().map_or(0, |facts| facts.nodes);
    let what = (answer.clone(), area, steps);
    let picture = use_memo(what, move |&(ref answer, area, steps)| {
        let (Some(Answer::Drawn(drawn)), Some(asked)) = (answer.as_deref(), asked) else {
            return None;
        };
        Some(curves(drawn, &asked, steps, &area?))
    });
    let tip = use_hovered(
        props,
        area,
        draw,
        pointer.at.filter(|_| !pointer.is_panning),
    );
    use_click(props, area, draw);
    let selected = use_placed(props, draw, graphs.place.buffer);
    let hovered = graphs
        .hovered
        .filter(|_| graphs.hovered != graphs.place.buffer);
    let hovered = use_placed(props, draw, hovered);
    let handlers = pointer.handlers;
    let room = area.map_or((0.0, 0.0), |area| (area.box_width_css, area.box_height_css));
    html! {
        <div class={classes!("stage", pointer.is_panning.then_some("panning"))} ref={node} role="img" tabindex="0"
            aria-label="Memory by step in each order, and below every buffer's life"
            onpointerdown={handlers.onpointerdown} onpointermove={handlers.onpointermove} onpointerup={handlers.onpointerup}
            onpointercancel={handlers.onpointercancel} onpointerleave={handlers.onpointerleave}>
            <div class="graph-curves">{ (*picture).clone() }</div>
            <canvas ref={canvas} style={area.map(|area| place_css(&parts(&area).1, &area))} />
            if let (Some(area), Some(draw)) = (area, draw) { { over_bars(graphs.step(), hovered, selected, &draw, &area) } }
            if let (Some(at), Some(tip)) = (*pointer.at, tip) {
                <div class="tooltip graph-tip" role="tooltip" style={tooltip::position(at, room)}>{ tip_lines(&tip, props) }</div>
            }
        </div>
    }
}

/// Requests the chart's data and draws its bars on the canvas. Returns the question that was
/// answered, and the answer for the curves.
#[hook]
fn use_drawn(
    props: &PartProps,
    draw: Option<DrawGraph>,
    canvas: &NodeRef,
) -> (Option<DrawGraph>, Option<Shared<Answer>>) {
    let answered = use_answer(&props.session, draw.map(Question::Draw));
    let is_current = |question: &Question| matches!(question, Question::Draw(draw) if draw.key.graph == props.shown.graph);
    let answered = answered.filter(|answered| is_current(&answered.question));
    let answer = answered
        .as_ref()
        .and_then(|answered| answered.answer.clone());
    use_painted("graph", answer.clone());
    let bitmap = answered
        .as_ref()
        .and_then(|answered| answered.attachment.clone().dyn_into::<ImageBitmap>().ok());
    use_bitmap(canvas, bitmap);
    let asked = answered.and_then(|answered| match answered.question {
        Question::Draw(draw) => Some(draw),
        _ => None,
    });
    (asked, answer)
}

/// The cursor's step, and outlines of the hovered and the selected buffer.
fn over_bars(
    step: Option<u32>,
    hovered: Option<Placed>,
    selected: Option<Placed>,
    draw: &DrawGraph,
    area: &PlotArea,
) -> Html {
    html! {
        <>
            { for step.and_then(|step| cursor(step, draw, area)) }
            { for hovered.and_then(|placed| Some(outline("hovered", placed.outline?, &[], area))) }
            { for selected.and_then(|placed| Some(outline("selected", placed.outline?, &placed.uses_px, area))) }
        </>
    }
}

fn draw_of(props: &PartProps, area: &PlotArea) -> DrawGraph {
    let (_, below) = parts(area);
    let place = &props.graphs.place;
    DrawGraph {
        key: props.shown,
        bars: place.bars,
        x: props.graphs.x(),
        width_px: below.width_px,
        height_px: below.height_px,
        theme: props.theme,
    }
}

/// The position of a buffer in the chart.
#[hook]
fn use_placed(props: &PartProps, draw: Option<DrawGraph>, buffer: Option<u32>) -> Option<Placed> {
    let question = draw
        .zip(buffer)
        .map(|(draw, buffer)| Question::Place { draw, buffer });
    let answered = use_answer(&props.session, question)?;
    let is_it = matches!(&answered.question, Question::Place { draw, buffer: of } if Some(*of) == buffer && draw.key.graph == props.shown.graph);
    match answered.answer.as_deref() {
        Some(Answer::Placed(placed)) if is_it => Some(placed.clone()),
        _ => None,
    }
}

/// Converts a position in the stage (CSS px) to the worker's: device px from the left of the chart
/// and from the top of the bars.
fn of_bars(at: (f64, f64), area: &PlotArea) -> (f64, f64) {
    let (x_px, y_px) = area.to_px(at);
    (x_px, y_px - f64::from(bars_top_px(area)))
}

/// Distance from the top of the chart to the top of the bars, device px.
fn bars_top_px(area: &PlotArea) -> i32 {
    let (above, below) = parts(area);
    below.y_px - above.y_px
}

/// The step and the buffer under the pointer.
#[hook]
fn use_hovered(
    props: &PartProps,
    area: Option<PlotArea>,
    draw: Option<DrawGraph>,
    at: Option<(f64, f64)>,
) -> Option<Tip> {
    let inside = at.zip(area).filter(|(at, area)| area.contains(*at));
    let question = inside.zip(draw).map(|((at, area), draw)| {
        let (x_px, y_px) = of_bars(at, &area);
        Question::Hit { draw, x_px, y_px }
    });
    let answered = use_answer(&props.session, question);
    let tip = answered.and_then(|answered| match answered.answer.as_deref() {
        Some(Answer::Tip(tip)) => Some(tip.clone()),
        _ => None,
    });
    let commands = use_commands();
    let buffer = tip.as_ref().and_then(|tip| tip.buffer.as_ref());
    // The lists mark the hovered buffer too.
    use_effect_with(buffer.map(|line| line.buffer), move |&buffer| {
        commands
            .dispatch
            .emit(Action::Graph(GraphAction::Hover(buffer)));
    });
    tip
}

/// Handles a click: moves the cursor to its step; among the bars, selects the buffer there. Waits
/// for the answer.
#[hook]
fn use_click(props: &PartProps, area: Option<PlotArea>, draw: Option<DrawGraph>) {
    let commands = use_commands();
    let clicked = props.graphs.clicked.zip(area).zip(draw);
    let question = clicked.map(|(((x_px, y_px), area), draw)| Question::Hit {
        draw,
        x_px,
        y_px: y_px - f64::from(bars_top_px(&area)),
    });
    let answered = use_answer(&props.session, question.clone());
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let answer = answered.and_then(|answered| answered.answer);
    use_effect_with(answer, move |answer| {
        if let (Some(Answer::Tip(tip)), Some(Question::Hit { y_px, .. })) =
            (answer.as_deref(), question)
        {
            let buffer = tip.buffer.as_ref().map(|line| line.buffer);
            // A click on the curves keeps the selected buffer.
            let buffer = (y_px >= 0.0).then_some(buffer);
            let action = GraphAction::Clicked(tip.step, buffer);
            commands.dispatch.emit(Action::Graph(action));
        }
    });
}

/// A rectangle in device px as a style.
fn place_css(place: &Area, area: &PlotArea) -> String {
    let css = |px: f64| px / area.pixel_ratio;
    format!(
        "left:{}px;top:{}px;width:{}px;height:{}px",
        css(f64::from(place.x_px)),
        css(f64::from(place.y_px)),
        css(f64::from(place.width_px)),
        css(f64::from(place.height_px))
    )
}

/// The cursor, as wide as its step.
fn cursor(step: u32, draw: &DrawGraph, area: &PlotArea) -> Option<Html> {
    let view = bars_viewport(draw.x, 1.0, (draw.width_px, 1));
    let width = f64::from(draw.width_px);
    let (from, to) = (
        view.x_px(f64::from(step)).max(0.0),
        view.x_px(f64::from(step) + 1.0).min(width),
    );
    if to <= from {
        return None;
    }
    let (left, top) = area.to_css((from, 0.0));
    let (_, height) = area.size_px();
    let (right, bottom) = area.to_css((to, f64::from(height)));
    let style = format!(
        "left:{left}px;top:{top}px;width:{}px;height:{}px",
        right - left,
        bottom - top
    );
    Some(html! { <div class="step-cursor" {style} /> })
}

/// The outline of a buffer's bar, and marks at the steps that use it.
fn outline(
    class: &'static str,
    [left, top, right, bottom]: [f64; 4],
    uses_px: &[f64],
    area: &PlotArea,
) -> Html {
    let down = f64::from(bars_top_px(area));
    let (x, y) = area.to_css((left, top + down));
    let (x_end, y_end) = area.to_css((right, bottom + down));
    let style = format!(
        "left:{x}px;top:{y}px;width:{}px;height:{}px",
        (x_end - x).max(2.0),
        (y_end - y).max(2.0)
    );
    let tick = |at: &f64| {
        let (x, _) = area.to_css((*at, 0.0));
        html! { <i class="use" style={format!("left:{x}px;top:{y}px;height:{}px", (y_end - y).max(6.0))} /> }
    };
    html! { <><div class={classes!("bar-outline", class)} {style} />{ for uses_px.iter().map(tick) }</> }
}

fn tip_lines(tip: &Tip, props: &PartProps) -> Html {
    let step = display::count(u64::from(tip.step));
    let head = if tip.node.is_empty() {
        "at the end".to_owned()
    } else {
        format!("step {step} · {}", tip.node)
    };
    let Some(buffer) = &tip.buffer else {
        let theme = Theme::of(props.theme);
        let memory = tip.memory.iter().enumerate().map(|(place, (order, bytes))| {
            let [r, g, b] = ink(&theme, place);
            html! {
                <p class="pair" key={place}><span><i class="swatch" style={format!("background:rgb({r} {g} {b})")} />{ graph_words::order(*order) }</span>
                    <span>{ display::bytes(*bytes) }</span></p>
            }
        });
        return html! { <><p><strong>{ head }</strong></p>{ for memory }</> };
    };
    html! {
        <>
            <p><strong>{ &buffer.name }</strong>{ format!(" · {}", display::bytes(buffer.bytes)) }
                <span class="muted">{ format!(" · {}", graph_words::kind(buffer.kind)) }</span></p>
            <p class="muted">{ format!("steps {}", graph_words::life(buffer)) }</p>
            if !buffer.node.is_empty() { <p class="muted">{ format!("made by {}", buffer.node) }</p> }
            <p class="muted">{ head }</p>
        </>
    }
}
