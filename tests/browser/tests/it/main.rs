//! End-to-end tests of the page in a real browser. `cargo xtask test` runs them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accessible;
mod allocator;
mod captured;
mod compare;
mod doors;
mod element;
mod files;
mod flame;
mod fleet;
mod graph;
mod hands;
mod harness;
mod keyboard;
mod lanes;
mod live;
mod loading;
mod map;
mod mini;
mod npm;
mod offline;
mod one_file;
mod open;
mod overview;
mod program;
mod refusals;
mod search;
mod selection;
mod share;
mod sources;
mod text;
mod timeline;
mod what_if;
mod window;

use std::time::Duration;

/// The longest that the page may take for anything, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
