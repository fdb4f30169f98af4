//! Operates every view by real input: wheel, scrollbar, fingers, pointer, and resizing the window; in the page and in a
//! frame. Each step names what it moves by something visible, and fails if that does not change.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use vramscope_browser_tests::{Modifiers, page_folder};

use crate::open::{Open, open_in};
use crate::{PATIENCE, fleet, graph};

/// What the user does to an element.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hand {
    /// Turns the wheel by this many px over its middle; a negative number turns it away from the user.
    Wheel(f64),
    /// Drags its scrollbar down, by this share of its height.
    Scrollbar(f64),
    /// Drags it with the left button, to the right and down, by px.
    Drag(f64, f64),
    /// Moves a finger over it, to the right and down, by px.
    Finger(f64, f64),
    /// Moves two fingers apart over it.
    Fingers,
    /// Points at a place in it, as shares of its width and height.
    Hover(f64, f64),
    /// Clicks a place in it.
    Click(f64, f64),
    /// Makes the window, and with it the frame, smaller.
    Resize,
}

/// One step: the action, the element, and what changes there, as JavaScript with the functions of [`SEEN`]. An empty
/// text counts as nothing visible.
type Step = (Hand, &'static str, &'static str);

/// A view, and everything that moves in it.
struct View<'a> {
    /// Puts its file into a folder, and returns its name.
    file: fn(&Path) -> String,
    /// The view's name in the page's address; empty for files with only one view.
    name: &'static str,
    /// Present once everything is shown.
    is_there: &'static str,
    /// Steps that come first.
    first: &'a [Step],
    /// What scrolls by its scrollbar, the wheel and a finger, and what is visible in it.
    scrolls: &'a [(&'static str, &'static str)],
    /// Other steps.
    steps: &'a [Step],
}

impl View<'_> {
    fn all_steps(&self) -> Vec<Step> {
        let scrolls = self.scrolls.iter().flat_map(|&(of, seen)| {
            // Down, up and down again.
            let hands = [
                Hand::Scrollbar(0.25),
                Hand::Wheel(-60.0),
                Hand::Finger(0.0, -60.0),
            ];
            hands.map(|hand| (hand, of, seen))
        });
        let (first, steps) = (self.first.iter().copied(), self.steps.iter().copied());
        first.chain(scrolls).chain(steps).collect()
    }
}

const fn click(on: &'static str, seen: &'static str) -> Step {
    (Hand::Click(0.5, 0.5), on, seen)
}

const fn hover(on: &'static str, seen: &'static str) -> Step {
    (Hand::Hover(0.5, 0.5), on, seen)
}

/// What is visible, as JavaScript functions that return texts.
const SEEN: &str = "
  const one = (selector) => document.querySelector(selector);
  const at = (selector, across, down) => {
    const box = one(selector)?.getBoundingClientRect();
    return box && document.elementFromPoint(box.x + box.width * across, box.y + box.height * down);
  };
  const text = (selector) => one(selector)?.innerText.trim() ?? '';
  const row = (selector, down) => at(selector, 0.4, down)?.closest('.vrow, .flame-row, .site-row, tr')?.innerText.trim() ?? '';
  const top = (selector, of) => one(selector) && one(of) ? String(Math.round(one(selector).getBoundingClientRect().y - one(of).getBoundingClientRect().y)) : '';
  const left = (selector) => one(selector) ? String(Math.round(one(selector).getBoundingClientRect().x)) : '';
  const width = (selector) => one(selector) ? String(Math.round(one(selector).getBoundingClientRect().width)) : '';
  const height = (selector) => one(selector) ? String(Math.round(one(selector).getBoundingClientRect().height)) : '';
  const ground = (selector) => one(selector) ? getComputedStyle(one(selector)).backgroundColor : '';
  const drawn = (selector) => {
    const from = one(selector);
    if (!from?.width) return '';
    const to = new OffscreenCanvas(96, 96).getContext('2d');
    to.drawImage(from, 0, 0, 96, 96);
    const { data } = to.getImageData(0, 0, 96, 96);
    return data.some(Boolean) ? String(data.reduce((hash, byte) => (hash * 31 + byte) | 0, 7)) : '';
  };
";

/// Where the page is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Window,
    /// In a frame of a long page.
    Embedded,
}

impl Place {
    /// The page's document, in JavaScript.
    fn document(self) -> &'static str {
        match self {
            Self::Window => "document",
            Self::Embedded => {
                "document.querySelector('vramscope-viewer')?.shadowRoot?.querySelector('iframe')?.contentDocument"
            }
        }
    }

    /// An expression about the page's document.
    fn script(self, expression: &str) -> String {
        let document = self.document();
        format!("((document) => {{ {SEEN} return {expression} }})({document})")
    }
}

const WINDOW_PX: (u32, u32) = (1280, 620);
const SMALLER_PX: (u32, u32) = (1180, 590);

/// A view in a place.
struct Shown<'a> {
    open: &'a mut Open,
    place: Place,
}

impl Shown<'_> {
    fn eval(&mut self, expression: &str) -> Value {
        let script = self.place.script(expression);
        self.open.page.eval(&script).unwrap()
    }

    fn wait(&mut self, expression: &str, what: &str) {
        let script = self.place.script(expression);
        if let Err(error) = self.open.page.wait_for(&script, PATIENCE) {
            panic!("{what}: {error}");
        }
    }

    /// An element's box in the window, scrolled into view: x, y, width and height, once it stands still.
    fn box_of(&mut self, selector: &str) -> [f64; 4] {
        let frame = "document.defaultView.frameElement?.getBoundingClientRect() ?? { x: 0, y: 0 }";
        let script = format!(
            "(() => {{ const it = one({selector:?}); if (!it) return null; it.scrollIntoView({{ block: 'nearest' }}); \
             const around = {frame}; const {{ x, y, width, height }} = it.getBoundingClientRect(); \
             return [x + around.x, y + around.y, width, height] }})()"
        );
        let found = self.still(&script);
        let side = |side: usize| found[side].as_f64();
        let sides = [side(0), side(1), side(2), side(3)].map(|side| side.unwrap_or(f64::NAN));
        assert!(!sides[0].is_nan(), "{:?}: no {selector}", self.place);
        sides
    }

    /// What is visible, once it is the same three times.
    fn still(&mut self, expression: &str) -> Value {
        let (mut before, mut times) = (Value::Null, 0);
        for _ in 0..200 {
            let now = self.eval(expression);
            times = if now == before { times + 1 } else { 0 };
            if times == 2 {
                break;
            }
            before = now;
            self.open.page.pause(PAUSE).unwrap();
        }
        before
    }

    /// Clicks into the frame: until then the wheel scrolls the page around it, and nothing in it.
    fn comes_in(&mut self) {
        self.open.page.click_on("h1").unwrap();
        let [x_px, y_px, width_px, height_px] = self.box_of("main");
        let middle = (x_px + width_px / 2.0, y_px + height_px / 2.0);
        let page = &mut self.open.page;
        page.mouse_move(middle.0, middle.1).unwrap();
        page.wheel(middle.0, middle.1, 120.0, Modifiers::NONE)
            .unwrap();
        page.wait_for("scrollY > 0", PATIENCE).unwrap();
        page.eval("scrollTo({ top: 0, behavior: 'instant' })")
            .unwrap();
        let [x_px, y_px, ..] = self.box_of(".statusbar");
        self.open.page.click(x_px + 2.0, y_px + 2.0, 1).unwrap();
        self.wait(
            "document.hasFocus()",
            "a click leaves the keyboard where it was",
        );
    }

    /// Does a step, and waits until its target has changed.
    fn step(&mut self, (hand, selector, seen): Step) {
        let [x_px, y_px, width_px, height_px] = self.box_of(selector);
        let middle = (x_px + width_px / 2.0, y_px + height_px / 2.0);
        let before = self.still(seen);
        let page = &mut self.open.page;
        match hand {
            Hand::Wheel(by_px) => {
                page.mouse_move(middle.0, middle.1).unwrap();
                page.wheel(middle.0, middle.1, by_px, Modifiers::NONE)
                    .unwrap();
            }
            Hand::Scrollbar(share) => {
                let bar = format!("one({selector:?}).offsetWidth - one({selector:?}).clientWidth");
                let bar_px = self.eval(&bar).as_f64().unwrap();
                assert!(bar_px > 4.0, "{selector} has no scrollbar to drag");
                let from = (x_px + width_px - bar_px / 2.0, y_px + SCROLLBAR_START_PX);
                let to = (from.0, from.1 + height_px * share);
                self.open.page.drag(from, to, 6, Modifiers::NONE).unwrap();
            }
            Hand::Drag(right_px, down_px) => {
                let to = (middle.0 + right_px, middle.1 + down_px);
                page.drag(middle, to, 6, Modifiers::NONE).unwrap();
            }
            Hand::Finger(right_px, down_px) => {
                page.swipe(middle, (middle.0 + right_px, middle.1 + down_px))
                    .unwrap();
            }
            Hand::Fingers => page.spread(middle, 40.0, 200.0).unwrap(),
            Hand::Hover(across, down) => {
                page.mouse_move(x_px + width_px * across, y_px + height_px * down)
                    .unwrap();
            }
            Hand::Click(across, down) => {
                page.click(x_px + width_px * across, y_px + height_px * down, 1)
                    .unwrap();
            }
            Hand::Resize => page.set_viewport(SMALLER_PX.0, SMALLER_PX.1, 1.0).unwrap(),
        }
        let what = format!(
            "{:?}: {hand:?} on {selector} moved nothing: {seen} stays {before}",
            self.place
        );
        self.wait(
            &format!("(({seen}) !== {before} && ({seen}) !== '')"),
            &what,
        );
    }
}

/// Time between two checks for stillness.
const PAUSE: Duration = Duration::from_millis(40);

/// Just below the upper end of a scrollbar, where its thumb begins.
const SCROLLBAR_START_PX: f64 = 20.0;

/// Does all steps in the page, then in a frame.
fn by_hand(view: &View<'_>) {
    let folder = tempfile::tempdir().unwrap();
    symlink(page_folder(), folder.path().join("viewer")).unwrap();
    let name = (view.file)(folder.path());
    let said = match view.name {
        "" => String::new(),
        name => format!("view={name}"),
    };
    let docs = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><script type=module src=viewer/viewer.js></script>\
         <style>vramscope-viewer {{ width: calc(100vw - 60px) !important; height: calc(100vh - 80px) !important }}</style>\
         <h1 tabindex=0>docs</h1><vramscope-viewer src={name} {said} loading=eager></vramscope-viewer><p style='height:3000px'>text</p>"
    );
    fs::write(folder.path().join("docs.html"), docs).unwrap();
    let mut open = open_in(
        folder.path(),
        &format!("viewer/index.html?src=../{name}#{said}"),
    );
    for place in [Place::Window, Place::Embedded] {
        open.page
            .set_viewport(WINDOW_PX.0, WINDOW_PX.1, 1.0)
            .unwrap();
        if place == Place::Embedded {
            let url = open.server.url("docs.html");
            open.page.goto(&url).unwrap();
        }
        let mut shown = Shown {
            open: &mut open,
            place,
        };
        shown.wait(view.is_there, &format!("{place:?}: not shown"));
        let steps = view.all_steps();
        if place == Place::Embedded {
            shown.comes_in();
        }
        for step in steps {
            shown.step(step);
        }
    }
    open.check_quiet();
}

fn copied(folder: &Path, from: &Path) -> String {
    let name = from.file_name().unwrap().to_str().unwrap();
    fs::copy(from, folder.join(name)).unwrap();
    name.to_owned()
}

/// A training run, with more than a thousand allocations.
fn training(folder: &Path) -> String {
    copied(folder, &page_folder().join("samples/training.pickle.gz"))
}

fn out_of_memory(folder: &Path) -> String {
    copied(
        folder,
        &page_folder().join("samples/out-of-memory.pickle.gz"),
    )
}

fn ranks(folder: &Path) -> String {
    fleet::overview(folder, 200);
    "overview.vset".to_owned()
}

fn failures(folder: &Path) -> String {
    let of = |rank: u32| {
        format!(
            "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {rank}.50 GiB. GPU {rank} has a total capacity of \
             79.10 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by \
             PyTorch but unallocated.\n"
        )
    };
    let log: String = (0..40).map(of).collect();
    fs::write(folder.join("ranks.log"), log).unwrap();
    "ranks.log".to_owned()
}

fn compiled(folder: &Path) -> String {
    copied(folder, &graph::graph("dag_200.orm.json.zst"))
}

const TOOLTIP: &str = "text('.tooltip')";
const DETAILS: &str = "text('.details .head') + text('.details .id')";
const PICTURE: &str = "drawn('.stage canvas')";
const CURRENT: &str = "text('.rail [aria-current]')";

/// The pictures over time, which have the same steps.
const PICTURED: &[Step] = &[
    (Hand::Hover(0.6, 0.8), ".stage", TOOLTIP),
    (Hand::Click(0.6, 0.8), ".stage", DETAILS),
    (Hand::Wheel(-400.0), ".stage", PICTURE),
    (Hand::Drag(-120.0, 0.0), ".stage", PICTURE),
    (Hand::Fingers, ".stage", PICTURE),
    (Hand::Finger(-100.0, 0.0), ".stage", PICTURE),
    // The strip is their scrollbar.
    (Hand::Drag(60.0, 0.0), ".brush", PICTURE),
    (Hand::Resize, ".stage", "width('.stage canvas')"),
];

fn pictured(name: &'static str) {
    by_hand(&View {
        file: training,
        name,
        is_there: PICTURE,
        first: &[],
        scrolls: &[],
        steps: PICTURED,
    });
}

#[test]
fn overview() {
    const BUTTON: &str = ".finding .evidence button";
    by_hand(&View {
        file: out_of_memory,
        name: "overview",
        is_there: "text('.finding')",
        first: &[],
        scrolls: &[(".overview", "top('.overview .page', '.overview')")],
        steps: &[
            hover(BUTTON, "ground('.finding .evidence button')"),
            (Hand::Resize, ".overview", "width('.overview .page')"),
            click(BUTTON, CURRENT),
        ],
    });
}

#[test]
fn timeline() {
    pictured("timeline");
}

#[test]
fn segments() {
    pictured("segments");
}

#[test]
fn map() {
    pictured("map");
}

#[test]
fn allocator() {
    const MOMENT: &str = "one('.state-number input').value";
    const STATE: &str = "top('.state-head', '.state-scroll')";
    by_hand(&View {
        file: training,
        name: "allocator",
        is_there: "text('.state-scroll[data-moment]')",
        // Zoomed in, since otherwise everything is in view; then what the event changed is, at the bottom.
        first: &[
            click(
                ".state-zoom button:nth-child(2)",
                "height('.state-content')",
            ),
            (Hand::Wheel(-1000.0), ".state-scroll", STATE),
        ],
        scrolls: &[
            (".state-events .vlist", "row('.state-events .vlist', 0.5)"),
            (".state-scroll", STATE),
        ],
        steps: &[
            click(".state-events .vlist", MOMENT),
            (Hand::Click(0.7, 0.5), ".strip .field", MOMENT),
            (Hand::Hover(0.02, 0.5), ".state-scroll", TOOLTIP),
            (
                Hand::Resize,
                ".state-scroll",
                "width('.state-content canvas')",
            ),
        ],
    });
}

#[test]
fn flame() {
    const CHART: &str = "drawn('.flame-scroll canvas')";
    by_hand(&View {
        file: training,
        name: "flame",
        is_there: CHART,
        first: &[
            (Hand::Hover(0.3, 0.12), ".flame-scroll", TOOLTIP),
            (Hand::Click(0.1, 0.18), ".flame-scroll", CHART),
            (
                Hand::Resize,
                ".flame-scroll",
                "width('.flame-scroll canvas')",
            ),
            // Its functions as a list.
            click(
                ".flame-tools .choice:first-child label:nth-child(4)",
                "row('.flame-table', 0.5)",
            ),
        ],
        scrolls: &[(".flame-table", "row('.flame-table', 0.5)")],
        steps: &[],
    });
}

#[test]
fn table() {
    by_hand(&View {
        file: training,
        name: "table",
        is_there: "row('.vlist', 0.5)",
        // So far that none of the earlier rows is left.
        first: &[(Hand::Wheel(9000.0), ".vlist", "row('.vlist', 0.5)")],
        scrolls: &[(".vlist", "row('.vlist', 0.5)")],
        steps: &[
            (Hand::Hover(0.5, 0.3), ".vlist", "text('.vrow:hover')"),
            (Hand::Click(0.5, 0.3), ".vlist", DETAILS),
            (Hand::Resize, ".vlist", "row('.vlist', 0.9)"),
            click(".vhead button", "row('.vlist', 0.5)"),
        ],
    });
}

#[test]
fn compare() {
    by_hand(&View {
        file: training,
        name: "compare",
        is_there: "text('.site-row')",
        first: &[],
        scrolls: &[(".sites-table", "row('.sites-table', 0.6)")],
        steps: &[
            hover(".swap", "ground('.swap')"),
            click(".swap", "text('.totals')"),
            (Hand::Resize, ".sites-table", "width('.sites-table')"),
        ],
    });
}

#[test]
fn what_if() {
    const OTHER: &str = ".what-if .panel-bar label:nth-child(2)";
    const WAY: &str = "top('.what-if .way', '.what-if')";
    by_hand(&View {
        file: training,
        name: "what-if",
        is_there: "text('.what-if .panel-bar')",
        first: &[click(
            ".what-if .panel-bar label:nth-child(3)",
            "text('.what-if .way')",
        )],
        scrolls: &[],
        steps: &[
            (Hand::Scrollbar(0.25), ".what-if", WAY),
            // Over the pictures below it the wheel zooms.
            (Hand::Wheel(60.0), ".what-if .way", WAY),
            (Hand::Finger(0.0, -60.0), ".what-if .way", WAY),
            hover(OTHER, "ground('.what-if .panel-bar label:nth-child(2)')"),
            (Hand::Resize, ".what-if", "width('.what-if .way')"),
        ],
    });
}

#[test]
fn facts() {
    const DEVICE: &str = ".facts tbody th button";
    by_hand(&View {
        file: out_of_memory,
        name: "facts",
        is_there: "text('.facts .page table')",
        first: &[],
        scrolls: &[(".facts", "top('.facts .page', '.facts')")],
        steps: &[
            hover(DEVICE, "ground('.facts tbody th button')"),
            (Hand::Resize, ".facts", "width('.facts .page')"),
            click(DEVICE, CURRENT),
        ],
    });
}

#[test]
fn ranks_of_a_job() {
    by_hand(&View {
        file: ranks,
        name: "",
        is_there: "row('.vlist', 0.5) && drawn('.stage canvas')",
        first: &[hover(".stage", TOOLTIP)],
        scrolls: &[(".vlist", "row('.vlist', 0.5)")],
        steps: &[
            (Hand::Resize, ".stage", "width('.stage canvas')"),
            click("[aria-label=Table] label:nth-child(2)", "text('.vrow')"),
        ],
    });
}

#[test]
fn graphs() {
    const LIVE: &str = ".graph-list:nth-child(1) .vlist";
    const NODES: &str = ".graph-list:nth-child(2) .vlist";
    by_hand(&View {
        file: compiled,
        name: "",
        is_there: "row('.graph-list .vlist', 0.5) && drawn('.stage canvas')",
        first: &[
            hover(".stage", "left('.bar-outline.hovered')"),
            click(".stage", "left('.bar-outline.selected')"),
        ],
        scrolls: &[
            (LIVE, "row('.graph-list:nth-child(1) .vlist', 0.5)"),
            (NODES, "row('.graph-list:nth-child(2) .vlist', 0.5)"),
        ],
        steps: &[
            (Hand::Wheel(-300.0), ".stage", PICTURE),
            (Hand::Drag(-100.0, 0.0), ".stage", PICTURE),
            (Hand::Fingers, ".stage", PICTURE),
            (Hand::Resize, ".stage", "width('.stage canvas')"),
        ],
    });
}

#[test]
fn texts() {
    const BUTTON: &str = ".text-file tbody tr:nth-child(3) button";
    by_hand(&View {
        file: failures,
        name: "",
        is_there: "text('.told')",
        first: &[],
        scrolls: &[
            (".text-file .wide", "row('.text-file .wide', 0.5)"),
            (".text-file", "top('.text-file .page', '.text-file')"),
        ],
        steps: &[
            (
                Hand::Resize,
                ".text-file",
                "left('.text-file .page') + width('.text-file .page')",
            ),
            click(BUTTON, "text('.told')"),
        ],
    });
}
