//! The library that `vramscope-capture run` starts programs with: it sees their calls of the CUDA driver and writes
//! them to a log that outlives them.
//!
//! A program finds the driver in three ways, and each leads here first: `dlsym` (`linker`), the dynamic linker
//! itself (the exports of `hooks`), and `cuGetProcAddress` (`hooks`). NVTX (`nvtx`) and `vramscope-api` (`api`)
//! say what the program is doing. All of them write by `log`; `stack` says who called.
//!
//! Nothing here prints, takes signals, or unwinds into its callers; after an error of its own it is silent for good.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(unsafe_code, reason = "stands between a program and the driver")]

mod api;
mod driver;
mod hooks;
mod linker;
mod log;
mod nvtx;
mod ranges;
mod stack;

/// An address in this library, which stacks leave out.
fn own_code() -> u64 {
    own_code as *const () as u64
}
