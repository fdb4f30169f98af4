//! Saves a visible part of the page as SVG, and any SVG as PNG.
//!
//! The elements are visited as the browser has laid them out. Backgrounds, borders and texts become
//! shapes and texts at their positions, canvases become embedded images, and icons stay shapes. Any
//! program can open such an SVG, and its text stays text. Shadows, soft gradients and
//! pseudo-elements of style sheets are left out. Views of tables and texts need this, and pictures in
//! which the user pinned something, chose a range or zoomed into the allocator. Any other picture is
//! drawn by the worker, as `vramscope plot` draws it (`state/saved.rs` decides).

mod computed;
mod hatch;
mod svg;
mod walk;

use js_sys::Promise;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, BlobPropertyBag, Element, HtmlCanvasElement, HtmlImageElement, Url};

use crate::browser::download;
use crate::canvas::pixels_of;

/// The content type of SVG files.
pub(crate) const SVG_TYPE: &str = "image/svg+xml";

/// A part of the page as the text of an SVG file; `None` if no element matches `selector`.
pub(crate) fn svg_of(selector: &str) -> Option<String> {
    let root: Element = web_sys::window()?
        .document()?
        .query_selector(selector)
        .ok()??;
    walk::picture(&root)
}

/// Offers an SVG (text or an `ArrayBuffer`) as a PNG file with `pixel_ratio` pixels per px of the SVG. Calls
/// `done` with whether that worked.
pub(crate) fn save_png(
    svg: &JsValue,
    pixel_ratio: f64,
    name: String,
    done: impl FnOnce(bool) + 'static,
) {
    let svg = svg.clone();
    spawn_local(async move {
        let blob = png_of(&svg, pixel_ratio).await.ok();
        if let Some(blob) = &blob {
            download::save_blob(&name, blob);
        }
        done(blob.is_some());
    });
}

async fn png_of(svg: &JsValue, pixel_ratio: f64) -> Result<Blob, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(SVG_TYPE);
    let blob = Blob::new_with_blob_sequence_and_options(&js_sys::Array::of1(svg), &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let drawn = draw(&url, pixel_ratio).await;
    Url::revoke_object_url(&url)?;
    let canvas = drawn?;
    let promise = Promise::new(&mut |resolve, reject| {
        let take = Closure::once_into_js(move |blob: JsValue| {
            let settle = if blob.is_null() { reject } else { resolve };
            let _ = settle.call1(&JsValue::NULL, &blob);
        });
        let _ = canvas.to_blob(take.unchecked_ref());
    });
    Ok(JsFuture::from(promise).await?.unchecked_into())
}

async fn draw(url: &str, pixel_ratio: f64) -> Result<HtmlCanvasElement, JsValue> {
    let image = HtmlImageElement::new()?;
    image.set_src(url);
    JsFuture::from(image.decode()).await?;
    pixels_of(&image, pixel_ratio)
}
