//! The page: Yew components in the browser's main thread and a worker that decodes and draws.
//!
//! Both ends are this one wasm module, loaded twice: `www/page.js` calls [`start_page`],
//! `www/worker.js` calls [`start_worker`].

mod page;
mod worker;

use wasm_bindgen::prelude::wasm_bindgen;

/// Mounts the page; `worker` is the dedicated worker that runs [`start_worker`].
#[wasm_bindgen]
pub fn start_page(worker: web_sys::Worker) {
    page::mount(worker);
}

/// Answers messages from the page; called once, in the worker.
#[wasm_bindgen]
pub fn start_worker() {
    worker::run();
}
