//! The start of every test (server, browser, page), and steps shared by several tests.

use std::path::{Path, PathBuf};

use vramscope_browser_tests::{Chromium, Mark, Page, Server, page_folder, root};

use crate::PATIENCE;

/// Selector of the page's file input.
const FILE_INPUT: &str = "input[type=file]";

/// A browser that shows one page of a static server.
pub(crate) struct Open {
    pub(crate) server: Server,
    pub(crate) page: Page,
    /// Dropped last, which ends the browser.
    pub(crate) chromium: Chromium,
}

/// Serves the built page, opens it with `query` appended to its address, and waits until it is loaded.
pub(crate) fn open(query: &str) -> Open {
    let mut open = open_in(&page_folder(), query);
    open.wait_until_up();
    open
}

/// Opens the built page with a fixture and waits until it is painted.
pub(crate) fn open_fixture(name: &str) -> Open {
    let mut open = open("");
    open.choose(&[fixture(name)]);
    open.painted();
    open
}

/// Opens the built page from a network so slow that its module takes a minute.
pub(crate) fn open_slowly() -> Open {
    let mut open = blank(&page_folder());
    open.page.slow_network(50_000.0, 0.0).unwrap();
    let url = serde_json::json!({"url": open.server.url("")});
    open.page.call("Page.navigate", url).unwrap();
    open
}

/// Serves `folder` and opens its `path`.
pub(crate) fn open_in(folder: &Path, path: &str) -> Open {
    let mut open = blank(folder);
    let url = open.server.url(path);
    open.page.goto(&url).expect("the page loads");
    open
}

/// Serves `folder` and opens an empty page.
fn blank(folder: &Path) -> Open {
    assert!(
        folder.is_dir(),
        "no page in {}: run `cargo xtask test`",
        folder.display()
    );
    let server = Server::start(folder, 0).expect("a port");
    let chromium = Chromium::start().expect("a browser");
    let mut page = chromium.page().expect("a page");
    page.set_viewport(1280, 720, 1.0).expect("a viewport");
    Open {
        server,
        page,
        chromium,
    }
}

/// A file of `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    let file = root().join("tests/fixtures").join(name);
    assert!(file.is_file(), "no fixture {name}");
    file
}

impl Open {
    /// Waits until the page is loaded and accepts input.
    pub(crate) fn wait_until_up(&mut self) {
        let input = format!("!!document.querySelector('{FILE_INPUT}')");
        self.page.wait_for(&input, PATIENCE).unwrap();
        // Chromium drops input that arrives before the first frame on the screen.
        self.page
            .eval("new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(() => shown(null))))")
            .unwrap();
    }

    /// Gives files to the page, as its file picker does.
    pub(crate) fn choose(&mut self, files: &[PathBuf]) {
        self.page.choose_files(FILE_INPUT, files).unwrap();
    }

    /// Waits for a painted timeline, then until nothing more is painted, and returns the last mark.
    pub(crate) fn painted(&mut self) -> Mark {
        self.page.wait_for_paint(PATIENCE).unwrap();
        self.page.wait_until_settled(PATIENCE).unwrap();
        self.page.wait_for_paint(PATIENCE).unwrap()
    }

    /// Runs an action and waits for the next picture.
    pub(crate) fn repainted(&mut self, act: impl FnOnce(&mut Page)) -> Mark {
        self.page.clear_marks().unwrap();
        act(&mut self.page);
        self.painted()
    }

    /// A point in the picture, as fractions of its width and height from the upper left corner.
    pub(crate) fn point(&mut self, across: f64, down: f64) -> (f64, f64) {
        let box_px = self
            .page
            .eval("(({x, y, width, height}) => [x, y, width, height])(document.querySelector('.stage').getBoundingClientRect())")
            .unwrap();
        let side = |index: usize| box_px[index].as_f64().unwrap();
        (side(0) + side(2) * across, side(1) + side(3) * down)
    }

    /// The visible share of the time axis, from 0 to 1, according to the brush in the overview.
    pub(crate) fn shown_part(&mut self) -> f64 {
        let part = self
            .page
            .eval("(() => { const brush = document.querySelector('.brush'); return brush ? brush.getBoundingClientRect().width / brush.parentElement.getBoundingClientRect().width : 1 })()")
            .unwrap();
        part.as_f64().unwrap()
    }

    /// Checks that the page wrote no errors and made requests only to its own host.
    pub(crate) fn check_quiet(&mut self) {
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
