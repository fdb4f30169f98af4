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
//! - `saving`: saved pictures of views that are tables and texts;
//! - [`state`]: the page's state, and how actions change it;
//! - [`components`]: the elements of the page, rendered from the state.

pub mod browser;
pub mod canvas;
pub mod components;
pub mod engine;
pub mod parts;
pub mod protocol;
mod saving;
pub mod state;
pub mod worker;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Mounts the page. `module` is the compiled module for workers, `new_worker` starts one. `files` are embedded in the page, `served` are the addresses of files that its server was given; both are
/// opened at the start, with those that the page's address names.
#[wasm_bindgen]
pub fn start_page(
    module: JsValue,
    new_worker: js_sys::Function,
    load_part: js_sys::Function,
    files: Vec<web_sys::File>,
    served: Vec<String>,
) {
    let engine = engine::Engine::new(engine::Boot {
        module,
        new_worker,
        load_part,
    });
    browser::frame::show_controls();
    let files = engine::Source::files(files).into_iter();
    let served = served.into_iter().map(engine::Source::Served);
    let linked = browser::url::sources()
        .into_iter()
        .map(engine::Source::Linked);
    let sources = files.chain(served).chain(linked).collect();
    let props = components::AppProps { engine, sources };
    yew::Renderer::<components::App>::with_props(props).render();
}

/// Runs a worker, which answers messages from the page. Called once per worker.
#[wasm_bindgen]
pub fn start_worker() {
    worker::run();
}
