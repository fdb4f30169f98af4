//! The library that `vramscope-capture run` preloads into a program. It records the program's CUDA driver calls in a
//! log that survives the program.
//!
//! A program finds driver functions by `dlsym`, by the dynamic linker or by `cuGetProcAddress`, and each way gives it
//! hooks: from `linker`, as exports of `hooks`, and from `hooks::lookup`. A `hook` gets the real function from the
//! lookup, in which other libraries that interpose `dlsym` take part (`dlsym`). All other queries to the driver bypass
//! the hooks (`driver`), and none is made on the driver's own threads. All functions are looked up when the program
//! loads the driver: later, the thread that holds the dynamic linker's lock may be waiting for this one.
//!
//! A free is written before the driver is called and an allocation after the call returned, into space reserved by one
//! atomic addition. So no log shows an address allocated again before its free, however threads interleave. Nothing is
//! queried on a stream that is being captured into a graph.
//!
//! `nvtx` and `api` record the program's annotations, through `ranges` and `parts`. `log` writes all records, `stack`
//! records the callers. `process` runs at load, fork and exit. `unwinder` forwards to the program's unwinder.
//!
//! Anything that cannot be recorded is counted by reason in the log (`log::lost`).
//!
//! Nothing here prints, handles signals or unwinds into its callers. After an internal error, the library stops
//! recording for good.
//!
//! NVTX is recorded by the same library as the driver's calls. A second library would need this one's log, threads,
//! devices and streams through functions between two files; programs linked with NVTX only find it in a preloaded
//! library; and a crash in either ends the same process. Releases are linked with the C library of 2012, because a
//! program does not start if a preloaded library needs a newer one than it has.
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

/// This library's own memory. A program or its tools may interpose `malloc` with something that allocates from CUDA,
/// which would call this library from within itself.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// An address in this library, whose frames are left out of stacks.
fn own_code() -> u64 {
    own_code as *const () as u64
}
