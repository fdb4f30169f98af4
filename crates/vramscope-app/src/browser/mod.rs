//! What the page needs of the browser, in Rust's words: with [`canvas`](crate::canvas) and the
//! [`engine`](crate::engine) the only code that speaks web-sys.

pub mod clipboard;
pub mod clock;
pub mod files;
pub mod url;

use wasm_bindgen::{JsCast, JsValue};

/// What a JavaScript error says.
#[must_use]
pub fn error_text(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| format!("{error:?}")),
    }
}
