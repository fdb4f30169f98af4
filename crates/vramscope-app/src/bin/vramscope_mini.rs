//! The program of an embedded viewer's first picture.

/// Shows the picture; see [`vramscope_app::mini::start`].
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn start_mini(
    new_worker: js_sys::Function,
    new_planner: js_sys::Function,
    load_page: js_sys::Function,
    files: Vec<web_sys::File>,
) {
    let starters = vramscope_app::engine::Starters {
        worker: new_worker,
        planner: new_planner,
    };
    vramscope_app::mini::start(starters, load_page, files);
}

fn main() {}
