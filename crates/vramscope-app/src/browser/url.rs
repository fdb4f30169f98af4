//! The page's address, and the addresses of files to open.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use web_sys::{Url, UrlSearchParams};

/// The addresses of files in the page's own address: `?src=…&src=…`, in order.
#[must_use]
pub fn sources() -> Vec<String> {
    let search = web_sys::window().and_then(|window| window.location().search().ok());
    let Ok(parameters) = UrlSearchParams::new_with_str(&search.unwrap_or_default()) else {
        return Vec::new();
    };
    parameters
        .get_all("src")
        .iter()
        .filter_map(|src| src.as_string())
        .filter(|src| !src.is_empty())
        .collect()
}

/// Whether the page's address, or else its document, says that it is shown inside another one: `?mode=embed`.
#[must_use]
pub fn is_embedded() -> bool {
    parameter("mode").as_deref() == Some("embed")
}

/// The theme that the page's address names with `?theme=`.
#[must_use]
pub fn theme() -> Option<String> {
    parameter("theme")
}

/// How much of the page is shown, as its address names it with `?controls=`.
#[must_use]
pub fn controls() -> Option<String> {
    parameter("controls")
}

fn parameter(name: &str) -> Option<String> {
    let mut search = web_sys::window()?.location().search().ok()?;
    if search.is_empty() {
        // A frame whose document is given to it (`srcdoc`) has no such address: the document itself says the words.
        let root = gloo::utils::document_element();
        search = root.get_attribute("data-search").unwrap_or_default();
    }
    UrlSearchParams::new_with_str(&search).ok()?.get(name)
}

/// `url` in full; relative ones are relative to the page. Text that is no address stays as it is,
/// and fetching it will fail.
#[must_use]
pub fn absolute(url: &str) -> String {
    let base = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.base_uri().ok().flatten());
    let full = base.and_then(|base| Url::new_with_base(url, &base).ok());
    full.map_or_else(|| url.to_owned(), |full| full.href())
}

/// The host of an address, with its port; the scheme of one without a host. Of a text that is no address it has
/// nothing, since the page puts the host in a sentence of its own.
#[must_use]
pub fn host(url: &str) -> String {
    let Ok(full) = Url::new(&absolute(url)) else {
        return "an address that cannot be read".to_owned();
    };
    match full.host() {
        host if host.is_empty() => full.protocol(),
        host => host,
    }
}

/// The last part of an address's path, decoded, as the file's name. Stays encoded if it is not
/// valid UTF-8.
#[must_use]
pub fn file_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path);
    let name = if name.is_empty() { url } else { name };
    let decoded = percent_decode_str(name).decode_utf8();
    decoded.map_or_else(|_| name.to_owned(), Cow::into_owned)
}

/// Characters of a file's name that stay as they are in addresses.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The address at a path from the folder of `url`; `None` if the path leads out of that folder.
#[must_use]
pub fn beside(url: &str, path: &str) -> Option<String> {
    let own = url.split(['?', '#']).next().unwrap_or(url);
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut address = folder.to_owned();
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") || part.contains('\\') {
            return None;
        }
        if !address.is_empty() {
            address.push('/');
        }
        address.extend(utf8_percent_encode(part, PLAIN));
    }
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (url, name) in [
            ("samples/oom.pickle.gz", "oom.pickle.gz"),
            (
                "https://example.org/a/b%20c.pickle?token=1/2#x",
                "b c.pickle",
            ),
            ("https://example.org/a/", "a"),
            ("%zz%f", "%zz%f"),
            ("%ff", "%ff"),
            ("", ""),
        ] {
            assert_eq!(file_name(url), name, "{url}");
        }
    }

    #[test]
    fn neighbours_stay_in_the_folder() {
        let at = |path| beside("https://example.org/a/runs.vset/overview.vset?x=/#y", path);
        let neighbour = "https://example.org/a/runs.vset/dumps/rank%200%25.pickle";
        assert_eq!(at("dumps/rank 0%.pickle").as_deref(), Some(neighbour));
        for out in [
            "../a",
            "a/../../b",
            "/etc/passwd",
            "",
            "a//b",
            "a/.",
            "..\\a",
        ] {
            assert_eq!(at(out), None, "{out}");
        }
        assert_eq!(beside("o.vset", "a/b").as_deref(), Some("a/b"));
        assert_eq!(beside("files/0/o.vset", "https://x").as_deref(), None);
    }
}
