//! Runs a PyTorch program without a GPU, over a stand-in for CUDA, and records the memory that it would take.
//!
//! The program, torch, its caching allocator and its recorder are the user's own; what is not real is CUDA
//! (`vramscope-standin`). What that has to invent stands in one table ([`invented`]), with what each value rests on. A
//! process that uses CUDA writes a snapshot, marked as a dry run's, into the folder of the run.
//!
//! ```text
//! device (a card with its numbers) ─> run     fit (bisection)      invented
//! ```
//!
//! Nothing here reads a snapshot or words a verdict: that is the command's.

pub mod device;
pub mod fit;
pub mod invented;
pub mod run;
