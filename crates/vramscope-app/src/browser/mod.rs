//! The browser's services apart from elements and their events: files, downloads, the address and
//! its history, the clock, the clipboard. Canvases are in [`canvas`](crate::canvas), workers in
//! [`engine`](crate::engine).

pub mod carried;
pub mod clipboard;
pub mod clock;
pub mod door;
pub mod download;
pub mod files;
pub mod frame;
pub mod gzip;
pub mod history;
pub mod kept;
pub mod live;
pub mod one_file;
pub mod png;
pub mod url;

pub use vramscope_protocol::error_text;

use wasm_bindgen::JsValue;

/// Whether the window is too narrow for the details panel beside the picture.
#[must_use]
pub fn is_narrow() -> bool {
    is_less(gloo::utils::window().inner_width(), 900.0)
}

/// Whether the window is so low that all beside the picture gives way to it, as in the style sheet.
#[must_use]
pub fn is_low() -> bool {
    is_less(gloo::utils::window().inner_height(), 500.0)
}

fn is_less(side: Result<JsValue, JsValue>, least_css: f64) -> bool {
    let side = side.ok().and_then(|side| side.as_f64());
    side.is_some_and(|side_css| side_css < least_css)
}

/// The address of the page's icon, which holds the whole picture.
#[must_use]
pub fn icon() -> Option<String> {
    linked("icon")
}

/// The address of the documentation, if it lies beside the page.
#[must_use]
pub fn documentation() -> Option<String> {
    linked("help")
}

fn linked(relation: &str) -> Option<String> {
    let document = web_sys::window()?.document()?;
    let link = document.query_selector(&format!("link[rel={relation}]"));
    link.ok()??.get_attribute("href")
}
