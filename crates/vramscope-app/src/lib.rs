//! The page: Yew components in the browser's main thread. What they show, workers decode, analyse and draw
//! (`vramscope-worker`), each for one file.
//!
//! Page, worker and planner are programs of their own, which `www/page.js` loads: page and worker side by side, then the planner.
//! A fourth is the first picture of an embedded viewer (`mini.html`), before the page: it is made of the modules up to [`mini`].
//!
//! - [`browser`]: files, addresses, clipboard, clock;
//! - [`engine`]: the page's access to workers: one [`engine::Session`] per open file;
//! - [`canvas`]: draws on canvases: the worker's pictures, and axes and outlines around them;
//! - [`state`]: the page's state, and how actions change it;
//! - [`mini`]: the first picture of an embedded viewer;
//! - [`components`]: the elements of the page, rendered from the state.
//!
//! Questions hold all they depend on, the filter included. Cancelling or closing a file ends its worker, which frees all of
//! its memory; at most eight files are read at once. Between sharp pictures the canvas shows the last one, stretched to where
//! the viewport is now, so that panning and zooming never wait. While the user moves the viewport, `components/camera` has it,
//! and what shows it follows frame by frame without rendering a component; the state learns of it when it rests.
//!
//! What all views share (device, cursor, range, pin, search) is in the state, so that a click in one view moves all others and
//! no view knows another; `state::selected` alone says what they are about. While the search names memory pools, all views ask
//! a session within them. Timeline, segments and map share `components/pictured`. Graphs of torch.compile and fleets are tabs
//! with one view of their own, and so are texts. A file of `vramscope view --live` changes while it is shown: the worker of the
//! shown tab reads the new version beside the open one, says where cursor and pin are now, and the session of the new version
//! asks everything anew while old answers stay (`state/live`).

// Natively there are only its tests.
#![cfg(any(test, doc, target_arch = "wasm32"))]

// Lowest first: a module uses those of groups above its own.

pub mod browser;

pub mod engine;

pub mod canvas;

pub mod state;

pub mod mini;

pub mod components;

use browser::{door, frame, url};
use engine::{Engine, Handover, Source, Starters};
use wasm_bindgen::JsValue;

/// Mounts the page. `files` are embedded in the page, `served` are the addresses of files that its
/// server was given; both are opened at the start, with those that the page's address names. Of `mini.html` it is what that
/// page hands over instead.
pub fn start(starters: Starters, files: Vec<web_sys::File>, served: Vec<String>, handed: &JsValue) {
    let engine = Engine::new(starters, true);
    if let Some(handed) = Handover::of_js(handed, &engine) {
        return go_on(engine, handed);
    }
    engine.start_spare();
    frame::show_controls();
    frame::show_sleep();
    let files = Source::files(files).into_iter();
    let served = served.into_iter().map(Source::Served);
    let linked = url::sources().into_iter().map(Source::Linked);
    mount(engine, files.chain(served).chain(linked).collect());
}

/// Goes on where `mini.html` was.
fn go_on(engine: Engine, handed: Handover) {
    let before = handed.has_picture.then(mini::picture).flatten();
    let focus = mini::focus();
    if let Some(host) = &handed.host {
        door::set_host(host);
    }
    if let Some(session) = handed.session.as_ref().filter(|_| handed.has_told) {
        door::has_told_of(session.name());
    }
    let own = handed.session.into_iter().map(Source::Open);
    mount(engine, own.chain(handed.more).collect());
    if let Some(before) = before {
        frame::cover(&before, focus);
    }
}

/// Shows the page in place of what the document has.
fn mount(engine: Engine, sources: Vec<Source>) {
    let props = components::AppProps { engine, sources };
    yew::Renderer::<components::App>::with_props(props).render();
}
