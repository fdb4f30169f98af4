//! Downloads of files, with progress. The bytes are kept outside of the module's memory.

use js_sys::{Array, Reflect, Uint8Array};
use vramscope_protocol::{Failure, UNASKED_BYTES};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableStreamDefaultReader, Response, WorkerGlobalScope};

use vramscope_core::units::Bytes;

use super::gate::Gate;

/// Downloads `url` into a blob, as far as `gate` lets it. `on_progress` gets the number of bytes so far, first 0, and,
/// if the server tells it, of all.
pub(super) async fn blob(
    url: &str,
    gate: &Gate,
    mut on_progress: impl FnMut(u64, Option<u64>),
) -> Result<Blob, Failure> {
    let response = request(url).await?;
    if !response.ok() {
        return Err(refused(url, &response));
    }
    // With Content-Encoding the length is that of the compressed bytes, while decompressed ones are counted. Other servers
    // need not show that header: then it is known once there are more bytes.
    let header = |name: &str| response.headers().get(name).ok().flatten();
    let mut total = header("Content-Encoding")
        .is_none()
        .then(|| header("Content-Length")?.parse().ok())
        .flatten();
    let broken = |error: JsValue| Failure {
        message: format!(
            "the download broke off: {}",
            vramscope_protocol::error_text(&error)
        ),
        advice: "Open it again; if that does not help, download the file and drop it here.".into(),
        ..Failure::default()
    };
    let Some(body) = response.body() else {
        return JsFuture::from(response.blob().map_err(broken)?)
            .await
            .map(JsCast::unchecked_into)
            .map_err(broken);
    };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let parts = Array::new();
    let mut done_bytes = 0;
    on_progress(done_bytes, total);
    loop {
        gate.passed().await;
        let read = JsFuture::from(reader.read()).await.map_err(broken)?;
        let is_done = Reflect::get(&read, &"done".into())
            .map_err(broken)?
            .is_truthy();
        if is_done {
            break;
        }
        let chunk: Uint8Array = Reflect::get(&read, &"value".into())
            .map_err(broken)?
            .unchecked_into();
        done_bytes += u64::from(chunk.length());
        total = total.filter(|&total| done_bytes <= total);
        if total.is_none() && done_bytes > UNASKED_BYTES {
            return Err(endless(url));
        }
        parts.push(&chunk);
        on_progress(done_bytes, total);
    }
    Blob::new_with_u8_array_sequence(&parts).map_err(broken)
}

async fn request(url: &str) -> Result<Response, Failure> {
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(scope.fetch_with_str(url)).await;
    response
        .map(JsCast::unchecked_into)
        .map_err(|error| unreachable(url, &vramscope_protocol::error_text(&error)))
}

/// The failure of a request without a response. Browsers hide whether the server refuses the page or is not reached.
fn unreachable(url: &str, error: &str) -> Failure {
    let host = url.split('/').nth(2).unwrap_or(url);
    Failure {
        message: format!("{host} cannot be reached, or does not let this page read the file"),
        advice: format!(
            "A page may read from another site only if that site allows it with the header \
             Access-Control-Allow-Origin (CORS). Download the file and drop it here, or have the server send \
             that header. Pages of `vramscope view` and `vramscope html` read no other site at all. (The browser says: {error})"
        ),
        path: url.to_owned(),
        ..Failure::default()
    }
}

/// The failure of a download that nobody knows the end of.
fn endless(url: &str) -> Failure {
    let most = Bytes(UNASKED_BYTES);
    Failure {
        message: format!("the server has sent {most} and does not say how much follows"),
        advice: "Download the file and drop it here.".into(),
        path: url.to_owned(),
        ..Failure::default()
    }
}

fn refused(url: &str, response: &Response) -> Failure {
    let status = response.status();
    let advice = match status {
        401 | 403 => "Sign in there and download the file, then drop it here.",
        404 | 410 => "Check the address.",
        _ => "Try again later, or download the file and drop it here.",
    };
    Failure {
        message: format!("the server answered {status} {}", response.status_text())
            .trim_end()
            .to_owned(),
        advice: advice.into(),
        path: url.to_owned(),
        ..Failure::default()
    }
}
