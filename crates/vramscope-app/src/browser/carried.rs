//! A small snapshot in the address itself, so that a link needs no server that keeps the file: `#file=…&data=…`, where
//! `data` is the file, or its gzip where that is shorter, as base64 for addresses. `www/page.js` opens it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use js_sys::Uint8Array;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

use super::gzip::gzip;

/// The most bytes that a link carries. As base64 they take a third more; browsers accept addresses of at least a MiB.
pub const MOST_BYTES: u64 = 500_000;

/// The most bytes of a file that is worth compressing to see whether a link carries it.
const MOST_TRIED_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// A file as a link carries it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Carried {
    /// Its text, and the number of bytes that it stands for.
    Text(String, u64),
    /// It is too large; the number of bytes that it would take, if known.
    TooLarge(Option<u64>),
}

/// Makes a file into the text that a link carries.
///
/// # Errors
/// If the browser cannot read it.
pub async fn of(file: &Blob) -> Result<Carried, JsValue> {
    if file.size() > MOST_TRIED_BYTES {
        return Ok(Carried::TooLarge(None));
    }
    let mut bytes = gzip(file).await?;
    // It may be compressed already.
    if f64::from(bytes.length()) > file.size() {
        bytes = Uint8Array::new(&JsFuture::from(file.array_buffer()).await?);
    }
    let length = u64::from(bytes.length());
    Ok(match length > MOST_BYTES {
        true => Carried::TooLarge(Some(length)),
        false => Carried::Text(URL_SAFE_NO_PAD.encode(bytes.to_vec()), length),
    })
}

/// What the file is that an address carries: the text behind `&data=`.
#[must_use]
pub fn of_fragment(fragment: &str) -> Option<&str> {
    Some(fragment.split_once(MARK)?.1)
}

/// A fragment that names its file as it is carried, with `bytes`.
#[must_use]
pub fn named(fragment: &str, bytes: u64) -> String {
    let (file, rest) = fragment.split_once('&').unwrap_or((fragment, ""));
    let name = file.rsplit_once('~').map_or(file, |(name, _)| name);
    format!("{name}~{bytes}&{rest}")
}

/// A fragment that carries a file's text.
#[must_use]
pub fn with(fragment: &str, text: &str) -> String {
    format!("{fragment}{MARK}{text}")
}

/// Before the text of a file, which is the last of a fragment's words.
const MARK: &str = "&data=";

#[cfg(test)]
mod tests {
    #[test]
    fn the_packed_file_is_named() {
        let named = super::named("file=a~b.pickle~9&view=map&v=1", 5);
        assert_eq!(named, "file=a~b.pickle~5&view=map&v=1");
    }
}
