//! Copying text.

use wasm_bindgen_futures::{JsFuture, spawn_local};

/// Copies `text` to the clipboard, and calls `done` with whether that worked.
///
/// Browsers allow it only right after a click or key press, over `https:` or on loopback.
pub fn copy(text: &str, done: impl FnOnce(bool) + 'static) {
    let Some(window) = web_sys::window().filter(web_sys::Window::is_secure_context) else {
        done(false);
        return;
    };
    let writing = JsFuture::from(window.navigator().clipboard().write_text(text));
    spawn_local(async move { done(writing.await.is_ok()) });
}
