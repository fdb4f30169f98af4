//! The page inside another one: `?mode=embed` in a frame.

use gloo::timers::callback::Timeout;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, WheelEvent};

use super::url;

/// How long the hint is shown after the wheel stands still, in ms.
const HINT_MS: u32 = 1_200;

/// Whether the wheel scrolls the page around this one, which it does until the user clicks into this one or holds Ctrl:
/// whoever scrolls through a text must not be caught by a picture in it. Says so over the pictures.
#[must_use]
pub fn scrolls_around(event: &WheelEvent) -> bool {
    if !url::is_embedded() || event.ctrl_key() || event.meta_key() {
        return false;
    }
    let document = gloo::utils::document();
    if document.has_focus().unwrap_or(true) {
        return false;
    }
    let root = gloo::utils::document_element();
    if root.get_attribute("data-hint").is_none() {
        let _ = root.set_attribute("data-hint", "wheel");
        Timeout::new(HINT_MS, move || {
            let _ = root.remove_attribute("data-hint");
        })
        .forget();
    }
    true
}

/// Puts how much of the page is shown where the style sheet reads it: the page's address says so with `?controls=`.
pub fn show_controls() {
    if let Some(controls) = url::controls() {
        let _ = gloo::utils::document_element().set_attribute("data-controls", &controls);
    }
}

/// Sets one of the page's style variables; an empty value is the page's own.
pub fn set_variable(name: &str, value: &str) {
    let root = gloo::utils::document_element();
    if let Some(root) = root.dyn_ref::<HtmlElement>() {
        let _ = root.style().set_property(&format!("--{name}"), value);
    }
}

/// Gives the keyboard back to the page around this one.
pub fn leave() {
    let window = gloo::utils::window();
    if let Ok(Some(parent)) = window.parent() {
        let _ = parent.focus();
    }
}
