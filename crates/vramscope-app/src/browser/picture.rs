//! Pictures to save: a visible part of the page as SVG, and that SVG as PNG.
//!
//! The part is walked as the browser has laid it out. Grounds, borders and texts become shapes and texts
//! at their places, canvases become embedded images, icons stay shapes: an SVG that any program opens and
//! in which text stays text. Left out: shadows, soft gradients, and what style sheets write before or after
//! elements.

mod computed;
mod hatch;
mod svg;
mod walk;

use js_sys::Promise;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, BlobPropertyBag, Element, HtmlCanvasElement, HtmlImageElement, Url};

use super::download;
use crate::canvas::pixels_of;

/// Pixels of a PNG per CSS px at least, so that text is legible in a document.
const LEAST_RATIO: f64 = 2.0;

const SVG_TYPE: &str = "image/svg+xml";

/// A part of the page as the text of an SVG file; `None` if there is no such part.
#[must_use]
pub fn svg_of(selector: &str) -> Option<String> {
    let root: Element = web_sys::window()?
        .document()?
        .query_selector(selector)
        .ok()??;
    walk::picture(&root)
}

/// Offers a part of the page as an SVG file.
pub fn save_svg(selector: &str, name: &str) {
    if let Some(svg) = svg_of(selector) {
        download::save(name, SVG_TYPE, &svg.into());
    }
}

/// Offers a part of the page as a PNG file; `done` is called with whether that worked.
pub fn save_png(selector: &str, name: &str, done: impl FnOnce(bool) + 'static) {
    let (svg, name) = (svg_of(selector), name.to_owned());
    spawn_local(async move {
        let blob = match svg {
            Some(svg) => png_of(&svg).await.ok(),
            None => None,
        };
        if let Some(blob) = &blob {
            download::save_blob(&name, blob);
        }
        done(blob.is_some());
    });
}

/// An SVG file's picture as PNG.
async fn png_of(svg: &str) -> Result<Blob, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(SVG_TYPE);
    let blob = Blob::new_with_str_sequence_and_options(&js_sys::Array::of1(&svg.into()), &options)?;
    let url = Url::create_object_url_with_blob(&blob)?;
    let drawn = draw(&url).await;
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

async fn draw(url: &str) -> Result<HtmlCanvasElement, JsValue> {
    let image = HtmlImageElement::new()?;
    image.set_src(url);
    JsFuture::from(image.decode()).await?;
    let window = web_sys::window().ok_or(JsValue::NULL)?;
    let ratio = window.device_pixel_ratio().max(LEAST_RATIO);
    pixels_of(&image, ratio)
}
