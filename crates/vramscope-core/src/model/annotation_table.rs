//! `external_annotations`: where user-named ranges (`record_function`, optimizer steps, NVTX) begin
//! and end.

use serde::{Deserialize, Serialize};

use crate::ids::StringId;

/// Which end of a range an annotation marks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Stage {
    /// The range begins.
    Start,
    /// The range ends. Its start may have been lost from the ring buffer.
    End,
    /// Another word.
    Other(StringId),
}

/// One mark. Which starts and ends belong together is told by
/// [`named_ranges`](crate::analysis::annotations::named_ranges).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// Begin or end.
    pub stage: Stage,
    /// The range's name.
    pub name: StringId,
    /// Device index.
    pub device: i32,
    /// Microseconds since the Unix epoch, or [`NO_TIME`](super::NO_TIME).
    pub time_us: i64,
    /// A number that a start and its end share, and no other; only in captures of `vramscope-capture`, as what follows.
    pub range: Option<u64>,
    /// Linux thread id. Threads' names are in [`thread_names`](crate::analysis::lanes::thread_names).
    pub thread: Option<u64>,
    /// Which part of the program it is of (an NVTX domain); `None` for the default one.
    pub domain: Option<StringId>,
}

/// The marks in file order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnnotationTable {
    /// The rows.
    pub rows: Vec<Annotation>,
}
