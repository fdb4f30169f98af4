//! Numbers of the file's records, and the evidence for its producer.

use vramscope_core::analysis::report::pool_lines::PoolLine;
use vramscope_core::analysis::report::summary::DeviceSummary;
use vramscope_protocol::views::overview::FileDetails;
use vramscope_view::display;
use yew::prelude::*;

use crate::state::sentences;

/// The producer, the tables, and the counts of each device's trace and final state.
pub(super) fn counts_section(details: &FileDetails) -> Html {
    let (tables, producer) = (&details.tables, &details.producer);
    let rows = [
        ("Distinct frames", tables.frames),
        ("Distinct texts", tables.strings),
        ("Streams", tables.streams),
        ("Annotation marks", tables.annotations),
    ];
    html! {
        <section class="counts">
            <h3>{ "In numbers" }</h3>
            <dl class="rows">
                if !producer.evidence.is_empty() {
                    <dt>{ "Version told by" }</dt>
                    <dd>{ producer.evidence.replace('`', "") }<span class="muted">{ ", as files carry none" }</span></dd>
                }
                { for rows.iter().map(|(name, count)| html! { <><dt>{ *name }</dt><dd>{ display::count(*count) }</dd></> }) }
            </dl>
            { for details.devices.iter().map(device) }
        </section>
    }
}

fn device(device: &DeviceSummary) -> Html {
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
                <dd>{ if device.events_by_action.is_empty() {
                    "none".to_owned()
                } else {
                    device.events_by_action.iter().map(|of| format!("{} {}", of.action, display::count(of.count))).collect::<Vec<_>>().join(", ")
                } }</dd>
                <dt>{ "Final state" }</dt>
                <dd>{ format!("{}, {}, {}",
                    sentences::count_of(state.segments, "segment", "segments"),
                    sentences::count_of(state.blocks, "block", "blocks"),
                    sentences::count_of(state.streams.len() as u64, "stream", "streams")) }</dd>
                if !device.pools.lines.is_empty() {
                    <dt>{ "Memory pools" }</dt>
                    <dd>{ for device.pools.lines.iter().map(pool) }</dd>
                }
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

/// A pool: its name, what it holds, whose it is, and what tells so.
fn pool(line: &PoolLine) -> Html {
    let owner = line.owner.iter().map(|owner| format!("; mostly {owner}"));
    html! {
        <p>
            { &line.label }
            <span title={sentences::exact_bytes(line.reserved_bytes)}>
                { format!(", {} reserved", display::bytes(line.reserved_bytes)) }
            </span>
            { for owner }
            <span class="muted">{ format!(". {}", line.because) }</span>
        </p>
    }
}
