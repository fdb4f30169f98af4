//! Decodes, models and analyses PyTorch CUDA memory snapshots.
//!
//! ```text
//! bytes ─> container ─> decode ─> model ─> analysis        model (─> cut, anonymise) ─> encode | vram_format ─> bytes
//!                        build ─┘
//! ```
//!
//! Nothing here touches a file, a clock, a thread or the DOM: values in, values out.
//!
//! # Words
//! As PyTorch's caching allocator uses them:
//! - *segment*: memory held from CUDA by one `cudaMalloc`, or one contiguous mapped range of an
//!   expandable segment. The sum of segments is *reserved*.
//! - *block*: a piece of a segment, in use (*allocated*), *pending free* (freed by the program while
//!   another stream may still use it) or *inactive* (free, cached). Allocated and pending free
//!   together are *active*.
//! - *requested*: the bytes a program asked for; a block's size is that, *rounded* up.
//! - *allocation*: one tenancy of an address, from its alloc event to its free_completed event.
//! - *moment*: the state between two events. Moment 0 is before the first recorded event, moment `m`
//!   after `m` events.

#![warn(missing_docs)]

pub mod analysis;
pub mod anonymise;
pub mod bitset;
mod budget;
pub mod build;
pub mod container;
pub mod cut;
pub mod decode;
pub mod encode;
mod error;
pub mod ids;
pub mod invisible;
mod known_ranges;
mod limits;
pub mod model;
pub mod open;
pub mod sorting;
pub mod tables;
mod transfer;
pub mod units;
pub mod vram_format;

pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use model::Snapshot;
pub use open::decode;
