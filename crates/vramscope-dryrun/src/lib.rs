//! Runs a PyTorch program without a GPU, over a stand-in for CUDA, and records the memory that it would use.
//!
//! The program, torch, its caching allocator and its recorder are the user's own; only CUDA is not real
//! (`vramscope-standin`). One table lists everything that the stand-in has to invent and what each value is based on
//! ([`invented`]). Each process that uses CUDA writes a snapshot, marked as a dry run's, into the folder of the run.
//!
//! ```text
//! device (a card with its numbers) ─> run     fit (bisection)      invented
//! ```
//!
//! Nothing here reads a snapshot or gives a verdict: the command does.

pub mod device;
pub mod fit;
pub mod invented;
pub mod run;
