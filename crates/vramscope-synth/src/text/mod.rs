//! A small language that describes a snapshot by the events that led to it.
//!
//! ```text
//! device 0
//! segment 0x7f0000000000 20MiB stream=0 pool=0,0
//! alloc a 4MiB at 0x7f0000000000  main.py:10:train > model.py:20:forward
//! alloc b 1KiB                    main.py:11:train
//! free a
//! oom 1GiB free=10MiB
//! snapshot
//! ```
//!
//! Each line is one call of the simulated allocator, and records the entries that torch would; the
//! final segments and blocks follow from the lines, so that every snapshot is consistent. `#` at a
//! word's start begins a comment.
//!
//! # Grammar
//!
//! ```text
//! line    = [prefix] command
//! prefix  = "unrecorded"   the allocator does it, no entry tells: memory from before the recording
//!         | "phantom"      an entry tells it, the allocator does nothing: skew
//! command =
//!   "device" N                                   the lines below happen on device N (0 at first)
//! | "capacity" SIZE                              the device's memory (80 GiB); before its first event
//! | "expandable"                                 its segments are expandable; before its first event
//! | "segment" ADDR SIZE place* [kind] [STACK]    segment_alloc
//! | "segment_free" ADDR
//! | "map" ADDR SIZE place* [kind] [STACK]        segment_map
//! | "unmap" ADDR SIZE                            segment_unmap
//! | "alloc" NAME SIZE ["at" ADDR] place* note* [STACK]
//! | "free" NAME note* [STACK]                    free_requested and free_completed
//! | "free_requested" NAME note* [STACK]
//! | "free_completed" NAME note* [STACK]
//! | "annotate" NAME "TEXT"                       annotate
//! | "oom" SIZE "free=" SIZE place* [STACK]
//! | "snapshot"                                   the entry of an earlier snapshot
//! | "empty_cache"                                segment_free or segment_unmap of all that is unused
//! | "event" ACTION ADDR SIZE place* note* [STACK]  any entry, without effect
//! | "begin" TEXT | "end" TEXT                    external annotations
//! | "host" ("alloc" NAME SIZE | "free" NAME) [STACK]   pinned memory
//! | "wait" TIME | "time" MICROSECONDS            the clock; each entry takes 1 us by itself
//! | "drop first" N                               the ring was too small: this device's oldest N entries are lost
//! | "mode state"                                 enabled="state": the last entry alone, without stack
//! | "no times" | "no frames" | "no segments" | "no traces"   leaves them out of the file
//! | "no segment events"                          segments made without a line of their own leave no entry
//! | "setting" ("alloc_conf=" TEXT | "max_split_size=" N)
//! place   = "stream=" N | "pool=" A "," B        default: the memory's own at ADDR, else 0 and 0,0
//! kind    = "small" | "large"                    default: small up to 2 MiB
//! note    = "compile=" TEXT | "meta=" TEXT | "internal=" TEXT | "category=" TEXT
//!         | "forward=" TEXT                      lines of the forward stack, joined by "|"
//! SIZE    = number ["B" | "KiB" | "MiB" | "GiB" | "TiB"]
//! TIME    = number ("us" | "ms" | "s")
//! TEXT    = word without spaces, or anything in double or single quotes
//! STACK   = frame (" > " frame)*                 outermost first; to the end of the line
//! frame   = FILE ":" LINE ":" NAME ["@fx(" OP "," NODE "," TARGET "," TRACE ")"]
//! ```
//!
//! A NAME stands for one tenancy and belongs to its device; after its free it may be reused.
//! Without `at`, the allocator places the block, obtaining segments as torch does. A free without
//! a STACK shares its allocation's list object, as with `enabled="alloc"`.

mod device;
mod line;
mod run;

use std::fmt;

use crate::snapshot::{Producer, Snapshot, WriteOptions};

/// The error for a line that cannot be parsed or run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

/// Builds the snapshot that a text describes.
///
/// # Errors
/// At the first line that cannot be parsed, or that the allocator cannot run.
pub fn snapshot(text: &str) -> Result<Snapshot, TextError> {
    let mut runner = run::Runner::default();
    for (index, line) in text.lines().enumerate() {
        let done = line::words(line).and_then(|words| runner.line(&words));
        done.map_err(|message| TextError {
            line: index + 1,
            message,
        })?;
    }
    Ok(runner.finish())
}

/// Builds the snapshot that a text describes, and writes it as `producer` would.
///
/// # Errors
/// See [`snapshot`].
pub fn pickle(text: &str, producer: Producer) -> Result<Vec<u8>, TextError> {
    Ok(snapshot(text)?.to_pickle(&WriteOptions::new(producer)))
}

#[cfg(test)]
mod tests;
