//! Compresses by the browser's own means.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, Response};

#[wasm_bindgen]
extern "C" {
    // web-sys counts it as unstable, which would change how the whole workspace is built.
    type CompressionStream;

    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<CompressionStream, JsValue>;
}

/// The gzip of a file.
///
/// # Errors
/// If the browser cannot read the file, or has no memory for the gzip.
pub async fn gzip(file: &Blob) -> Result<Uint8Array, JsValue> {
    let stream = CompressionStream::new("gzip")?;
    let packed = file.stream().pipe_through(stream.unchecked_ref());
    let packed = Response::new_with_opt_readable_stream(Some(&packed))?;
    let packed = JsFuture::from(packed.array_buffer()?).await?;
    Ok(Uint8Array::new(&packed))
}
