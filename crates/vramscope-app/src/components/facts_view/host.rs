//! Pinned host memory.

use vramscope_protocol::views::overview::FileDetails;
use vramscope_view::display;
use yew::prelude::*;

use crate::components::commands::Commands;
use crate::components::overview::rows::row_table;
use crate::state::sentences;

/// The section; empty if no host memory was recorded.
pub(super) fn host_section(commands: &Commands, details: &FileDetails) -> Html {
    let Some(host) = &details.host else {
        return Html::default();
    };
    let memory = &host.memory;
    let bytes = |name: &'static str, bytes: u64| {
        html! { <><dt>{ name }</dt><dd title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</dd></> }
    };
    let events = format!(
        "{}: {} allocations, {} frees, {} segments obtained, {} given back",
        sentences::count_of(memory.events, "event", "events"),
        display::count(memory.allocations),
        display::count(memory.frees),
        display::count(memory.segment_allocs),
        display::count(memory.segment_frees)
    );
    html! {
        <section class="host">
            <h3>{ "Pinned host memory" }</h3>
            <p class="muted">{ "Memory of the machine that the device can reach; no part of any device's figures." }</p>
            <dl class="rows">
                <dt>{ "Segments" }</dt><dd>{ display::count(memory.segments) }</dd>
                { bytes("Reserved at the end", memory.reserved_bytes) }
                { bytes("In use at the end", memory.active_bytes) }
                { bytes("Cached at the end", memory.cached_bytes) }
                { bytes("Most in use", memory.peak_bytes) }
                <dt>{ "Trace" }</dt><dd>{ events }</dd>
            </dl>
            if !host.sites.rows.is_empty() {
                <h4>{ &host.sites.title }</h4>
                { row_table(commands, &host.sites, Some(memory.active_bytes), None, None) }
            }
        </section>
    }
}
