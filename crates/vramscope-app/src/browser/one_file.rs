//! The page with a file inside, as `vramscope html` writes it.

use js_sys::Array;
use vramscope_view::address::FileKey;
use vramscope_view::one_file::{Embedded, Loaded, needed, one_file};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, Response};

use super::gzip::gzip;
use super::history;

/// The most bytes of the packed file: it is in memory three times, once as base64.
const MOST_BYTES: u32 = 512 << 20;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    fn fill_randomly(bytes: &mut [u8]);
}

/// Bytes that nobody can guess.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill_randomly(&mut bytes);
    bytes
}

/// The page with `file` inside, opened at the address that `shown` makes of its key. It fetches the page's own files again.
///
/// # Errors
/// If they cannot be fetched, as from a server that has ended or from disk, or the file is too large for it.
pub async fn of(
    name: String,
    file: &Blob,
    shown: impl FnOnce(FileKey) -> String,
) -> Result<String, JsValue> {
    let base = history::link(None, "");
    let base = base.trim_end_matches('#');
    let index = text(&fetched(base).await?).await?;
    let (texts, parts) = needed(&index);
    let mut loaded = Loaded::default();
    for path in texts {
        let response = fetched(&beside(base, path)?).await?;
        loaded.texts.insert(path.to_owned(), text(&response).await?);
    }
    for path in parts {
        let part = blob(&fetched(&beside(base, &path)?).await?).await?;
        loaded.parts.push((path, gzip(&part).await?.to_vec()));
    }
    let packed = gzip(file).await?;
    if packed.length() > MOST_BYTES {
        return Err("the file is too large for one page".into());
    }
    let packed = packed.to_vec();
    let file = Embedded { name, packed };
    let shown = shown(file.key());
    // Chosen after all else in the page, so that nothing there contains it.
    let nonce = format!("{:032x}", u128::from_le_bytes(random()));
    let page = one_file(&index, &loaded, &[file], &shown, &nonce);
    page.ok_or_else(|| "the index is not the page's own".into())
}

fn beside(base: &str, path: &str) -> Result<String, JsValue> {
    Ok(web_sys::Url::new_with_base(path, base)?.href())
}

async fn fetched(url: &str) -> Result<Response, JsValue> {
    let response = JsFuture::from(gloo::utils::window().fetch_with_str(url)).await?;
    let response: Response = response.unchecked_into();
    match response.ok() {
        true => Ok(response),
        false => Err(format!("{url}: {}", response.status()).into()),
    }
}

async fn text(response: &Response) -> Result<String, JsValue> {
    let text = JsFuture::from(response.text()?).await?;
    Ok(text.as_string().unwrap_or_default())
}

async fn blob(response: &Response) -> Result<Blob, JsValue> {
    Ok(JsFuture::from(response.blob()?).await?.unchecked_into())
}

/// The bytes of an answer as a blob.
///
/// # Errors
/// If the browser has no memory for it.
pub fn as_blob(bytes: &JsValue) -> Result<Blob, JsValue> {
    Blob::new_with_buffer_source_sequence(&Array::of1(bytes))
}
