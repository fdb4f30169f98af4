//! Runs that each show one feature.
//!
//! Each function returns a consistent [`Snapshot`]; [`ALL`] lists the small ones by name, [`LARGE`] those that are hard
//! to draw, and [`shape()`] makes one with given counts.

mod annotated;
mod expandable;
mod failures;
mod fragmented;
mod host;
mod large;
mod multi_device;
mod oom;
mod pools;
mod shape;
mod state_only;
mod torture;

pub use annotated::annotated;
pub use expandable::expandable;
pub use failures::{FAILURES, failure};
pub use fragmented::fragmented;
pub use host::host;
pub use large::LARGE;
pub use multi_device::multi_device;
pub use oom::oom;
pub use pools::pools;
pub use shape::{Shape, shape};
pub use state_only::state_only;
pub use torture::torture;

use crate::recorder::Recorder;
use crate::snapshot::{Snapshot, TraceEntry};
use crate::stacks::StackBook;

/// A scenario's name, and the function that makes it from a seed.
pub type Scenario = (&'static str, fn(u64) -> Snapshot);

/// Every small scenario.
pub const ALL: [Scenario; 8] = [
    ("annotated", annotated),
    ("expandable", expandable),
    ("fragmented", fragmented),
    ("host", host),
    ("multi-device", multi_device),
    ("oom", oom),
    ("pools", pools),
    ("state-only", state_only),
];

/// The snapshot of one recorded device.
fn of_one(recorder: Recorder<Vec<TraceEntry>>, book: StackBook) -> Snapshot {
    Snapshot {
        segments: recorder.heap.segments(0),
        device_traces: vec![recorder.sink],
        stacks: book.table,
        ..Snapshot::default()
    }
}

#[cfg(test)]
mod tests;
