//! The life of an allocation: its events.

use yew::prelude::*;

use crate::components::commands::Commands;
use crate::state::{Action, sentences};
use vramscope_core::analysis::report::details::{EventMark, Life};
use vramscope_view::display;

/// Rows for the list of details. A click on an event pins it.
pub(super) fn life_rows(life: &Life, commands: &Commands) -> Html {
    let mark = |of: EventMark| mark(of, commands);
    html! {
        <>
            <dt>{ "Allocated" }</dt>
            <dd>{ life.alloc.map_or_else(|| html! { "before recording" }, mark) }</dd>
            if let Some(requested) = life.free_requested.filter(|_| life.free_completed != life.free_requested) {
                <dt>{ "Free requested" }</dt><dd>{ mark(requested) }</dd>
            }
            <dt>{ "Freed" }</dt>
            <dd>{ life.free_completed.map_or_else(|| html! { "still live at the end" }, mark) }</dd>
            <dt>{ "Lived" }</dt><dd>{ sentences::lifetime(life) }</dd>
        </>
    }
}

/// An event: its number, and its time since the start; the absolute time is the tooltip.
fn mark(mark: EventMark, commands: &Commands) -> Html {
    let time = mark.since_start_us.map(|us| {
        let absolute = mark.time_us.map(display::date_time);
        html! { <span class="muted" title={absolute}>{ " · " }{ display::offset(us) }</span> }
    });
    let onclick = commands.on(Action::ChooseEvent(mark.moment()));
    html! {
        <><button type="button" class="plain" title="Pin this event: its stack, and memory before and after" {onclick}>{ sentences::event(mark) }</button>{ time }</>
    }
}
