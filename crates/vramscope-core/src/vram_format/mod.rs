//! Packed snapshots: our own compact format, which `.vram` files contain and `vramscope html` embeds (FORMAT.md 5).
//!
//! ```text
//! magic  version  about   strings  frames  stacks  lines  contexts  events  traces  blocks  segments  annotations
//! 8 B    1 B      JSON    └───────────────────────── tables, each a count and then its rows ──────────────────┘
//! ```
//! Numbers are LEB128 (7 bits per byte, lowest first), signed ones zigzag. Row numbers are kept, and a row refers only
//! to tables before its own. Most of a snapshot is its events, so they are columns: `action[] addr[] size[] …`, with
//! addresses and times as differences. `about` contains everything that is neither large nor regular: settings, keys,
//! warnings, and the source of the decoded file.
//!
//! Nothing is compressed here. Whoever writes a file puts zstd or gzip around it, which are good at columns of small
//! numbers and add a check sum. The decoder removes them like any container.
//!
//! Reading trusts nothing: row numbers are checked against their table, rows of interned tables must be
//! distinct, and memory grows only with the bytes read.

mod about;
mod read;
mod write;

pub(crate) use read::read;
pub use write::write;

/// The version that is written, and the newest that is read. Annotations of version 1 end with their time, those of
/// version 2 with their domain.
const VERSION: u8 = 3;

/// The number of the first unknown action, a row of [`EventTable::other_actions`](crate::model::EventTable). It leaves
/// room for new actions of torch.
const FIRST_OTHER_ACTION: u64 = 64;
