//! A harness that runs the page in a headless Chromium, over the DevTools protocol.
//!
//! The tests in `tests/` use it, and so does the program `shot`, which takes screenshots of the page
//! during development. `CHROME` names the browser, `VRAMSCOPE_PAGE` the folder with the
//! built page; `cargo xtask test` sets both.

pub mod chromium;
pub mod devtools;
mod input;
pub mod memory;
pub mod page;
pub mod play;
pub mod serve;
pub mod start;
pub mod timing;
pub mod views;

pub use chromium::Chromium;
pub use input::Modifiers;
pub use page::{Page, Request};
pub use serve::Server;
pub use timing::{LongTask, Mark};

use std::path::{Path, PathBuf};

/// The folder with the built page: `VRAMSCOPE_PAGE`, or xtask's folder for it.
#[must_use]
pub fn page_folder() -> PathBuf {
    std::env::var_os("VRAMSCOPE_PAGE").map_or_else(|| target_dir().join("page"), PathBuf::from)
}

/// Whether the page is that of hosts, which is cut into parts; says so if not. `cargo xtask ci` tries that one.
///
/// # Panics
/// If there is no page.
#[must_use]
#[expect(clippy::print_stdout, reason = "tests say what they skip")]
pub fn is_in_parts() -> bool {
    let entries = page_folder().read_dir().expect("a built page");
    let folders = entries.flatten().map(|entry| entry.path());
    let scripts = folders.filter_map(|folder| std::fs::read_to_string(folder.join("page.js")).ok());
    let is = scripts
        .into_iter()
        .any(|script| !script.contains("const PARTS = {};"));
    if !is {
        println!(
            "this page is in one part: what is about parts is left out here, and tried by `cargo xtask ci`"
        );
    }
    is
}

/// The repository's root.
#[must_use]
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |dir| root().join(dir))
}
