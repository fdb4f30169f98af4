//! What a capture writes down while a program runs, and the snapshot that is made from it afterwards.
//!
//! ```text
//! in the captured program        afterwards, or from outside while it runs
//! layout (records) ─> raw log ─> reader ─> model (address space) ─> snapshot ─> vramscope-core's encoder
//! ```
//!
//! Nothing here calls CUDA or a foreign function, and nothing opens a file: bytes in, values out. The injected
//! library uses [`layout`] and [`settings`] alone (without the feature `snapshot`).

#[macro_use]
mod fixed;

pub mod layout;
pub mod settings;
#[cfg(feature = "snapshot")]
pub mod symbols;
