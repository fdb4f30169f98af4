//! The page: Yew components in the browser's main thread and a worker per file that decodes and draws.
//!
//! Both ends are this one wasm module: `www/page.js` compiles it once and calls [`start_page`], each
//! worker gets the compiled module, makes an instance with memory of its own and calls [`start_worker`].
//!
//! - [`protocol`]: what the two say to each other;
//! - [`worker`]: decodes, analyses, draws, answers;
//! - [`engine`]: the page's side of it: a [`engine::Session`] per open file;
//! - [`canvas`]: shows the worker's pictures, and axes and outlines over them;
//! - [`browser`]: files, addresses, clipboard, clock;
//! - `saving`: saved pictures of views that are tables and texts;
//! - [`state`]: what the page knows, and how it changes;
//! - [`components`]: shows the state.

pub mod browser;
pub mod canvas;
pub mod components;
pub mod engine;
pub mod protocol;
mod saving;
pub mod state;
pub mod worker;

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Mounts the page; `module` is the compiled module that workers are to use, `worker_url` the address of
/// their script, `files` are open from the start: those that stand in the page itself.
#[wasm_bindgen]
pub fn start_page(module: JsValue, worker_url: String, files: Vec<web_sys::File>) {
    let engine = engine::Engine::new(engine::Boot { module, worker_url });
    let files = engine::Source::files(files).into_iter();
    let named = browser::url::sources().into_iter().map(engine::Source::Url);
    let sources = files.chain(named).collect();
    let props = components::AppProps { engine, sources };
    yew::Renderer::<components::App>::with_props(props).render();
}

/// Answers messages from the page; called once, in a worker.
#[wasm_bindgen]
pub fn start_worker() {
    worker::run();
}
