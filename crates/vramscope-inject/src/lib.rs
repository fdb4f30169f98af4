//! The library that `vramscope-capture run` preloads into a program. It records the program's CUDA driver calls in
//! a log that survives the program.
//!
//! A program finds driver functions by `dlsym`, by the dynamic linker or by `cuGetProcAddress`, and gets hooks by
//! all three: from `linker`, as exports of `hooks`, and from `hooks::lookup`. A `hook` knows the real function from
//! the lookup, which other libraries that interpose `dlsym` take part in (`dlsym`). All other queries to the driver
//! bypass the hooks (`driver`), and none is made on threads of the driver itself. Functions are looked up together when the
//! program loads the driver: later the dynamic linker's lock may be held by a thread that waits for this one.
//!
//! A free is written before the driver is called and an allocation after the call returned, into room that one
//! atomic addition reserved. So no log shows an address allocated again before its free, whatever the threads do.
//! Nothing is queried on a stream that is being captured into a graph.
//!
//! `nvtx` and `api` record what the program says about itself, by way of `ranges` and `parts`. `log` writes all
//! records, `stack` records the callers. `process` runs at load, fork and exit. `unwinder` leads to that of the program.
//!
//! What cannot be recorded is counted by its reason in the log (`log::lost`).
//!
//! Nothing here prints, handles signals or unwinds into its callers. After an error of its own, the library stops
//! recording for good.
//!
//! NVTX is recorded by the same library as the driver's calls: another one would need this one's log, threads, devices and
//! streams by functions between two files, programs linked with NVTX find it only in a preloaded library, and a crash in either
//! ends the same process. What is given away is linked with the C library of 2012, since a program does not start when a library
//! before it asks for a newer one.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![expect(unsafe_code, reason = "interposes C functions")]

// Lowest first: a module uses those of groups above its own.

mod dlsym;

mod driver;
mod unwinder;

mod hook;

mod log;

mod ranges;
mod stack;

mod parts;

mod api;
mod hooks;
mod nvtx;

mod linker;
mod process;

/// Memory of this library's own. A program or its tools may interpose `malloc` with something that takes memory from
/// CUDA, and would call this library from within itself.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// An address in this library, whose frames stacks leave out.
fn own_code() -> u64 {
    own_code as *const () as u64
}
