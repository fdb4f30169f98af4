//! Messages as the browser passes them: bytes, and what travels beside them.

use js_sys::{Array, Uint8Array};
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::MessageEvent;

use crate::{Unreadable, from_bytes};

/// A message to post. Its bytes are added to what moves instead of being copied.
#[must_use]
pub fn message(bytes: &[u8], attachment: &JsValue, moving: &Array) -> Array {
    let bytes = Uint8Array::from(bytes);
    moving.push(&bytes.buffer());
    Array::of2(&bytes, attachment)
}

/// A message that came, and its attachment.
///
/// # Errors
/// If it is none of ours.
pub fn received<T: DeserializeOwned>(event: &MessageEvent) -> Result<(T, JsValue), Unreadable> {
    let parts = Array::from(&event.data());
    let bytes = parts.get(0);
    let bytes = bytes.dyn_ref::<Uint8Array>().ok_or(Unreadable)?.to_vec();
    Ok((from_bytes(&bytes)?, parts.get(1)))
}

/// The message of a JavaScript error.
#[must_use]
pub fn error_text(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| format!("{error:?}")),
    }
}
