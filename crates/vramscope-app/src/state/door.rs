//! Snapshots that another page hands to this one: which pages may do so unasked, and what the user is asked.

use vramscope_core::invisible;
use vramscope_view::display;

/// The most snapshots of one page that wait for the user's word. More are not taken: whoever floods
/// the page is not asked about for ever.
pub const MOST_WAITING: usize = 64;

/// Whether a page of this origin may hand in snapshots unasked: one of the same origin as this page, one of the user's
/// own machine, or one that the user has allowed before. As Perfetto does.
///
/// Pages without an origin of their own (opened from disk, or in a sandboxed frame) all have the origin `null`, so that
/// allowing one would allow all of them.
#[must_use]
pub fn is_trusted(origin: &str, own_origin: &str, allowed: &[String]) -> bool {
    if origin == "null" {
        return false;
    }
    origin == own_origin || is_loopback(origin) || allowed.iter().any(|known| known == origin)
}

/// Whether an origin is of the machine that the browser runs on.
fn is_loopback(origin: &str) -> bool {
    let Some((_, authority)) = origin.split_once("://") else {
        return false;
    };
    let is_port = |rest: &str| rest.is_empty() || rest.starts_with(':');
    // As browsers write them in origins, however a page's address has them.
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|host| authority.strip_prefix(host).is_some_and(is_port))
}

/// A page's name in a sentence.
#[must_use]
pub fn page_name(origin: &str) -> String {
    match origin {
        "null" => "a page without an address".to_owned(),
        origin => invisible::escaped_line(origin).into_owned(),
    }
}

/// What the user is asked about the snapshots of a page: names and bytes of those that wait.
#[must_use]
pub fn question(origin: &str, files: &[(String, u64)]) -> (String, String) {
    let page = page_name(origin);
    let bytes = files
        .iter()
        .map(|(_, bytes)| *bytes)
        .fold(0, u64::saturating_add);
    let what = match files {
        [(name, _)] => format!("{name} ({})", display::bytes(bytes)),
        files => format!("{} files ({})", files.len(), display::bytes(bytes)),
    };
    let title = match files.len() {
        1 => "Open a file of another page?".to_owned(),
        _ => "Open files of another page?".to_owned(),
    };
    let after = if origin == "null" {
        "You are asked each time."
    } else {
        "If you open it, that page is not asked about again in this browser."
    };
    let text = format!("{page} wants to open {what} here. Nothing is sent back to it. {after}");
    (title, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_and_local_pages_are_trusted() {
        let allowed = ["https://grafana.example".to_owned()];
        for (origin, expected) in [
            ("https://vramscope.example", true),
            ("https://grafana.example", true),
            ("http://localhost:25999", true),
            ("https://localhost", true),
            ("http://127.0.0.1:8000", true),
            ("http://[::1]:8000", true),
            ("http://grafana.example", false),
            ("https://grafana.example:8443", false),
            ("https://localhost.example", false),
            ("https://127.0.0.1.example", false),
            ("https://example", false),
            ("null", false),
            ("", false),
        ] {
            let trusted = is_trusted(origin, "https://vramscope.example", &allowed);
            assert_eq!(trusted, expected, "{origin}");
        }
        assert!(!is_trusted("null", "null", &["null".to_owned()]));
    }

    #[test]
    fn the_question_names_page_and_files() {
        let files = [("a.pickle".to_owned(), 2048)];
        let (title, text) = question("https://dash.example", &files);
        assert_eq!(title, "Open a file of another page?");
        assert!(
            text.starts_with("https://dash.example wants to open a.pickle (2.0 KiB) here."),
            "{text}"
        );
        let files = [("a".to_owned(), 1024), ("b".to_owned(), 1024)];
        let (_, text) = question("null", &files);
        assert!(
            text.starts_with("a page without an address wants to open 2 files (2.0 KiB) here."),
            "{text}"
        );
    }
}
