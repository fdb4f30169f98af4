//! Pictures as PNG files.

use js_sys::{Array, Promise};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement, Url,
};

/// The content type of SVG files.
pub(crate) const SVG_TYPE: &str = "image/svg+xml";

/// An SVG (text or an `ArrayBuffer`) as a PNG file of its size.
///
/// # Errors
/// The browser's exception.
pub(crate) async fn of_svg(svg: &JsValue) -> Result<Blob, JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type(SVG_TYPE);
    let blob = Blob::new_with_blob_sequence_and_options(&Array::of1(svg), &options)?;
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
    let canvas = gloo::utils::document().create_element("canvas")?;
    let canvas: HtmlCanvasElement = canvas.unchecked_into();
    canvas.set_width(image.width());
    canvas.set_height(image.height());
    let context = canvas.get_context("2d")?.ok_or(JsValue::NULL)?;
    let context: CanvasRenderingContext2d = context.unchecked_into();
    context.draw_image_with_html_image_element(&image, 0.0, 0.0)?;
    Ok(canvas)
}
