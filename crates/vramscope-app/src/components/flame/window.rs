//! The visible rows of a long list.

use crate::browser::frame;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

use crate::components::hooks::use_plot_area;

/// Height of a row, CSS px.
pub(in crate::components) const ROW_PX: f64 = 22.0;
/// Rows requested beyond the visible ones on either side, so that scrolling finds them available.
const SPARE: u32 = 40;
/// The window moves in steps of this many rows, so that scrolling does not ask for every row.
const STEP: u32 = 20;

/// A range of rows to request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::components) struct Window {
    /// The first row.
    pub(in crate::components) first: u32,
    pub(in crate::components) count: u32,
}

/// Follows the scrolling of a list: the rows to request, and the listener for its box.
#[hook]
pub(in crate::components) fn use_window(node: &NodeRef) -> (Option<Window>, Callback<Event>) {
    let area = use_plot_area(node);
    let top = use_state_eq(|| 0_u32);
    let onscroll = {
        let (top, node) = (top.setter(), node.clone());
        Callback::from(move |_: Event| {
            let scroll = node.cast::<Element>().map_or(0, |list| list.scroll_top());
            top.set((f64::from(scroll) / ROW_PX) as u32 / STEP * STEP);
        })
    };
    let window = area.map(|area| Window {
        first: top.saturating_sub(SPARE),
        count: (area.box_height_css / ROW_PX) as u32 + STEP + 2 * SPARE,
    });
    (window, onscroll)
}

/// Gives an element the keyboard focus when it appears, unless another element has it.
#[hook]
pub(in crate::components) fn use_keys_on_show(node: &NodeRef, wants_keys: bool) {
    let node = node.clone();
    use_effect_with((), move |()| {
        let listener = frame::when_keys_are_here(move || {
            let focused = gloo::utils::document().active_element();
            let is_free =
                focused.is_none_or(|of| of.matches("body, .rail *, .banner *").unwrap_or(false));
            if let Some(element) = node.cast::<HtmlElement>().filter(|_| wants_keys && is_free) {
                let _ = element.focus();
            }
        });
        move || drop(listener)
    });
}

/// Scrolls a row into view.
pub(in crate::components) fn reveal(node: &NodeRef, row: u32, head_px: f64) {
    let Some(list) = node.cast::<Element>() else {
        return;
    };
    let (top, height) = (
        f64::from(list.scroll_top()),
        f64::from(list.client_height()),
    );
    let (from, to) = (
        f64::from(row) * ROW_PX,
        f64::from(row + 1) * ROW_PX + head_px,
    );
    if from < top {
        list.set_scroll_top(from as i32);
    } else if to > top + height {
        list.set_scroll_top((to - height) as i32);
    }
}
