//! The page that is built into this program.

use vramscope_serve::{Asset, Page};

use crate::failure::Failure;

/// All of its files; none if the program was built without it.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

///
/// # Errors
/// If the program was built without it; the message says how to build it.
pub(crate) fn of_program() -> Result<Page, Failure> {
    if !ASSETS.is_empty() {
        return Ok(Page::of_program(ASSETS));
    }
    Err(Failure::Usage(
        "this vramscope was built without the page. In a clone of its repository, `cargo xtask view \
         FILE` builds the page and opens FILE in it; `cargo xtask build` builds a program that has \
         the page inside. With a page that is built already, such as the one that `cargo xtask dist` puts into \
         dist/site: VRAMSCOPE_PAGE=\"$PWD/dist/site\" cargo build --release --package vramscope-cli"
            .to_owned(),
    ))
}
