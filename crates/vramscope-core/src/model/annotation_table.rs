//! `external_annotations`: the marks at which user-named ranges (`record_function`, optimizer steps, NVTX) begin
//! and end.

use serde::{Deserialize, Serialize};

use crate::ids::StringId;

/// Which end of a range a mark is.
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

/// A mark. [`named_ranges`](crate::analysis::time::annotations::named_ranges) pairs starts and ends.
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
    /// A number that only a start and its end share. Like all fields below, only in captures of `vramscope-capture`.
    pub range: Option<u64>,
    /// Linux thread id. Threads' names are in [`thread_names`](crate::analysis::time::lanes::thread_names).
    pub thread: Option<u64>,
    /// The part of the program that the range belongs to (an NVTX domain); `None` for the default one.
    pub domain: Option<StringId>,
    /// The stream that reached this point at that time (a `cudaStream_t`); `None` if a thread did.
    pub stream: Option<i64>,
    /// The colour given by the program: alpha, red, green and blue, from the highest byte to the lowest.
    pub colour: Option<u32>,
    /// The name or number of its category.
    pub category: Option<StringId>,
    /// A number given by the program, in digits.
    pub payload: Option<StringId>,
}

/// The marks in file order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnnotationTable {
    /// The marks.
    pub rows: Vec<Annotation>,
}
