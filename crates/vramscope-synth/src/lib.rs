//! Builds PyTorch CUDA memory snapshots for tests and benchmarks, byte by byte.
//!
//! For tests only: it shares no code and no constant with the decoder, so that a mistake
//! in one of them cannot hide behind the same mistake in the other.
//!
//! From the bottom up:
//!
//! - [`pickle`]: writes pickles as CPython and torch's C++ pickler do, and hostile ones
//! - [`snapshot`]: a snapshot as plain structs, written as each producer would
//! - [`allocator`], [`recorder`]: a caching allocator, and the trace entries of what it does
//! - [`text`]: a small language for the snapshots of tests
//! - [`stacks`], [`training`], [`scenario`]: large and small runs
//! - `random`: random programs for property tests
//! - [`fleet`]: the ranks of a job, a few of them odd
//! - [`samples`], [`fixtures`]: the files made of them; [`files`]: where the tests find them
//!
//! ```
//! use vramscope_synth::{snapshot::Producer, text};
//!
//! let bytes = text::pickle("alloc a 4MiB main.py:10:train\nfree a", Producer::Python(2, 8))?;
//! assert_eq!(bytes[..2], [0x80, 4]);
//! # Ok::<(), text::TextError>(())
//! ```

pub mod allocator;
#[cfg(test)]
mod check;
pub mod files;
pub mod fixtures;
pub mod fleet;
pub mod pickle;
#[cfg(feature = "random")]
pub mod random;
pub mod recorder;
mod rng;
pub mod samples;
pub mod scenario;
pub mod snapshot;
pub mod stacks;
pub mod text;
pub mod training;

pub use rng::Rng;
