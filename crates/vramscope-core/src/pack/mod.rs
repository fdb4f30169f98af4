//! A decoded snapshot as a small file of our own: what `vramscope html` embeds, and `.vram` files hold.
//!
//! ```text
//! magic  version  about   strings  frames  stacks  lines  contexts  events  traces  blocks  segments  annotations
//! 8 B    1 B      JSON    └───────────────────────── tables, each a count and then its rows ──────────────────┘
//! ```
//! Numbers are LEB128 (7 bits a byte, lowest first), signed ones zigzag. A row number that may be absent
//! is one larger, 0 being "absent"; other values that may be absent have a 0 or 1 before them. A text is
//! its length and its UTF-8. Tables come in an order in which a row only names rows before it, and keep
//! their row numbers. Most of a snapshot are its events, so they are columns: `action[] addr[] size[] …`,
//! addresses and times as differences from the row before. `about` is what is neither large nor regular:
//! settings, keys, warnings, and the source of the file that was decoded.
//!
//! Nothing is compressed here. Whoever writes a file puts zstd or gzip around it, which the
//! [container](mod@crate::decode) layer takes off like any other: columns of small numbers are what those
//! are good at, and they bring the check sum.
//!
//! What is read is judged like any stranger's file: row numbers are checked against their table, texts
//! and rows must be distinct where tables intern, and memory grows only with the bytes read.

mod about;
mod read;
mod write;

pub(crate) use read::read;
pub use write::pack;

/// What a packed snapshot begins with. No text, no pickle and no UTF-8 begins with this byte, and a copy
/// "in text mode" breaks the line ends.
pub(crate) const MAGIC: &[u8; 8] = b"\x93vram\r\n\n";

/// The version that is written, and the newest that is read. Annotations of version 1 end with their time.
const VERSION: u8 = 2;

/// Added to the row of an action's name in [`EventTable::other_actions`](crate::model::EventTable), so
/// that torch may invent as many actions.
const FIRST_OTHER_ACTION: u64 = 64;
