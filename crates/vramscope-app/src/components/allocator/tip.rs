//! The tooltip of the allocator view: the block under the pointer, then its segment.

use vramscope_core::analysis::memory::allocator_state::{BlockUse, SizeSource};
use vramscope_protocol::Preview;
use vramscope_protocol::views::allocator::{Tip, TipOn, TipSegment};
use vramscope_view::display;
use yew::prelude::*;

use crate::components::site_label::site_label;
use crate::state::sentences::{self, count_of};

/// The content of the tooltip.
pub(super) fn tip(tip: &Tip) -> Html {
    html! { <>{ block(&tip.on) }{ segment(&tip.segment) }</> }
}

fn block(on: &TipOn) -> Html {
    match on {
        TipOn::Block {
            preview,
            usage,
            bytes,
            rounding_bytes,
            source,
        } => one(preview, *usage, (*bytes, *rounding_bytes, *source)),
        TipOn::Free { address, bytes } => html! {
            <p><strong>{ display::bytes(*bytes) }</strong>{ " free" }
                <span class="muted mono">{ format!(" {}", display::address(*address)) }</span></p>
        },
        TipOn::Several {
            composition,
            free_blocks,
            free_bytes,
        } => html! {
            <>
                <p><strong>{ sentences::allocations(composition.top.count, composition.top.bytes) }</strong>
                    if *free_blocks > 0 {
                        { format!(" and {}, {},", count_of(*free_blocks, "free block", "free blocks"), display::bytes(*free_bytes)) }
                    }
                    <span class="muted">{ " share this pixel; click to go closer" }</span></p>
                { for composition.top.sites.iter().map(|site| html! {
                    <p class="pair">{ site_label(&site.label) }<span>{ display::bytes(site.bytes) }</span></p>
                }) }
            </>
        },
    }
}

fn one(
    preview: &Preview,
    usage: BlockUse,
    (bytes, rounding, source): (u64, u64, SizeSource),
) -> Html {
    let usage = match usage {
        BlockUse::PendingFree => " pending free",
        _ => " allocated",
    };
    let derived = match source {
        SizeSource::Recorded => "",
        SizeSource::Derived => ", as the allocator rounds",
    };
    html! {
        <>
            <p><strong>{ display::bytes(preview.brief.requested_bytes) }</strong>{ usage }
                <span class="muted">
                    { format!(" in a block of {}", display::bytes(bytes)) }
                    if rounding > 0 { { format!(" ({} rounding{derived})", display::bytes(rounding)) } }
                </span></p>
            <p class="muted">{ sentences::life(&preview.brief.life) }</p>
            <p>{ site_label(&preview.user_frame) }</p>
        </>
    }
}

fn segment(segment: &TipSegment) -> Html {
    let sums = &segment.sums;
    let by = segment.mapped_by.map_or_else(
        || "Older than the recording".to_owned(),
        |number| format!("Mapped by event {}", display::count(u64::from(number))),
    );
    html! {
        <div class="tip-segment">
            <p>{ "Segment of " }<b>{ display::bytes(sums.reserved_bytes) }</b>
                <span class="muted">{ format!(", {}", segment.remarks.join(", ")) }</span></p>
            <p class="muted">{ format!("{} free, largest {} · {}", display::bytes(sums.free_bytes),
                display::bytes(sums.largest_free_bytes), display::address(segment.address)) }</p>
            if let Some(kept_for) = &segment.kept_for { <p class="muted">{ format!("What is free is {kept_for}.") }</p> }
            <p class="pair muted"><span>{ by }</span>
                if !segment.site.is_empty() { { site_label(&segment.site) } }</p>
        </div>
    }
}
