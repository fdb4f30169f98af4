//! The content of a snapshot as frozen columns.
//!
//! Each file has one table. Rows are named by the newtypes of [`crate::ids`]. Strings, frames, stacks and
//! contexts are interned by content, so equal ids mean equal content, and two stacks are compared by
//! comparing two numbers. Nothing here changes after decoding.

mod annotation_table;
mod block_table;
mod context_table;
mod event_table;
mod frame_table;
mod interner;
mod profile;
mod segment_table;
mod snapshot;
mod stack_table;
mod streams;
mod string_table;
mod times;
mod warnings;

pub use annotation_table::{Annotation, AnnotationTable, Stage};
pub use block_table::{Block, BlockState, BlockTable, Tenant};
pub use context_table::{Category, Context, ContextTable, PoolId};
pub(crate) use event_table::UNKNOWN_FREE;
pub use event_table::{Action, Event, EventTable};
pub use frame_table::{Frame, FrameTable, FxNode};
pub(crate) use interner::RowIndex;
pub(crate) use profile::PROFILE_KEY;
pub use profile::{DeviceKind, Profile, ProfileKind, ProfiledDevice};
pub use segment_table::{Segment, SegmentKind, SegmentTable};
pub(crate) use snapshot::{
    CAPTURE_KEY, CUT_KEY, CutOff, DAMAGE_KEY, DRY_RUN_KEY, capture_of, cut_off, damage_of,
    note_cut_off,
};
pub use snapshot::{ContainerKind, DeviceIndex, KeysSeen, Producer, Snapshot, Source};
pub use stack_table::{LinesId, StackTable};
pub use streams::Streams;
pub use string_table::StringTable;
pub use times::{NO_TIME, Times};
pub(crate) use warnings::{LARGEST_BYTES, LONGEST_ACTION};
pub use warnings::{Warning, WarningKind, Warnings};
