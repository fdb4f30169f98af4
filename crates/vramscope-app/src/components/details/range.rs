//! The selected range: what it holds, what it stands for in all views, and where to go with it.

use vramscope_protocol::RangeFacts;
use yew::prelude::*;

use crate::components::commands::use_commands;
use crate::state::choices::CompareChoices;
use crate::state::selected::OfRange;
use crate::state::{Action, Chosen, Navigation, RangeChoices, ViewKind, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct RangePanelProps {
    pub(super) facts: RangeFacts,
    /// What the range stands for.
    pub(super) of_range: OfRange,
    pub(super) compare: CompareChoices,
    /// Whether the view shows a picture over the x axis.
    pub(super) has_picture: bool,
}

/// The range in figures, each of which can be chosen for all views.
#[component]
pub(super) fn RangePanel(props: &RangePanelProps) -> Html {
    let commands = use_commands();
    let facts = &props.facts;
    let (first, last) = facts.moments;
    let part = |of: OfRange| {
        let (words, count, bytes) = match of {
            OfRange::Allocated => ("allocated", facts.allocated, facts.allocated_bytes),
            OfRange::Retained => (
                "of these still live",
                facts.surviving,
                facts.surviving_bytes,
            ),
            OfRange::Freed => ("freed", facts.freed, facts.freed_bytes),
        };
        let onclick = commands.on(Action::Choose(Chosen::Range(RangeChoices { of })));
        html! {
            <li>
                <button type="button" aria-pressed={(of == props.of_range).to_string()} {onclick}
                    title="Show these in the legend, the flame graph and the table">
                    <span class="grow">{ words }</span>
                    <span class="number muted">{ sentences::count_of(u64::from(count), "allocation", "allocations") }</span>
                    <span class="number bytes" title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</span>
                </button>
            </li>
        }
    };
    let length = sentences::count_of(u64::from(last.saturating_sub(first)), "event", "events");
    let lasted = facts
        .time_x
        .map(|(from, to)| format!(", {}", display::duration((to - from) as i64)));
    let several = |actions: Vec<Action>| {
        let dispatch = commands.dispatch.clone();
        Callback::from(move |_: MouseEvent| {
            actions
                .iter()
                .for_each(|action| dispatch.emit(action.clone()))
        })
    };
    let (from, to) = facts.x;
    let zoom = Action::Navigate(Navigation::ShowX(from, to));
    let to_picture = (!props.has_picture).then_some(Action::View(ViewKind::Timeline));
    let zoom = several(to_picture.into_iter().chain([zoom]).collect());
    let ends = Action::Choose(Chosen::Compare(props.compare.of_selection()));
    let compare = several(vec![ends, Action::View(ViewKind::Compare)]);
    html! {
        <section class="selected-range">
            <p><b>{ "Events " }{ display::count(u64::from(first) + 1) }{ " to " }{ display::count(u64::from(last)) }</b>
                <span class="muted">{ format!(" · {length}{}", lasted.unwrap_or_default()) }</span></p>
            <ul>{ for OfRange::ALL.into_iter().map(part) }</ul>
            <div class="row tools">
                <button type="button" class="outlined" onclick={zoom}>{ "Zoom to it" }</button>
                <button type="button" class="outlined" onclick={compare} title="What is live at its end against its begin">{ "Compare its ends" }</button>
                <button type="button" class="outlined" title="Select no range (Escape)" onclick={commands.on(Action::Select(None))}>{ "Let go" }</button>
            </div>
        </section>
    }
}
