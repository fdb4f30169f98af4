//! The strip of the allocator view: the curves of the whole recording, along which the user drags
//! the moment.

use vramscope_protocol::{Bounds, Look};
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

use crate::components::hooks::{use_moment_at, use_plot_area};
use crate::components::strip::use_minimap;
use crate::components::strip_picture::{StripLines, use_strip_picture};
use crate::engine::Session;
use crate::state::Action;

#[derive(Properties, PartialEq)]
pub(super) struct ScrubberProps {
    pub(super) session: Session,
    pub(super) look: Look,
    /// The bounds of the whole axis.
    pub(super) bounds: Bounds,
    /// The device's capacity; `None` if unknown.
    pub(super) capacity_bytes: Option<u64>,
    /// The cursor's position on the x axis; `None` without a cursor.
    pub(super) cursor_x: Option<f64>,
}

#[component]
pub(super) fn Scrubber(props: &ScrubberProps) -> Html {
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let columns = area.map(|area| area.box_px().0);
    let (device, axis) = (props.look.device, props.look.axis);
    let minimap = use_minimap(&props.session, device, axis, columns);
    let lines = StripLines {
        steps: None,
        capacity_bytes: props.capacity_bytes,
    };
    let picture = use_strip_picture(&minimap, lines, area, props.look.theme);
    let x_end = props.bounds.x_end;
    let (onpointerdown, onpointermove, onpointerup) = use_drag(&node, props);
    let (onpointercancel, onlostpointercapture) = (onpointerup.clone(), onpointerup.clone());
    let at = props.cursor_x.or_else(|| Some(minimap.as_ref()?.peak_x));
    let percent = at.map(|x| format!("left:{}%", (x / x_end * 100.0).clamp(0.0, 100.0)));
    let has_reserved = minimap
        .as_ref()
        .is_some_and(|minimap| !minimap.curves.reserved_bytes.is_empty());
    html! {
        <div class="strip">
            <p class="key" aria-hidden="true">
                if has_reserved { <span class="reserved">{ "reserved" }</span> }
                <span class="active">{ "live" }</span>
            </p>
            <div class="field" ref={node} role="img" title="Click or drag: go to that moment"
                aria-label="Live and reserved memory over the whole recording"
                {onpointerdown} {onpointermove} {onpointerup} {onpointercancel} {onlostpointercapture}>
                { (*picture).clone() }
                if let Some(style) = percent { <div class="state-now" {style} /> }
            </div>
        </div>
    }
}

/// Listeners for press, move and release of the pointer. The moment follows a drag.
#[hook]
fn use_drag(
    node: &NodeRef,
    props: &ScrubberProps,
) -> (
    Callback<PointerEvent>,
    Callback<PointerEvent>,
    Callback<PointerEvent>,
) {
    let on_x = use_moment_at(&props.session, &props.look, Action::Moment);
    let is_held = use_mut_ref(|| false);
    let x_end = props.bounds.x_end;
    let put = {
        let node = node.clone();
        move |event: &PointerEvent| {
            let strip = node.cast::<Element>();
            let strip = strip.map(|strip| strip.get_bounding_client_rect());
            if let Some(strip) = strip {
                let from_left = f64::from(event.client_x()) - strip.left();
                let part = (from_left / strip.width().max(1.0)).clamp(0.0, 1.0);
                on_x.emit(part * x_end);
            }
        }
    };
    let onpointerdown = {
        let (is_held, put) = (is_held.clone(), put.clone());
        Callback::from(move |event: PointerEvent| {
            if event.button() != 0 {
                return;
            }
            *is_held.borrow_mut() = true;
            if let Some(element) = event.target_dyn_into::<HtmlElement>() {
                let _ = element.set_pointer_capture(event.pointer_id());
            }
            put(&event);
        })
    };
    let onpointermove = {
        let is_held = is_held.clone();
        Callback::from(move |event: PointerEvent| {
            if *is_held.borrow() {
                put(&event);
            }
        })
    };
    let onpointerup = Callback::from(move |_: PointerEvent| *is_held.borrow_mut() = false);
    (onpointerdown, onpointermove, onpointerup)
}
