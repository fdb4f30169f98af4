//! The browser's clock, which page and workers have alike.

use js_sys::Reflect;
use wasm_bindgen::JsCast;

/// Milliseconds since the page (or the worker) started; monotonic.
#[must_use]
pub fn now_ms() -> f64 {
    performance().map_or(0.0, |performance| performance.now())
}

/// Milliseconds since 1970, which mean the same to the page and to its workers.
#[must_use]
pub fn epoch_ms() -> f64 {
    performance().map_or(0.0, |performance| {
        performance.time_origin() + performance.now()
    })
}

/// That of the page or of the worker, whichever this is.
fn performance() -> Option<web_sys::Performance> {
    let performance = Reflect::get(&js_sys::global(), &"performance".into());
    Some(performance.ok()?.unchecked_into())
}
