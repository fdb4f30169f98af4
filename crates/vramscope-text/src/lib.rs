//! Finds reports of GPU memory in text, and says why memory ran out as far as text can tell.
//!
//! Two of three people with a memory problem have no snapshot but an error, or what a program printed. [`Reader`] takes
//! such text in pieces, the logs of many ranks too, and keeps [`Record`]s: failed requests of every version of torch on
//! all its devices, of XLA, llama.cpp and the driver, tables (`memory_summary()`, nvidia-smi, npu-smi), lines of
//! frameworks. [`conclude`] says of a record why memory ran out, with how sure that is, and never more than its figures
//! bear out: they are rounded, so each has bounds. [`whole`] puts the records of many ranks together.
//!
//! ```text
//! pieces ─> reader ─> needles ─> compact, cursor ─> forms ─> record ─> conclude ─> whole
//!                                         context (rank, framework, command) ─┘
//! ```
//!
//! The reader looks only around needles, words that no ordinary line has. `forms` has a file per kind of text. What is cut off
//! leads to fewer causes, never to others. The words are core's, as of snapshots.
//!
//! Units: all sizes are bytes. GB and GiB, MB and MiB are the same in all of these texts: their programs divide by
//! powers of 1024 and only name the result differently. No file, clock or thread is touched.

#![warn(missing_docs)]

// Lowest first: a module uses those of groups above its own.

mod compact;
mod course;
mod figure;
mod needles;

mod context;
mod cursor;

mod record;

mod advice;
mod forms;

mod conclude;
mod reader;

mod whole;

pub use self::advice::next_steps;
pub use self::conclude::{Cause, Class, Conclusion, Share, ShareOf, Sure, conclude};
pub use self::context::Framework;
pub use self::course::Course;
pub use self::figure::Figure;
pub use self::reader::{Reader, read, read_from};
pub use self::record::{
    Api, Buffer, DeviceUse, Failure, Form, HostFailure, HostKind, Process, Reading, Record, Report,
    Summary, Usage,
};
pub use self::whole::{NOTHING, Whole, notes, who_failed, whole};
