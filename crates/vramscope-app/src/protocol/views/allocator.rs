//! What the view of the allocator asks: its picture at a moment, what is under the pointer, a window of the
//! list of events, and ways from one event to another.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::allocator_state::{
    BlockUse, FinalCheck, Misfits, SizeCheck, SizeSource, StateSums,
};
pub use vramscope_core::analysis::report::event_rows::{Direction, EventRow};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::filter::FilterText;
use crate::protocol::{Axis, Composition, Look, Preview};

/// What of the picture is seen.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Width in device px.
    pub width_px: u32,
    /// Height in device px.
    pub height_px: u32,
    /// Device px per css px.
    pub pixel_ratio: f64,
    /// How many times as wide everything is as where all of it fits.
    pub zoom: f64,
    /// How far it is scrolled, device px.
    pub top_px: u32,
}

/// A picture to draw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawState {
    pub look: Look,
    /// The state after this many events.
    pub moment: u32,
    /// What of it is seen.
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
        /// By which events are said to match.
        filter: Option<FilterText>,
        /// The first row: row `m` is the event that leads to moment `m`, row 0 the beginning.
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
        /// Counts jumps: the same one can be asked for twice.
        count: u32,
    },
    /// Which moment is at a place of the axis. Answered by [`Answer::Moment`].
    MomentAt {
        device: DeviceIndex,
        axis: Axis,
        x: f64,
        count: u32,
    },
}

/// What to look for among the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum JumpTo {
    Match,
    /// Segments that come, go or change.
    Segments,
    Oom,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// A picture and what it shows.
    Drawn(Box<Drawn>),
    /// What is under the pointer; `None`: no segment.
    Tip(Option<Box<Tip>>),
    Events(Vec<EventLine>),
    /// A moment; `None`: there is none.
    Moment(Option<u32>),
}

/// A rectangle in css px of the whole picture: left, top, right, bottom.
pub type RectCss = [f64; 4];

/// What a picture shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    pub moment: u32,
    pub total: StateSums,
    /// Sums by pool and stream.
    pub groups: Vec<GroupHead>,
    pub misfits: Misfits,
    /// Height of the whole picture, css px.
    pub height_css: f64,
    /// Bytes on a full line.
    pub bytes_per_line: f64,
    /// Where the pinned allocation is, as far as it is seen.
    pub pinned: Outline,
    /// Where the event before this moment was.
    pub changed: Outline,
    /// What differs between the replayed end and what the file lists.
    pub check: FinalCheck,
    /// How far derived block sizes can be trusted.
    pub sizes: SizeCheck,
}

/// Where something is in the whole picture.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Outline {
    pub rects: Vec<RectCss>,
    /// The line on which it begins: top and bottom, css px. `None`: it is not there.
    pub line_css: Option<(f64, f64)>,
}

/// The heading of a pool and stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupHead {
    /// Top of its room, css px.
    pub y_css: f64,
    /// The pool in words; empty where the file does not say.
    pub pool: String,
    /// The stream in words.
    pub stream: String,
    pub sums: StateSums,
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tip {
    pub on: TipOn,
    /// The visible parts of that, if it is one block.
    pub rects: Vec<RectCss>,
    pub segment: TipSegment,
}

/// The block or blocks under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TipOn {
    /// A block in use or pending free.
    Block {
        preview: Preview,
        usage: BlockUse,
        bytes: u64,
        /// What of that is lost to rounding.
        rounding_bytes: u64,
        /// Where the size is known from.
        source: SizeSource,
    },
    Free {
        address: u64,
        bytes: u64,
    },
    /// Several blocks in one pixel.
    Several {
        /// Those in use, by call site.
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
    /// `small, stream 3`: what there is to say of it.
    pub remarks: Vec<String>,
    /// The number from 1 of the event that mapped it.
    pub mapped_by: Option<u32>,
    /// Whose code that was; empty if unknown.
    pub site: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventLine {
    pub event: EventRow,
    /// Its call site in words; empty if unknown.
    pub site: String,
    /// Its stream in words; empty for the default one.
    pub stream: String,
    /// Whether the search matches its allocation; `true` while nothing is searched for.
    pub is_match: bool,
}
