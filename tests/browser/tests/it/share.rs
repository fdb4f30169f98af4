//! The page's address, and the pictures and files that it saves.

use base64::Engine as _;
use serde_json::Value;
use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::cut::{Piece, cut};
use vramscope_core::decode;
use vramscope_core::encode::encode;
use vramscope_core::ids::StringId;

use crate::PATIENCE;
use crate::open::{Open, fixture, open, open_fixture};

const FIXTURE: &str = "torch-2.8.0/training.pickle";

impl Open {
    fn hash(&mut self) -> String {
        let hash = self.page.eval("location.hash").unwrap();
        hash.as_str().unwrap().to_owned()
    }

    pub(crate) fn wait_for_hash(&mut self, part: &str) {
        let has = format!("location.hash.includes('{part}')");
        self.page.wait_for(&has, PATIENCE).unwrap();
    }

    /// Stores the contents of the next downloads in `saved` instead of a folder.
    fn catch_downloads(&mut self) {
        self.page
            .eval(
                "globalThis.saved = []; HTMLAnchorElement.prototype.click = async function() { \
                 const bytes = new Uint8Array(await (await fetch(this.href)).arrayBuffer()); \
                 saved.push([this.download, bytes.toBase64 ? bytes.toBase64() \
                 : btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))]); }; null",
            )
            .unwrap();
    }

    /// Clicks an item of the menu, and returns the name and content of the saved file.
    fn take_away(&mut self, title: &str) -> (String, Vec<u8>) {
        let item = format!(
            "[...document.querySelectorAll('#share-menu .item')].find(item => item.innerText.startsWith('{title}'))"
        );
        self.page.eval("saved.length = 0").unwrap();
        self.page
            .wait_for(&format!("{item} && !{item}.disabled"), PATIENCE)
            .unwrap();
        self.page.eval(&format!("{item}.click()")).unwrap();
        let saved: Value = self.page.wait_for("saved[0]", PATIENCE).unwrap();
        let content = base64::engine::general_purpose::STANDARD.decode(saved[1].as_str().unwrap());
        (saved[0].as_str().unwrap().to_owned(), content.unwrap())
    }

    fn open_menu(&mut self) {
        self.page.click_on("[popovertarget=share-menu]").unwrap();
        self.page
            .wait_for(
                "document.querySelectorAll('#share-menu .item').length > 3",
                PATIENCE,
            )
            .unwrap();
    }
}

#[test]
fn the_address_brings_back_what_was_seen() {
    let source = "?src=samples/training.pickle.gz";
    let mut first = open(source);
    first.painted();
    first.page.key("2", Modifiers::NONE).unwrap();
    first.painted();
    first
        .page
        .eval("document.querySelector('.stage').focus()")
        .unwrap();
    first.repainted(|page| page.key("w", Modifiers::NONE).unwrap());
    let (x_px, y_px) = first.point(0.5, 0.85);
    first.page.click(x_px, y_px, 1).unwrap();
    first.wait_for_hash("&pin=");
    first.wait_for_hash("&x=");
    // The address is set before the details appear.
    first
        .page
        .wait_for(
            "document.querySelector('.details .size')?.innerText",
            PATIENCE,
        )
        .unwrap();
    let title = first.page.text(".details .size").unwrap();
    let (hash, part) = (first.hash(), first.shown_part());

    let mut second = open(&format!("{source}{hash}"));
    second.painted();
    second
        .page
        .wait_for(
            "document.querySelector('.details .size')?.innerText",
            PATIENCE,
        )
        .unwrap();
    assert_eq!(second.page.text(".details .size").unwrap(), title);
    assert!((second.shown_part() - part).abs() < 1e-3);
    assert_eq!(second.hash(), hash);
    second.check_quiet();
}

#[test]
fn back_and_forward_go_through_views() {
    let mut open = open_fixture(FIXTURE);
    for (key, view) in [("2", "timeline"), ("8", "compare"), ("4", "map")] {
        open.page.key(key, Modifiers::NONE).unwrap();
        open.wait_for_hash(&format!("view={view}&"));
    }
    for (step, view) in [
        ("back", "compare"),
        ("back", "timeline"),
        ("forward", "compare"),
        ("forward", "map"),
    ] {
        open.page.eval(&format!("history.{step}()")).unwrap();
        open.wait_for_hash(&format!("view={view}&"));
        let shown = format!("!!document.querySelector('main .view.{view}')");
        open.page.wait_for(&shown, PATIENCE).unwrap();
    }
    open.check_quiet();
}

#[test]
fn a_file_opened_again_shows_what_was_seen() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("7", Modifiers::NONE).unwrap();
    open.wait_for_hash("view=table");
    open.page.eval("location.reload()").unwrap();
    open.page
        .pause(std::time::Duration::from_millis(300))
        .unwrap();
    open.wait_until_up();
    open.page
        .wait_for("!!document.querySelector('.wanted')", PATIENCE)
        .unwrap();
    assert!(
        open.page
            .text(".wanted")
            .unwrap()
            .contains("training.pickle")
    );
    open.choose(&[fixture(FIXTURE)]);
    open.page
        .wait_for("!!document.querySelector('main .view.table')", PATIENCE)
        .unwrap();
}

#[test]
fn what_is_seen_can_be_taken_away() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("2", Modifiers::NONE).unwrap();
    open.painted();
    open.catch_downloads();
    let (from, to) = (open.point(0.3, 0.5), open.point(0.7, 0.5));
    open.page.drag(from, to, 5, Modifiers::ALT).unwrap();
    open.page
        .wait_for(
            "!!document.querySelector('.statusbar .selection')",
            PATIENCE,
        )
        .unwrap();
    open.open_menu();

    let (name, pickle) = open.take_away("Selected range");
    let events: Vec<u32> = name
        .split(['-', '.'])
        .filter_map(|part| part.parse().ok())
        .collect();
    let moments = (events[0] - 1, events[1]);
    let file = std::fs::read(fixture(FIXTURE)).unwrap();
    let recording = Recording::of(decode(&file[..]).unwrap());
    let device = recording.device(0).unwrap();
    let history = device.history;
    let mut expected = Vec::new();
    let small = cut(&recording, &[Piece { device, moments }]);
    encode(&small, &mut expected).unwrap();
    assert!(
        pickle == expected,
        "{name}: {} bytes, not {}",
        pickle.len(),
        expected.len()
    );

    let (_, csv) = open.take_away("Memory over time");
    let csv = String::from_utf8(csv).unwrap();
    let active: Vec<u64> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    let span = moments.0 as usize..=moments.1 as usize;
    assert_eq!(active, history.active_bytes[span]);

    let (name, svg) = open.take_away("Picture (SVG)");
    assert!(name.ends_with(".timeline.svg"), "{name}");
    let svg = String::from_utf8(svg).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.contains("<image ") && svg.trim_end().ends_with("</svg>")
    );
    let (_, png) = open.take_away("Picture (PNG)");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000);
    let complaints = open.page.complaints().unwrap();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn frames_open_where_the_user_says() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("2", Modifiers::NONE).unwrap();
    open.painted();
    let (x_px, y_px) = open.point(0.5, 0.9);
    open.page.click(x_px, y_px, 1).unwrap();
    open.page
        .wait_for("!!document.querySelector('.stack .place')", PATIENCE)
        .unwrap();
    assert_eq!(
        open.page
            .eval("document.querySelectorAll('.stack a').length")
            .unwrap(),
        0
    );
    open.page
        .click_on("[popovertarget=editor-setting]")
        .unwrap();
    open.page.click_on("#editor-setting input").unwrap();
    open.page.type_text("javascript://x/{path}").unwrap();
    open.page
        .wait_for(
            "document.querySelector('#editor-setting .error')?.innerText.includes('refused')",
            PATIENCE,
        )
        .unwrap();
    open.page.key("a", Modifiers::CONTROL).unwrap();
    open.page
        .eval("document.querySelector('#editor-setting input').select()")
        .unwrap();
    open.page.type_text("vscode://file/{path}:{line}").unwrap();
    let link = open
        .page
        .wait_for("document.querySelector('.stack a.place')?.href", PATIENCE)
        .unwrap();
    assert!(
        link.as_str().unwrap().starts_with("vscode://file/"),
        "{link}"
    );
}

/// Opens a saved page from disk, checks that it shows a picture without any request, and returns its address.
fn open_from_disk(html: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.html");
    std::fs::write(&file, html).unwrap();
    let chromium = vramscope_browser_tests::Chromium::start().unwrap();
    let mut page = chromium.page().unwrap();
    page.set_viewport(1280, 720, 1.0).unwrap();
    page.goto(&format!("file://{}", file.display())).unwrap();
    page.wait_for_paint(PATIENCE).unwrap();
    for request in page.requests().unwrap() {
        let is_own = ["file:", "blob:", "data:"]
            .iter()
            .any(|scheme| request.url.starts_with(scheme));
        assert!(is_own, "asked for {}", request.url);
    }
    assert_eq!(page.complaints().unwrap(), Vec::<String>::new());
    page.eval("location.hash")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn one_html_file_shows_the_same_from_disk() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("4", Modifiers::NONE).unwrap();
    open.wait_for_hash("view=map");
    open.painted();
    open.catch_downloads();
    open.open_menu();
    let (name, html) = open.take_away("One HTML file");
    assert_eq!(name, "training.html");
    let own = decode(&std::fs::read(fixture(FIXTURE)).unwrap()[..]).unwrap();
    let inside = decode(&html[..]).unwrap();
    assert_eq!(inside.frames.len(), own.frames.len());
    assert_eq!(inside.events.len(), own.events.len());
    let hash = open_from_disk(&html);
    assert!(hash.starts_with("#file=training.pickle~"), "{hash}");
    assert!(hash.contains("view=map"), "{hash}");
}

#[test]
fn an_anonymous_html_file_holds_no_names() {
    let mut open = open_fixture(FIXTURE);
    open.page.key("4", Modifiers::NONE).unwrap();
    open.wait_for_hash("view=map");
    open.painted();
    open.catch_downloads();
    open.open_menu();
    let (name, html) = open.take_away("One HTML file, anonymous");
    assert_eq!(name, "anonymous.html");
    let own = decode(&std::fs::read(fixture(FIXTURE)).unwrap()[..]).unwrap();
    let inside = decode(&html[..]).unwrap();
    assert_eq!(inside.events.len(), own.events.len());
    let has_word = |snapshot: &vramscope_core::Snapshot| {
        (0..snapshot.strings.len()).any(|id| {
            let text = snapshot.strings.get(StringId::from_index(id));
            text.contains("training")
        })
    };
    assert!(has_word(&own));
    assert!(!has_word(&inside));
    let page = String::from_utf8_lossy(&html);
    assert!(!page.contains("training.pickle"));
    let hash = open_from_disk(&html);
    assert!(hash.starts_with("#file=anonymous.vram~"), "{hash}");
}
