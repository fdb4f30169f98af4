//! Builds PyTorch CUDA memory snapshots for tests and benchmarks, byte by byte.
//!
//! A development tool: it shares no code and no constant with the decoder, so that a mistake
//! cannot hide by being made twice.

pub mod allocator;
pub mod pickle;
pub mod recorder;
pub mod rng;
pub mod scenario;
pub mod snapshot;
pub mod stacks;
pub mod text;
pub mod training;
