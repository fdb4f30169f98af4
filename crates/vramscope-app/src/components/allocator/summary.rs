//! Totals of the state in one line, which is also the picture's legend, and the headings of pools
//! and streams.

use vramscope_core::analysis::memory::allocator_state::StateSums;
use vramscope_protocol::views::allocator::GroupHead;
use vramscope_view::allocator_picture::heading_words;
use vramscope_view::display;
use yew::prelude::*;

use crate::state::sentences::count_of;

#[derive(Properties, PartialEq)]
pub(super) struct SummaryProps {
    pub(super) total: StateSums,
    /// The current zoom factor.
    pub(super) zoom: f64,
    /// Called with another zoom factor; 0 shows everything.
    pub(super) on_zoom: Callback<f64>,
}

#[component]
pub(super) fn Summary(props: &SummaryProps) -> Html {
    let total = &props.total;
    let item = |class: &'static str, word: &'static str, bytes: u64, title: String| {
        html! {
            <span class="state-sum" {title}>
                <i class={classes!("swatch", class)} />{ word }{ " " }<b>{ display::bytes(bytes) }</b>
            </span>
        }
    };
    let zoom = |factor: f64| props.on_zoom.reform(move |_: MouseEvent| factor);
    html! {
        <div class="state-summary">
            <div class="state-sums">
            <span class="state-sum whole" title={sentence(total)}>
                { "allocated " }<b>{ display::bytes(total.allocated_bytes) }</b>
                <span class="muted">{ " of reserved " }</span><b>{ display::bytes(total.reserved_bytes) }</b>
            </span>
            if total.pending_bytes > 0 {
                { item("pending", "pending free", total.pending_bytes,
                    format!("{}: freed by the program, but another stream may still use them", count_of(total.pending_blocks, "block", "blocks"))) }
            }
            { item("rounding", "rounding", total.rounding_bytes(),
                format!("Blocks are larger than what was requested, {}", display::bytes(total.requested_bytes))) }
            { item("free", "free inside segments", total.free_bytes, free_words(total)) }
            <span class="state-sum" title="A request beyond it needs new memory from the device. Only the same pool and stream can use it: see the headings.">
                { "largest free block " }<b>{ display::bytes(total.largest_free_bytes) }</b>
            </span>
            </div>
            <span class="state-zoom">
                <button type="button" class="square" title="Zoom out (−)" disabled={props.zoom <= 1.0} onclick={zoom(1.0 / 1.5)}>{ "−" }</button>
                <button type="button" class="square" title="Zoom in (+, or Ctrl and the wheel)" onclick={zoom(1.5)}>{ "+" }</button>
                <button type="button" title="Show everything (0)" disabled={props.zoom <= 1.0} onclick={zoom(0.0)}>{ "Fit" }</button>
            </span>
        </div>
    }
}

fn free_words(total: &StateSums) -> String {
    let holes = count_of(total.free_blocks, "free block", "free blocks");
    format!(
        "{holes}; {} of it in {}: empty_cache() gives those back to the device that no CUDA graph's pool keeps",
        display::bytes(total.empty_bytes),
        count_of(total.empty_segments, "empty segment", "empty segments"),
    )
}

/// The same totals as a sentence.
pub(super) fn sentence(total: &StateSums) -> String {
    format!(
        "Allocated {} in {}, pending free {}, rounding {}, free {}, reserved {} in {}, largest free block {}",
        display::bytes(total.allocated_bytes),
        count_of(total.allocated_blocks, "block", "blocks"),
        display::bytes(total.pending_bytes),
        display::bytes(total.rounding_bytes()),
        display::bytes(total.free_bytes),
        display::bytes(total.reserved_bytes),
        count_of(total.segments, "segment", "segments"),
        display::bytes(total.largest_free_bytes),
    )
}

/// The heading of a pool and stream, over the picture.
pub(super) fn group_head(head: &GroupHead) -> Html {
    let sums = &head.sums;
    let (name, facts) = heading_words(&head.pool, &head.stream, sums);
    html! {
        <h2 class="state-head" style={format!("top:{}px", head.y_css)} title={sentence(sums)}>
            { name }<span class="muted">{ facts }</span>
            if !head.owner.is_empty() { <span class="muted">{ format!("mostly {}", head.owner) }</span> }
        </h2>
    }
}
