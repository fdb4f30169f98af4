//! The page's address behind `#`, and the browser's back and forward.

use std::borrow::Cow;

use wasm_bindgen::JsValue;
use web_sys::{History, Window};

use super::{carried, url};

/// The fragment with its `#`; empty if there is none.
#[must_use]
pub fn fragment() -> String {
    let hash = web_sys::window().and_then(|window| window.location().hash().ok());
    hash.unwrap_or_default()
}

/// Changes the fragment: as a new step in the history, or in place of the current one.
pub fn set_fragment(fragment: &str, is_step: bool) {
    let Some((window, history)) = parts() else {
        return;
    };
    // In full: a frame whose document is given to it (`srcdoc`) takes addresses relative to the page around it.
    let href = window.location().href().unwrap_or_default();
    let base = href.split('#').next().unwrap_or_default();
    let hash = if fragment.is_empty() { "" } else { "#" };
    let fragment = with_file(fragment, &self::fragment());
    let address = format!("{base}{hash}{fragment}");
    // Browsers refuse this only after hundreds of changes within seconds, and the next change makes
    // up for it.
    // A frame's steps would be steps of the page around it.
    let _ = if is_step && !url::is_embedded() {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    };
}

/// A fragment with the file that the address carries, as long as that is the file it names.
fn with_file<'a>(fragment: &'a str, before: &str) -> Cow<'a, str> {
    let file = |fragment: &str| {
        let word = fragment.trim_start_matches('#').split('&').next()?;
        word.starts_with("file=").then(|| word.to_owned())
    };
    match carried::of_fragment(before) {
        Some(text) if file(fragment).is_some() && file(fragment) == file(before) => {
            Cow::Owned(carried::with(fragment, text))
        }
        _ => Cow::Borrowed(fragment),
    }
}

/// The page's address with this fragment, and with `src` as the address of a file to open, if any.
#[must_use]
pub fn link(src: Option<&str>, fragment: &str) -> String {
    let href = web_sys::window().and_then(|window| window.location().href().ok());
    let href = href.unwrap_or_default();
    // Not built from origin and path, because a page opened from disk has no origin.
    let base = href.split(['?', '#']).next().unwrap_or_default();
    // Beside it lies the page.
    let base = match base.strip_suffix("mini.html") {
        Some(folder) => format!("{folder}index.html"),
        None => base.to_owned(),
    };
    let src = src.map(|src| format!("?src={}", String::from(js_sys::encode_uri_component(src))));
    format!("{base}{}#{fragment}", src.unwrap_or_default())
}

fn parts() -> Option<(Window, History)> {
    let window = web_sys::window()?;
    let history = window.history().ok()?;
    Some((window, history))
}

#[cfg(test)]
mod tests {
    use super::with_file;

    #[test]
    fn a_carried_file_stays_in_the_address_of_its_views() {
        let before = "#file=a.pickle~9&view=map&v=1&data=H4sI";
        for (fragment, expected) in [
            (
                "file=a.pickle~9&view=flame&v=1",
                "file=a.pickle~9&view=flame&v=1&data=H4sI",
            ),
            ("file=b.pickle~9&v=1", "file=b.pickle~9&v=1"),
            ("", ""),
        ] {
            assert_eq!(with_file(fragment, before), expected);
            assert_eq!(with_file(fragment, "#file=a.pickle~9&v=1"), fragment);
        }
    }
}
