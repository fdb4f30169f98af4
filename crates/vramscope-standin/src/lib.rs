//! CUDA's libraries without a GPU: just enough for PyTorch's own allocator to behave as on a card.
//!
//! The allocator asks the device for address ranges, streams and events, and never touches the memory. So segments, blocks,
//! traces, stacks and the pickling are torch's own, on any machine. Kernels and copies on the device do nothing; data
//! copied to the host is invented (`memory`). Where torch allocates as much as a library asks for, the amount is
//! invented too, and set by whoever starts the program: nothing here knows a card.
//!
//! One file stands in for all of CUDA. Preloaded, its functions take precedence over those of the libraries that torch
//! was installed with; linked under their names, it replaces libraries that are missing. Not simulated: sums and
//! products of two sparse matrices, and cuDNN functions that only older versions of torch call. They return "not
//! supported", and the first of each kind reports that on standard error.
//!
//! ```text
//! runtime, driver, libraries, recurrent (functions by the macro `c!`) ─> memory, settings       empty: functions that do nothing
//! ```
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `STANDIN_TOTAL_BYTES` | memory of each device | 1 GiB |
//! | `STANDIN_CONTEXT_BYTES` | part of it that is taken before the first tensor | 0 |
//! | `STANDIN_DEVICES` | number of devices, at most 8 | 2 |
//! | `STANDIN_CAPABILITY` | compute capability without its point | 90 |
//! | `STANDIN_PROCESSORS` | multiprocessors | 1 |
//! | `STANDIN_NAME` | name of the devices | Stand-in GPU |
//! | `STANDIN_CUDA`, `STANDIN_CUDNN`, `STANDIN_NCCL` | versions, as the libraries write them | 13000, 91000, 22800 |
//! | `STANDIN_CUDNN_WORKSPACE_BYTES` | what a convolution asks for | 24 MiB |
//! | `STANDIN_VALUES` | what the host reads: `zeros`, `ones` or `uniform` | `zeros` |
//! | `STANDIN_ADDRESSES` | `up` or `down`, counted from a fixed one; else as the driver's: some free blocks are chosen by address | |
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "speaks C")]
#![expect(
    unsafe_op_in_unsafe_fn,
    reason = "every pointer is the calling program's, as in C"
)]

#[macro_use]
mod c;

mod driver;
mod empty;
mod libraries;
mod memory;
mod recurrent;
mod runtime;
mod settings;
