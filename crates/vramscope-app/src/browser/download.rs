//! Downloads: files that the page offers the user to save.

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

use super::clock;

/// How long the object URL stays valid for the browser to read the file, in ms.
const KEPT_MS: i32 = 60_000;

/// Offers `content` (text or an `ArrayBuffer`) as a file.
pub fn save(name: &str, content_type: &str, content: &JsValue) {
    let options = BlobPropertyBag::new();
    options.set_type(content_type);
    let parts = js_sys::Array::of1(content);
    if let Ok(blob) = Blob::new_with_blob_sequence_and_options(&parts, &options) {
        save_blob(name, &blob);
    }
}

/// Offers a blob as a file.
pub fn save_blob(name: &str, blob: &Blob) {
    let document = web_sys::window().and_then(|window| window.document());
    let (Some(document), Ok(url)) = (document, Url::create_object_url_with_blob(blob)) else {
        return;
    };
    let anchor = document.create_element("a").ok();
    if let Some(anchor) = anchor.and_then(|anchor| anchor.dyn_into::<HtmlAnchorElement>().ok()) {
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
    }
    clock::later(KEPT_MS, move || {
        let _ = Url::revoke_object_url(&url);
    });
}
