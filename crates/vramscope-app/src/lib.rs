//! The page: Yew components in the browser's main thread, and one worker per file that decodes,
//! analyses and draws.
//!
//! Page and worker are the same wasm module: `www/page.js` compiles it once and calls
//! [`start_page`]. Each worker instantiates the compiled module with its own memory and calls
//! [`start_worker`].
//!
//! - [`protocol`]: the messages between page and worker;
//! - [`worker`]: decodes, analyses, draws and answers;
//! - [`engine`]: the page's access to workers: one [`engine::Session`] per open file;
//! - [`canvas`]: draws on canvases: the worker's pictures, and axes and outlines around them;
//! - [`browser`]: files, addresses, clipboard, clock;
//! - `mini`: the first picture of an embedded viewer, before the page;
//! - `saving`: saved pictures of views that are tables and texts;
//! - [`state`]: the page's state, and how actions change it;
//! - [`components`]: the elements of the page, rendered from the state.
//!
//! Questions hold all they depend on, the filter included. Cancelling or closing a file ends its worker, which frees all of
//! its memory; at most eight files are read at once. Work that takes long is asked for again and again, for some 25 ms each
//! time (`worker/pace.rs`), so that no other question waits longer. Between sharp pictures the canvas shows the last one,
//! stretched to where the viewport is now, so that panning and zooming never wait.
//!
//! What all views share (device, cursor, range, pin, search) is in the state, so that a click in one view moves all others and
//! no view knows another; `state::selected` alone says what they are about. While the search names memory pools, all views ask
//! a session within them, which answers from a recording of these pools alone (`worker/narrowed.rs`); the numbers of events and
//! allocations stay those of the whole file.
//!
//! Timeline, segments and map share `protocol/pictures`, `worker/painter`, `worker/answer` and `components/pictured`. Graphs of
//! torch.compile and fleets are tabs with one view of their own, and so are texts. A file of `vramscope view --live` changes
//! while it is shown: the worker of the shown tab reads the new version beside the open one, says where cursor and pin are now,
//! and the session of the new version asks everything anew while old answers stay (`protocol/live`, `state/live`).
//!
//! Before the first file is opened the page rehearses: a spare worker opens a tiny file out of sight, so that browsers have
//! compiled the code by then.

// Natively there are only its tests.
#![cfg(any(test, doc, target_arch = "wasm32"))]

// Lowest first: a module uses those of groups above its own.

pub mod parts;

pub mod protocol;

pub mod browser;

pub mod engine;

pub mod canvas;

mod saving;

pub mod state;
pub mod worker;

pub mod components;
mod mini;

use js_sys::Array;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use engine::{Engine, Source};
use parts::{Part, apart};

/// Mounts the page. `module` is the compiled module for workers, `whole` are the modules of [`Part::Whole`]: without them
/// the first picture of a file is shown, and the page when it is needed. `new_worker` starts a worker. `files` are
/// embedded in the page, `served` are the addresses of files that its server was given; both are opened at the start, with
/// those that the page's address names.
///
/// # Errors
/// If these are no modules of this one.
#[wasm_bindgen]
pub fn start_page(
    module: JsValue,
    whole: Option<Array>,
    new_worker: js_sys::Function,
    load_part: js_sys::Function,
    files: Vec<web_sys::File>,
    served: Vec<String>,
) -> Result<(), JsValue> {
    let loaded: Vec<_> = whole
        .map(|whole| (Part::Whole, whole))
        .into_iter()
        .collect();
    for (part, modules) in &loaded {
        parts::take(*part, modules)?;
    }
    let engine = Engine::new(engine::Boot {
        module,
        new_worker,
        load_part,
        loaded,
    });
    browser::frame::show_controls();
    browser::frame::show_sleep();
    let files = Source::files(files).into_iter();
    let served = served.into_iter().map(Source::Served);
    let linked = browser::url::sources().into_iter().map(Source::Linked);
    let sources = files.chain(served).chain(linked).collect();
    if parts::is_here(Part::Whole) {
        mount(engine, sources);
    } else {
        show_first(engine, sources);
    }
    Ok(())
}

apart! { "whole", "60",
    /// Shows the page in place of what the document has.
    fn mount(engine: Engine, sources: Vec<Source>) -> () {
        let props = components::AppProps { engine, sources };
        yew::Renderer::<components::App>::with_props(props).render();
    }
}

apart! { "mini", "65",
    /// Shows the first picture of a file.
    fn show_first(engine: Engine, sources: Vec<Source>) -> () {
        browser::frame::show_theme();
        mini::start(engine, sources);
    }
}

/// Runs a worker, which answers messages from the page. Called once per worker.
#[wasm_bindgen]
pub fn start_worker() {
    worker::run();
}
