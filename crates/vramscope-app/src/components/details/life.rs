//! The life of an allocation: its events.

use yew::prelude::*;

use crate::state::sentences;
use vramscope_core::analysis::report::details::{EventMark, Life};
use vramscope_view::display;

/// Rows for the list of details.
pub(super) fn life_rows(life: &Life) -> Html {
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
fn mark(mark: EventMark) -> Html {
    let time = mark.since_start_us.map(|us| {
        let absolute = mark.time_us.map(display::date_time);
        html! { <span class="muted" title={absolute}>{ " · " }{ display::offset(us) }</span> }
    });
    html! { <>{ sentences::event(mark) }{ time }</> }
}
