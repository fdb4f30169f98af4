//! The left edge of the panel, which the user can drag.

use web_sys::HtmlElement;
use yew::prelude::*;

use crate::components::commands::use_commands;
use crate::state::{Action, DETAILS_WIDTH_PX};

/// Distance by which an arrow key moves the edge.
const STEP_PX: f64 = 16.0;

#[derive(Properties, PartialEq)]
pub(super) struct ResizerProps {
    pub(super) width_px: f64,
}

/// The draggable edge.
#[component]
pub(super) fn Resizer(props: &ResizerProps) -> Html {
    let commands = use_commands();
    // While dragging: where the drag began, and the width then.
    let held = use_mut_ref(|| None::<(f64, f64)>);
    let width_px = props.width_px;
    let onpointerdown = {
        let held = held.clone();
        Callback::from(move |event: PointerEvent| {
            *held.borrow_mut() = Some((f64::from(event.client_x()), width_px));
            if let Some(element) = event.target_dyn_into::<HtmlElement>() {
                let _ = element.set_pointer_capture(event.pointer_id());
            }
        })
    };
    let onpointermove = {
        let (held, dispatch) = (held.clone(), commands.dispatch.clone());
        Callback::from(move |event: PointerEvent| {
            if let Some((x, width)) = *held.borrow() {
                dispatch.emit(Action::DetailsWidth(
                    width + x - f64::from(event.client_x()),
                ));
            }
        })
    };
    let let_go = Callback::from(move |_: PointerEvent| *held.borrow_mut() = None);
    let onkeydown = Callback::from(move |event: KeyboardEvent| {
        let by = match event.key().as_str() {
            "ArrowLeft" => STEP_PX,
            "ArrowRight" => -STEP_PX,
            _ => return,
        };
        event.prevent_default();
        commands.dispatch.emit(Action::DetailsWidth(width_px + by));
    });
    let (least, most) = DETAILS_WIDTH_PX;
    html! {
        <div class="resizer" role="separator" aria-orientation="vertical" aria-label="Width of the details" tabindex="0"
            aria-valuenow={width_px.to_string()} aria-valuemin={least.to_string()} aria-valuemax={most.to_string()}
            {onpointerdown} {onpointermove} onpointerup={let_go.clone()} onpointercancel={let_go} {onkeydown} />
    }
}
