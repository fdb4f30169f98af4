//! Annotates a program's use of GPU memory for `vramscope-capture`.
//!
//! ```
//! use vramscope_api::{mark, range};
//!
//! for step in 0..3 {
//!     let _step = range!("train step {step}");
//!     {
//!         let _forward = range!("forward");
//!         // … allocate, compute …
//!     }
//!     mark("loss is known");
//! }
//! ```
//! If the program is started as `vramscope-capture run -o snap.pickle -- program`, the viewer shows the ranges
//! above the program's memory, with a lane for each thread. Otherwise everything here does nothing: each call costs
//! one load from memory, and no text is formatted. Releases need no switch to disable it, and nothing has to be
//! installed where the program runs. On systems other than Linux the crate compiles and does nothing.
//!
//! Programs that use NVTX do not need this crate, as their NVTX ranges are captured. The functions of
//! `torch.cuda.nvtx` and `torch.cuda.memory` correspond to:
//!
//! | PyTorch | here |
//! | --- | --- |
//! | `nvtx.range_push`, `nvtx.range_pop` | [`range_push`], [`range_pop`]; returning the depth, or a negative number |
//! | `nvtx.range_start`, `nvtx.range_end` | [`range_start`], [`range_end`] |
//! | `nvtx.mark` | [`mark`] |
//! | `with nvtx.range("step {}", n)`, `@nvtx.range` | [`range!`], [`range()`]: a value that ends the range when it is dropped |
//! | `nvtx._device_range_start`, `nvtx._device_range_end` | [`device_range_start`], [`device_range_end`]; for cudarc `CudaStreamExt` |
//! | `memory._record_memory_history(True)`, `…(None)` | [`start`], [`stop`] |
//! | `memory._dump_snapshot` | [`dump`] |
//! | `memory._annotate_tensor` | [`annotate`]; for cudarc `CudaSliceExt` |
//! | `profiler.record_function` | spans of the `tracing` crate, by `tracing::tracing_layer` |
//!
//! # Features
//!
//! - `tracing`: the module `tracing`, spans of the crate of that name as ranges.
//! - `cudarc`: the module `cudarc`, ranges on its streams and names of its slices.

#[cfg(feature = "cudarc")]
pub mod cudarc;
mod domain;
mod memory;
mod range;
mod stream;
mod symbols;
#[cfg(feature = "tracing")]
pub mod tracing;

pub use domain::Domain;
pub use memory::{annotate, dump, is_captured, start, stop, suballoc, subfree};
pub use range::{Range, StartedRange, mark, range, range_end, range_pop, range_push, range_start};
pub use stream::{DeviceRange, device_range_end, device_range_start};

/// Calls [`range()`] with a name as in [`format!`]. The name is formatted only in captured programs.
///
/// ```
/// # let n = 3;
/// let _step = vramscope_api::range!("step {n}");
/// let _load = vramscope_api::range!("load {} of {}", 1, 2);
/// ```
#[macro_export]
macro_rules! range {
    ($($name:tt)+) => {
        $crate::range(::core::format_args!($($name)+))
    };
}
