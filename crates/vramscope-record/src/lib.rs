//! The log that a captured program writes while it runs, and its conversion into a snapshot.
//!
//! ```text
//! in the captured program        afterwards, or from outside while it runs
//! layout (records) ─> raw log ─> reader ─> model (address space) ─> snapshot ─> vramscope-core's encoder
//!                                  └────────────── convert ─────────────┘
//! ```
//!
//! Nothing here calls CUDA or a foreign function, and nothing opens a file: bytes in, values out. The injected
//! library uses only [`layout`], [`rank`] and [`settings`] (without the feature `snapshot`).

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

#[macro_use]
mod fixed;
pub mod layout;
pub mod rank;
pub mod settings;
#[cfg(feature = "snapshot")]
pub mod symbols;

#[cfg(feature = "snapshot")]
pub mod reader;
#[cfg(feature = "snapshot")]
pub mod writer;

#[cfg(feature = "snapshot")]
pub mod model;

#[cfg(feature = "snapshot")]
pub mod snapshot;

#[cfg(feature = "snapshot")]
mod convert;

#[cfg(feature = "snapshot")]
pub use convert::{ConvertOptions, convert};
