//! The program of the page.

/// Mounts the page; see [`vramscope_app::start`].
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn start_page(
    new_worker: js_sys::Function,
    new_planner: js_sys::Function,
    files: Vec<web_sys::File>,
    served: Vec<String>,
    handed: wasm_bindgen::JsValue,
) {
    let starters = vramscope_app::engine::Starters {
        worker: new_worker,
        planner: new_planner,
    };
    vramscope_app::start(starters, files, served, &handed);
}

fn main() {}
