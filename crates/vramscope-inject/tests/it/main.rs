//! Tests of parts of the injected library, with a log in memory.
//!
//! The library itself cannot be linked: its exports would interpose the tests' own dynamic linker.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(unsafe_code, reason = "what is tested is unsafe")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod log;
#[path = "../../src/stack/mod.rs"]
mod stack;
mod stacks;

/// Leaves no frames out.
fn own_code() -> u64 {
    0
}
