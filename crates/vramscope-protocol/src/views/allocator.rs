//! The questions of the allocator view: its picture at a moment, the block under the pointer, a window of the list of
//! events, and jumps from one event to another.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::allocator_state::{
    BlockUse, FinalCheck, Misfits, SizeSource, StateSums,
};
pub use vramscope_core::analysis::report::event_rows::{Direction, EventRow};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::allocator_window::{Outline, RectCss, Window};

use super::filter::FilterText;
use crate::{Composition, Look, Preview};

/// A picture to draw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawState {
    pub look: Look,
    /// The state after this many events.
    pub moment: u32,
    pub window: Window,
    pub pinned: Option<AllocationId>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// The picture; it comes as an `ImageBitmap`. Answered by [`Answer::Drawn`].
    Draw(DrawState),
    /// What is under a place of a picture's window, device px. Answered by [`Answer::Tip`].
    Hit { draw: DrawState, at_px: (f64, f64) },
    /// Rows of the list. Answered by [`Answer::Events`].
    Events {
        device: DeviceIndex,
        /// The filter that events are matched against.
        filter: Option<FilterText>,
        /// The first row. Row `m` is the event that leads to moment `m`; row 0 is the beginning.
        first: u32,
        count: u32,
    },
    /// Where a kind of event is. Answered by [`Answer::Moment`].
    Jump {
        device: DeviceIndex,
        filter: Option<FilterText>,
        from: u32,
        direction: Direction,
        to: JumpTo,
        /// Counts jumps, so that the same one can be asked for twice.
        count: u32,
    },
}

/// The kind of event to jump to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JumpTo {
    Match,
    /// Events that map, unmap or change segments.
    Segments,
    Oom,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Drawn(Box<Drawn>),
    /// `None` if there is no segment under the pointer.
    Tip(Option<Box<Tip>>),
    Events(Vec<EventLine>),
    /// `None` if there is no such moment.
    Moment(Option<u32>),
}

/// The figures of a picture.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    pub moment: u32,
    pub total: StateSums,
    /// Sums by pool and stream.
    pub groups: Vec<GroupHead>,
    pub misfits: Misfits,
    /// Height of the whole picture, css px.
    pub height_css: f64,
    /// The seen part of the pinned allocation.
    pub pinned: Outline,
    /// The memory that the event before this moment changed.
    pub changed: Outline,
    /// The differences between the replayed state at the end and the segments that the file lists.
    pub check: FinalCheck,
}

/// The heading of a pool and stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupHead {
    /// Its top, css px.
    pub y_css: f64,
    /// The pool in words; empty if the file does not tell.
    pub pool: String,
    /// Whose memory the pool holds most; empty for the default pool, and where no stack is known.
    pub owner: String,
    pub stream: String,
    pub sums: StateSums,
}

/// The memory under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tip {
    pub on: TipOn,
    /// The visible parts of a single block; else empty.
    pub rects: Vec<RectCss>,
    pub segment: TipSegment,
}

/// The block or blocks under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TipOn {
    /// A block that is allocated or pending free.
    Block {
        preview: Box<Preview>,
        usage: BlockUse,
        bytes: u64,
        /// Bytes of the block beyond those requested.
        rounding_bytes: u64,
        /// The source of the block's size.
        source: SizeSource,
    },
    Free {
        address: u64,
        bytes: u64,
    },
    /// Several blocks in one pixel.
    Several {
        /// The allocations by call site.
        composition: Composition,
        free_blocks: u64,
        free_bytes: u64,
    },
}

/// The segment under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TipSegment {
    pub address: u64,
    pub sums: StateSums,
    /// Its size class, kind, pool and stream, as words.
    pub remarks: Vec<String>,
    /// Why what is free in it is not idle; `None` if nothing is, or nothing keeps it.
    pub kept_for: Option<String>,
    /// The number of the event that mapped it, from 1; `None` if it was not recorded.
    pub mapped_by: Option<u32>,
    /// The call site of that event; empty if unknown.
    pub site: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventLine {
    pub event: EventRow,
    /// Its call site; empty if unknown.
    pub site: String,
    /// Its stream in words; empty for the default one.
    pub stream: String,
    /// Whether the search matches its allocation; `true` while nothing is searched for.
    pub is_match: bool,
}
