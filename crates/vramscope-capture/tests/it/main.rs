//! The binary with programs that need no CUDA, and the naming of addresses.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod convert;
mod failures;
mod follow;
mod help;
mod live;
mod program;
mod run;
mod signals;
mod symbols;
