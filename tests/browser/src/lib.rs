//! A harness that runs the page in a headless Chromium, over the DevTools protocol.
//!
//! The tests in `tests/` use it, and so does the program `shot`, which takes screenshots of the page during
//! development. `CHROME` names the browser, `VRAMSCOPE_PAGE` the folder with the built page; `cargo xtask test` sets
//! both.

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
