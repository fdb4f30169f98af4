//! The page, end to end, in a real browser. Run by `cargo xtask test`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod harness;
mod loading;

use std::path::Path;
use std::time::Duration;

use vramscope_browser_tests::{Chromium, Page, Server, page_folder};

/// How long the page may take for anything, on a slow machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser that shows one page of a static server.
struct Open {
    server: Server,
    page: Page,
    /// Dropped last: it ends the browser.
    _chromium: Chromium,
}

/// Serves the built page and opens it, followed by `query`.
fn open(query: &str) -> Open {
    open_in(&page_folder(), query)
}

/// Serves `folder` and opens its `path`.
fn open_in(folder: &Path, path: &str) -> Open {
    assert!(
        folder.is_dir(),
        "no page in {}: run `cargo xtask test`",
        folder.display()
    );
    let server = Server::start(folder, 0).expect("a port");
    let chromium = Chromium::start().expect("a browser");
    let mut page = chromium.page().expect("a page");
    page.set_viewport(1280, 720, 1.0).expect("a viewport");
    page.goto(&server.url(path)).expect("the page loads");
    Open {
        server,
        page,
        _chromium: chromium,
    }
}

impl Open {
    /// Checks that the page complained of nothing and talked to nobody but its own host.
    fn check_quiet(&mut self) {
        let complaints = self.page.complaints().expect("the browser");
        assert!(complaints.is_empty(), "console: {complaints:#?}");
        let origin = self.server.url("");
        let requests = self.page.requests().expect("the browser");
        assert!(!requests.is_empty(), "requests are recorded");
        for request in requests {
            assert!(
                request.url.starts_with(&origin),
                "asked for {}",
                request.url
            );
            assert_eq!(request.method, "GET", "sent something to {}", request.url);
        }
    }
}
