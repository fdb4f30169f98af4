//! The selected buffer: the nodes that write and read it, and its lifetime.

use vramscope_protocol::views::graph::{Answer, BufferDetails, Question};
use yew::prelude::*;

use vramscope_view::display;

use super::PartProps;
use crate::components::commands::use_commands;
use crate::components::hooks::use_answer;
use crate::components::icons::{Glyph, Icon};
use crate::state::{Action, GraphAction, graph_words};

/// A strip of two lines below the chart.
#[component]
pub(super) fn BufferStrip(props: &PartProps) -> Html {
    let commands = use_commands();
    let buffer = props.graphs.place.buffer;
    let question = buffer.map(|buffer| Question::Buffer {
        key: props.shown,
        buffer,
    });
    let answered = use_answer(&props.session, question);
    let facts = answered
        .as_ref()
        .and_then(|answered| match answered.answer.as_deref() {
            Some(Answer::Buffer(facts)) if Some(facts.line.buffer) == buffer => Some(facts),
            _ => None,
        });
    let Some(facts) = facts else {
        return html! {
            <div class="graph-buffer muted"><p>{ "Click a bar or a row: who makes that buffer, who uses it, and when." }</p></div>
        };
    };
    let go = |step: u32, name: &str| {
        let title = format!("Go to step {}", display::count(u64::from(step)));
        let text = format!("{name} ({})", display::count(u64::from(step)));
        html! { <button type="button" class="link" {title} onclick={commands.on(Action::Graph(GraphAction::Step(step)))}>{ text }</button> }
    };
    let further = facts.all_users as usize - facts.users.len();
    let line = &facts.line;
    html! {
        <div class="graph-buffer" role="region" aria-label="Selected buffer">
            <p>
                <strong>{ &line.name }</strong>
                <span title={display::bytes_exact(line.bytes)}>{ format!(" · {} · {}", display::bytes(line.bytes), graph_words::kind(line.kind)) }</span>
                <span class="muted">{ format!(" · {}", graph_words::buffer_life(facts)) }</span>
                { parts(facts) }
            </p>
            <p>
                if let Some(step) = facts.made_at { <span class="muted">{ "Made by " }</span>{ go(step, &line.node) }<span class="muted">{ " · " }</span> }
                if facts.users.is_empty() {
                    <span class="muted">{ "No node uses it" }</span>
                } else {
                    <span class="muted">{ "Used by " }</span>{ for facts.users.iter().map(|(step, name)| go(*step, name)) }
                }
                if further > 0 { <span class="muted">{ format!(" and {further} more") }</span> }
            </p>
            <button type="button" class="square" title="Deselect (Escape)" aria-label="Deselect the buffer"
                onclick={commands.on(Action::Graph(GraphAction::Select(None)))}><Glyph icon={Icon::Close} /></button>
        </div>
    }
}

/// How a buffer shares memory with others.
fn parts(facts: &BufferDetails) -> Html {
    if let Some((_, name)) = &facts.origin {
        return html! { <span class="muted">{ format!(" · a part of what was allocated for {name}") }</span> };
    }
    if facts.freed_bytes < facts.allocated_bytes {
        return html! { <span class="muted">{ " · allocated for several outputs, which are freed one by one" }</span> };
    }
    Html::default()
}
