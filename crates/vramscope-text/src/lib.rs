//! Finds reports of GPU memory in text, and explains why memory ran out as far as the text shows it.
//!
//! Two of three people with a memory problem have no snapshot, only an error or a program's output. [`Reader`] takes such
//! text in pieces, even the logs of many ranks, and stores [`Record`]s: failed requests of every version of torch on all its
//! devices, of XLA, llama.cpp and the driver, tables (`memory_summary()`, nvidia-smi, npu-smi), lines of frameworks.
//! [`conclude`] explains why memory ran out, and with what certainty, but never more than the figures support: they are
//! rounded, so each has bounds. [`whole`] combines the records of many ranks.
//!
//! ```text
//! pieces ─> reader ─> needles ─> compact, cursor ─> forms ─> record ─> conclude ─> whole
//!                                         context (rank, framework, command) ─┘
//! ```
//!
//! The reader examines only the surroundings of needles, words that no ordinary line has. `forms` has a file per kind of
//! text. A text that is cut off leads to fewer causes, never to others. Causes are worded by core, as for snapshots.
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
mod lines;

mod record;

mod advice;
mod forms;
mod origin;

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
    Summary, Usage, Wording,
};
pub use self::whole::{NOTHING, Whole, notes, who_failed, whole};
