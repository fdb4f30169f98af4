//! Facts about a captured program: how it ended, its devices, and memory of other processes on
//! them.

use vramscope_core::analysis::memory::capture::{CapturedDevice, Ended};
use vramscope_protocol::views::overview::FileDetails;
use vramscope_view::display;
use yew::prelude::*;

use crate::state::sentences;

/// The section; empty for a file that was not captured.
pub(super) fn captured_section(details: &FileDetails) -> Html {
    let Some(capture) = &details.capture else {
        return Html::default();
    };
    let ended = match capture.ended {
        Ended::InOrder => "in an orderly way",
        Ended::WithoutNotice => "without notice: killed or crashed",
        Ended::Running => "not yet when this was written",
        Ended::RecorderFailed => "the recorder failed before that",
        Ended::Unknown => "not known",
    };
    html! {
        <section class="captured">
            <h3>{ "Captured program" }</h3>
            <dl class="rows">
                if !capture.program.is_empty() { <dt>{ "Program" }</dt><dd class="mono">{ capture.command_line() }</dd> }
                if capture.process > 0 { <dt>{ "Process" }</dt><dd>{ capture.process.to_string() }</dd> }
                <dt>{ "Ended" }</dt><dd>{ ended }</dd>
                if capture.dropped_records > 0 {
                    <dt>{ "Lost records" }</dt><dd>{ display::count(capture.dropped_records) }</dd>
                }
                if !capture.lost.is_empty() {
                    <dt title={INCOMPLETE}>{ "Incomplete" }</dt>
                    <dd>{ display::count(capture.lost.iter().map(|lost| lost.times).sum()) }</dd>
                }
            </dl>
            { for capture.devices.iter().map(device) }
        </section>
    }
}

fn device(device: &CapturedDevice) -> Html {
    let size = |name: &'static str, bytes: u64, title: &'static str| {
        html! { <><dt {title}>{ name }</dt><dd title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</dd></> }
    };
    html! {
        <>
            <h4>{ sentences::device_name(device.index) }{ " " }<span class="muted">{ &device.name }</span></h4>
            <dl class="rows">
                if let Some(total) = device.total_bytes { { size("Memory", total, "Of the device in all") } }
                if let Some(other) = device.other {
                    { size("Others, at the end", other.last_bytes, OTHERS) }
                    { size("Others, at the most", other.highest_bytes, OTHERS) }
                }
                if let Some(graphs) = device.graphs {
                    { size("CUDA graphs, at the end", graphs.last_bytes, GRAPHS) }
                    { size("CUDA graphs, at the most", graphs.highest_bytes, GRAPHS) }
                }
                if !device.uuid.is_empty() { <dt>{ "UUID" }</dt><dd class="mono">{ &device.uuid }</dd> }
            </dl>
        </>
    }
}

const INCOMPLETE: &str = "How often something could not be recorded, or only in part; the facts about this file say what";
const GRAPHS: &str =
    "Held by graphs that allocate memory, from their first launch until they are trimmed";
const OTHERS: &str =
    "Neither free nor captured: other processes, CUDA contexts, modules, the driver itself";
