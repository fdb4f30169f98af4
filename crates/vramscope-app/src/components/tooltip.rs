//! The tooltip: three lines about what is under the pointer.

use vramscope_protocol::{Composition, HitOn, Preview, SegmentPreview};
use yew::prelude::*;

use super::site_label::site_label;
use crate::state::gesture::Point;
use crate::state::{Hovered, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct TooltipProps {
    /// The pointer's position in the stage, CSS px.
    pub(super) at: Point,
    /// The stage's size, CSS px.
    pub(super) room: (f64, f64),
    pub(super) hit: Hovered,
}

/// The tooltip; empty if nothing is under the pointer.
#[component]
pub(super) fn Tooltip(props: &TooltipProps) -> Html {
    let content = match &props.hit.on {
        HitOn::Nothing => return Html::default(),
        HitOn::One(preview) => one(preview),
        HitOn::Several(several) => composition(several),
        HitOn::Segment(preview) => segment(preview),
        HitOn::Free {
            address,
            bytes,
            segment,
        } => free_range(*address, *bytes, segment),
        HitOn::Unmapped { address } => html! {
            <p><span class="mono">{ display::address(*address) }</span>
                <span class="muted">{ " · not held from the device at this moment" }</span></p>
        },
    };
    html! { <div class="tooltip" role="tooltip" style={position(props.at, props.room)}>{ content }</div> }
}

/// Places a tooltip on the side of the pointer with more room, so that it stays within the stage.
pub(super) fn position((x, y): Point, (width, height): (f64, f64)) -> String {
    let across = if x > width / 2.0 {
        format!("right:{}px", width - x + 14.0)
    } else {
        format!("left:{}px", x + 14.0)
    };
    let down = if y > height * 0.6 {
        format!("bottom:{}px", height - y + 14.0)
    } else {
        format!("top:{}px", y + 18.0)
    };
    let room = x.max(width - x) - 22.0;
    format!("{across};{down};max-width:min(520px,{room}px)")
}

fn one(preview: &Preview) -> Html {
    html! {
        <>
            <p><strong>{ display::bytes(preview.brief.requested_bytes) }</strong>
                if !preview.remarks.is_empty() { <span class="muted">{ " · " }{ &preview.remarks }</span> }
            </p>
            <p class="muted">{ sentences::life(&preview.brief.life) }</p>
            <p>{ site_label(&preview.user_frame) }</p>
        </>
    }
}

fn segment(preview: &SegmentPreview) -> Html {
    html! {
        <>
            <p><strong>{ sentences::segment(preview) }</strong>
                if !preview.remarks.is_empty() { <span class="muted">{ " · " }{ &preview.remarks }</span> }
            </p>
            <p class="muted">{ sentences::mapped(preview) }</p>
            if !preview.user_frame.is_empty() { <p>{ site_label(&preview.user_frame) }</p> }
        </>
    }
}

fn free_range(address: u64, bytes: u64, segment: &SegmentPreview) -> Html {
    html! {
        <>
            <p><strong>{ format!("{} free", display::bytes(bytes)) }</strong>
                <span class="muted">{ " from " }<span class="mono">{ display::address(address) }</span></span></p>
            <p class="muted">{ "in " }{ sentences::segment(segment) }
                if !segment.remarks.is_empty() { { " · " }{ &segment.remarks } }
            </p>
        </>
    }
}

fn composition(several: &Composition) -> Html {
    let top = &several.top;
    let further = top.other_count;
    html! {
        <>
            <p><strong>{ sentences::allocations(top.count, top.bytes) }</strong>
                <span class="muted">{ " share this pixel" }</span></p>
            { for top.sites.iter().map(|site| html! {
                <p class="pair">{ site_label(&site.label) }
                    <span>{ display::bytes(site.bytes) }</span></p>
            }) }
            if further > 0 { <p class="muted">{ format!("and {}", sentences::count_of(further, "other", "others")) }</p> }
        </>
    }
}
