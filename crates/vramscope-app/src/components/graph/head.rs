//! The head of a graph: its choice, its facts, and the user's addition to its memory.

use std::rc::Rc;

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::graph::{Bars, BufferKind};
use web_sys::HtmlInputElement;
use yew::prelude::*;

use vramscope_core::analysis::search::filter::parse_bytes;
use vramscope_view::display;

use crate::components::choice::{Choice, Select};
use crate::components::commands::use_commands;
use crate::components::icons::{Glyph, Icon};
use crate::state::typed_size::typed_bytes;
use crate::state::{Action, GraphAction, OpenGraphs, graph_words};
use vramscope_view::graph::bars::kind_colour;
use vramscope_view::theme::Theme;

/// The most notes shown at once.
const MOST_NOTES: usize = 2;

#[derive(Properties, PartialEq)]
pub(super) struct HeadProps {
    pub(super) graphs: Rc<OpenGraphs>,
    pub(super) theme: ThemeName,
}

/// The bar on top, and the notes on the file.
#[component]
pub(super) fn Head(props: &HeadProps) -> Html {
    let commands = use_commands();
    let graphs = &props.graphs;
    let names: Vec<AttrValue> = (graphs.opened.graphs.iter())
        .map(|facts| facts.name.clone().into())
        .collect();
    let act = |action: fn(usize) -> GraphAction| {
        commands
            .dispatch
            .reform(move |place| Action::Graph(action(place)))
    };
    let bars = vec![
        ("rows", "Below: a row for each buffer, by birth"),
        (
            "packed",
            "Below: the buffers placed in memory without overlap, as low as greedy packing gets; heights are bytes",
        ),
    ];
    let on_bars =
        act(|place| GraphAction::Bars(if place == 1 { Bars::Packed } else { Bars::Rows }));
    let facts = graphs.facts().map(graph_words::graph);
    let notes = &graphs.opened.notes;
    let further = notes.len().saturating_sub(MOST_NOTES);
    html! {
        <div class="graph-head">
            if names.len() > 1 {
                <Select label={format!("Graph ({} in this file)", names.len())} options={names} chosen={graphs.number()} on_choose={act(GraphAction::Show)} />
            } else {
                <strong class="name">{ names.first().cloned() }</strong>
            }
            <span class="grow facts" title={facts.clone()}>{ facts }</span>
            <span class="kinds" aria-label="Colours of buffers">{ for KINDS.map(|kind| legend(kind, props.theme)) }</span>
            <Constant bytes={graphs.place.constant_bytes} key={graphs.number()} />
            <Choice label="Buffers' lives" options={bars} chosen={usize::from(graphs.place.bars == Bars::Packed)} on_choose={on_bars} />
            if !notes.is_empty() {
                <div class="graph-notes" role="region" aria-label="Notes on this file">
                    { for notes.iter().take(MOST_NOTES).map(|note| html! { <p><Glyph icon={Icon::Warning} /> { &note.text }</p> }) }
                    if further > 0 {
                        <details><summary>{ format!("{further} more") }</summary>
                            { for notes.iter().skip(MOST_NOTES).map(|note| html! { <p>{ &note.text }</p> }) }
                        </details>
                    }
                </div>
            }
        </div>
    }
}

const KINDS: [BufferKind; 3] = [
    BufferKind::Intermediate,
    BufferKind::FreeableInput,
    BufferKind::Output,
];

fn legend(kind: BufferKind, theme: ThemeName) -> Html {
    html! { <span title={graph_words::kind_meaning(kind)}><i class="swatch" style={kind_style(kind, theme)} />{ graph_words::kind(kind) }</span> }
}

/// The colour of a kind of buffer as a style, as in the chart.
pub(super) fn kind_style(kind: BufferKind, theme: ThemeName) -> String {
    let [r, g, b] = kind_colour(&Theme::of(theme), kind as usize, false);
    format!("background:rgb({r} {g} {b})")
}

#[derive(Properties, PartialEq)]
struct ConstantProps {
    bytes: u64,
}

/// The field for constant memory that the export does not hold.
#[component]
fn Constant(props: &ConstantProps) -> Html {
    let commands = use_commands();
    // An invalid text stays in the field, with its error.
    let wrong = use_state_eq(|| None::<(String, String)>);
    let onchange = {
        let wrong = wrong.clone();
        Callback::from(move |event: Event| {
            let field = event.target_dyn_into::<HtmlInputElement>();
            let text = field.map(|field| field.value()).unwrap_or_default();
            match typed_bytes(&text) {
                Ok(bytes) => {
                    wrong.set(None);
                    let action = GraphAction::Constant(bytes);
                    commands.dispatch.emit(Action::Graph(action));
                }
                Err(why) => wrong.set(Some((text, why))),
            }
        })
    };
    let (text, why) = match &*wrong {
        Some((text, why)) => (text.clone(), Some(why)),
        None if props.bytes == 0 => (String::new(), None),
        None => (exact(props.bytes), None),
    };
    html! {
        <label title="The export lacks parameters, arguments and tangents, which are always live: their bytes are added throughout">
            { "Add for parameters" }
            <input type="text" size="9" placeholder="0 B" value={text} aria-invalid={why.map(|_| "true")} {onchange} />
            if let Some(why) = why { <span class="refusal" role="alert">{ why }</span> }
        </label>
    }
}

/// A size as short text if that parses to the same number of bytes, else in bytes.
fn exact(bytes: u64) -> String {
    let short = display::bytes(bytes);
    if parse_bytes(&short) == Ok(bytes) {
        short
    } else {
        format!("{bytes} B")
    }
}
