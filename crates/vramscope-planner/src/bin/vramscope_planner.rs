//! The program of the planner.

use wasm_bindgen::prelude::wasm_bindgen;

/// Answers messages from the page. Called once per worker.
#[wasm_bindgen]
pub fn start_worker() {
    vramscope_planner::run();
}

fn main() {}
