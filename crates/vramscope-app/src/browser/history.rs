//! The page's address behind `#`, and the browser's back and forward.

use wasm_bindgen::JsValue;
use web_sys::{History, Window};

/// The fragment with its `#`; empty if there is none.
#[must_use]
pub fn fragment() -> String {
    let hash = web_sys::window().and_then(|window| window.location().hash().ok());
    hash.unwrap_or_default()
}

/// Changes the fragment: as a new step in the history, or in place of the current one.
pub fn set_fragment(fragment: &str, is_step: bool) {
    let Some((window, history)) = parts() else {
        return;
    };
    // In full: a frame whose document is given to it (`srcdoc`) takes addresses relative to the page around it.
    let href = window.location().href().unwrap_or_default();
    let base = href.split('#').next().unwrap_or_default();
    let hash = if fragment.is_empty() { "" } else { "#" };
    let address = format!("{base}{hash}{fragment}");
    // Browsers refuse this only after hundreds of changes within seconds, and the next change makes
    // up for it.
    let _ = if is_step {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    };
}

/// The page's address with this fragment, and with `src` as the address of a file to open, if any.
#[must_use]
pub fn link(src: Option<&str>, fragment: &str) -> String {
    let href = web_sys::window().and_then(|window| window.location().href().ok());
    let href = href.unwrap_or_default();
    // Not built from origin and path, because a page opened from disk has no origin.
    let base = href.split(['?', '#']).next().unwrap_or_default();
    let src = src.map(|src| format!("?src={}", String::from(js_sys::encode_uri_component(src))));
    format!("{base}{}#{fragment}", src.unwrap_or_default())
}

fn parts() -> Option<(Window, History)> {
    let window = web_sys::window()?;
    let history = window.history().ok()?;
    Some((window, history))
}
