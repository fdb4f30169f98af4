//! From ideal to real: the least memory that a device's recorded buffers could live in, and every step between that
//! and the memory that was reserved.
//!
//! The steps add up: bytes requested at once; alignment; pools and streams that cannot share memory; placement without
//! moving anything; memory that PyTorch's allocator caches (by a [model](crate::allocator_model) of it); memory that it had
//! cached before the recording; and the model's error. Each [`Step`] explains itself in a sentence, so neither the page nor
//! the command line has words of its own.
//!
//! The buffers of each pool and stream form one packing problem, because no other pool or stream can use their memory.
//! A [`Planner`] computes the peaks at once. The rest goes in slices: a first packing of every problem, replays of the
//! model, and better packings for as long as it is run. A [`DevicePlan`] contains only the bars known so far.
//!
//! [`what_if`] answers questions about other settings of the allocator. Another order of the program's operations is not
//! considered, because a snapshot lacks the dataflow for it. Graphs of torch.compile have it (`vramscope-inductor`).

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

pub mod ranges;

pub mod packing;

pub mod allocator_model;
pub mod pool_planner;
mod problems;

mod plan;
mod trust;

mod bars;
mod words;

pub mod what_if;

mod planner;

#[cfg(test)]
mod tests;

pub use self::plan::{ArenaPlan, DevicePlan, PackedBytes, Step, StepKind};
pub use self::planner::Planner;
pub use self::problems::{ArenaKey, ArenaProblem, Waiting};
