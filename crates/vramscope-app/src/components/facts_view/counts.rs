//! What the file holds in numbers, and how its producer is known.

use vramscope_view::display;
use yew::prelude::*;

use crate::protocol::views::overview::{DeviceCounts, FileDetails};
use crate::state::sentences;

/// Producer, tables, and what each device's trace and final state count.
pub(super) fn counts_section(details: &FileDetails) -> Html {
    let tables = &details.tables;
    let rows = [
        ("Events", tables.events),
        ("Distinct stacks", tables.stacks),
        ("Distinct frames", tables.frames),
        ("Distinct texts", tables.strings),
        ("Streams", tables.streams),
        ("Annotation marks", tables.annotations),
    ];
    html! {
        <section class="counts">
            <h3>{ "In numbers" }</h3>
            <dl class="rows">
                <dt>{ "Written by" }</dt>
                <dd>
                    { &details.producer.name }
                    if !details.producer.evidence.is_empty() {
                        <span class="muted">{ " (files carry no version; told by " }{ details.producer.evidence.replace('`', "") }{ ")" }</span>
                    }
                </dd>
                { for rows.iter().map(|(name, count)| html! { <><dt>{ *name }</dt><dd>{ display::count(*count) }</dd></> }) }
            </dl>
            { for details.devices.iter().map(device) }
        </section>
    }
}

fn device(device: &DeviceCounts) -> Html {
    let state = &device.state;
    let pairs = [
        ("allocated", state.allocated_bytes),
        ("active", state.active_bytes),
        ("requested in those", state.requested_bytes),
        ("free", state.free_bytes),
        ("largest free block", state.largest_free_block_bytes),
    ];
    html! {
        <>
            <h4>{ sentences::device_name(device.device) }</h4>
            <dl class="rows">
                <dt>{ "Events" }</dt>
                <dd>{ if device.actions.is_empty() {
                    "none".to_owned()
                } else {
                    device.actions.iter().map(|of| format!("{} {}", of.action, display::count(of.count))).collect::<Vec<_>>().join(", ")
                } }</dd>
                <dt>{ "Final state" }</dt>
                <dd>{ format!("{}, {}, {}",
                    sentences::count_of(state.segments, "segment", "segments"),
                    sentences::count_of(state.blocks, "block", "blocks"),
                    sentences::count_of(state.streams.len() as u64, "stream", "streams")) }</dd>
                if !device.pools.is_empty() { <dt>{ "Private pools" }</dt><dd>{ device.pools.join(", ") }</dd> }
                if state.segments > 0 {
                    <dt>{ "Reserved" }</dt>
                    <dd>
                        <span title={sentences::exact_bytes(state.reserved_bytes)}>{ display::bytes(state.reserved_bytes) }</span>
                        { for pairs.iter().map(|(name, bytes)| html! {
                            <span title={sentences::exact_bytes(*bytes)}>{ format!(", {} {name}", display::bytes(*bytes)) }</span>
                        }) }
                    </dd>
                }
            </dl>
        </>
    }
}
