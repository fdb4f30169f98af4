//! The list of nodes in order. The active row is the cursor's step.

use vramscope_protocol::views::graph::{Answer, NodeStep, Question};
use yew::prelude::*;

use vramscope_view::display;

use super::PartProps;
use crate::components::commands::use_commands;
use crate::components::hooks::use_answer;
use crate::components::virtual_list::{VirtualList, use_window};
use crate::state::{Action, GraphAction};

const ROW_PX: f64 = 22.0;
const HEAD_PX: f64 = 24.0;

#[component]
pub(super) fn NodeList(props: &PartProps) -> Html {
    let commands = use_commands();
    let (seen, on_window) = use_window();
    let question = Question::Nodes {
        key: props.shown,
        first: seen.start,
        count: seen.end - seen.start,
    };
    let answered = use_answer(&props.session, Some(question));
    let is_current = |question: &Question| matches!(question, Question::Nodes { key, .. } if key.graph == props.shown.graph);
    let lines = answered
        .filter(|answered| is_current(&answered.question))
        .and_then(|answered| answered.answer);
    let rows = props.graphs.facts().map_or(0, |facts| facts.nodes);
    let select = commands
        .dispatch
        .reform(|buffer| Action::Graph(GraphAction::Select(Some(buffer))));
    let hover = commands
        .dispatch
        .reform(|buffer| Action::Graph(GraphAction::Hover(buffer)));
    let marked = (props.graphs.place.buffer, props.graphs.hovered);
    let row = {
        Callback::from(move |row: u32| {
            let Some(Answer::Nodes(nodes)) = lines.as_deref() else {
                return Html::default();
            };
            let first = nodes.first().map_or(0, |node| node.step);
            let node = row
                .checked_sub(first)
                .and_then(|row| nodes.get(row as usize));
            node.map_or_else(Html::default, |node| cells(node, marked, (&select, &hover)))
        })
    };
    let on_active = commands
        .dispatch
        .reform(|step| Action::Graph(GraphAction::Step(step)));
    let active = props.graphs.step().filter(|&step| step < rows);
    let header = html! {
        <div class="node-row head"><span class="number">{ "Step" }</span><span>{ "Node" }</span><span>{ "Makes" }</span>
            <span class="number">{ "Allocates" }</span>
            <span class="number" title="While the node runs: its inputs and outputs are live">{ "Memory" }</span>
            <span class="number" title="After it has run and freed what it used last">{ "After" }</span></div>
    };
    html! {
        <section class="graph-list" aria-label="Nodes">
            <div class="list-title"><h3 class="grow">{ "Nodes in order" }</h3></div>
            <div class="list-rows">
                <VirtualList ids="node" label="Nodes in order" {rows} row_px={ROW_PX} head_px={HEAD_PX} {header} {row} {active} {on_window} {on_active} is_narrow=true takes_focus=true />
            </div>
        </section>
    }
}

fn cells(
    node: &NodeStep,
    (selected, hovered): (Option<u32>, Option<u32>),
    (select, hover): (&Callback<u32>, &Callback<Option<u32>>),
) -> Html {
    let output = |(buffer, name): &(u32, String)| {
        let (select, buffer) = (select.clone(), *buffer);
        let onclick = Callback::from(move |_: MouseEvent| select.emit(buffer));
        let is_selected = selected == Some(buffer);
        let is_hovered = hovered == Some(buffer);
        let class = classes!(
            "link",
            is_selected.then_some("selected"),
            is_hovered.then_some("hovered")
        );
        let onpointerenter = hover.reform(move |_: PointerEvent| Some(buffer));
        let onpointerleave = hover.reform(|_: PointerEvent| None);
        html! { <button type="button" tabindex="-1" {class} {onclick} {onpointerenter} {onpointerleave}>{ name }</button> }
    };
    let further = node.all_outputs - node.outputs.len() as u32;
    html! {
        <div class="node-row">
            <span class="number">{ display::count(u64::from(node.step)) }</span>
            <span title={node.name.clone()}>{ &node.name }</span>
            <span class="outputs">{ for node.outputs.iter().map(output) }
                if further > 0 { <span class="muted">{ format!(" +{further}") }</span> }</span>
            <span class="number" title={display::bytes_exact(node.bytes)}>{ display::bytes(node.bytes) }</span>
            <span class="number" title={display::bytes_exact(node.during_bytes)}>{ display::bytes(node.during_bytes) }</span>
            <span class="number" title={display::bytes_exact(node.after_bytes)}>{ display::bytes(node.after_bytes) }</span>
        </div>
    }
}
