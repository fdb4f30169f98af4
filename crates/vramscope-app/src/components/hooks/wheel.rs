//! The wheel over a picture.

use gloo::events::{EventListener, EventListenerOptions};
use wasm_bindgen::JsCast;
use web_sys::{Element, WheelEvent};
use yew::prelude::*;

use crate::browser::frame;
use crate::canvas::PlotArea;
use crate::state::{Action, Navigation, gesture};

/// Zooms in x around the pointer; with Shift in y, with Ctrl (or a pinch on a touchpad) in both.
/// Scrolling sideways pans.
#[hook]
pub(crate) fn use_wheel(node: &NodeRef, area: Option<PlotArea>, dispatch: Callback<Action>) {
    let node = node.clone();
    use_effect_with(area, move |area| {
        // Yew's own listener is passive and cannot keep the browser from zooming the page.
        let options = EventListenerOptions::enable_prevent_default();
        let listener = node.cast::<Element>().zip(*area).map(|(element, area)| {
            EventListener::new_with_options(&element.clone(), "wheel", options, move |event| {
                let Some(event) = event.dyn_ref::<WheelEvent>() else {
                    return;
                };
                if frame::scrolls_around(event) {
                    return;
                }
                event.prevent_default();
                dispatch.emit(Action::Navigate(navigation(event, &element, &area)));
            })
        });
        move || drop(listener)
    });
}

fn navigation(event: &WheelEvent, element: &Element, area: &PlotArea) -> Navigation {
    let stage = element.get_bounding_client_rect();
    let at_css = (
        f64::from(event.client_x()) - stage.left(),
        f64::from(event.client_y()) - stage.top(),
    );
    let ((x_px, y_px), (width_px, height_px)) = (area.to_px(at_css), area.size_px());
    let at = (x_px / f64::from(width_px), y_px / f64::from(height_px));
    gesture::wheel(gesture::Wheel {
        right: event.delta_x(),
        down: event.delta_y(),
        unit: event.delta_mode(),
        shift: event.shift_key(),
        ctrl: event.ctrl_key() || event.meta_key(),
        at,
        width_css: area.box_width_css,
    })
}
