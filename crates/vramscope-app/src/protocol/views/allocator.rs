//! What the view of the allocator asks: its picture at a moment, what is under the pointer, a window of the
//! list of events, and ways from one event to another.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::allocator_state::{
    BlockUse, FinalCheck, Misfits, SizeCheck, SizeSource, StateSums,
};
pub use vramscope_core::analysis::event_rows::{Direction, EventRow};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use crate::protocol::{Axis, Composition, FilterId, Look, Preview};

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
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawState {
    /// Device, colours, theme, filter.
    pub look: Look,
    /// The state after this many events.
    pub moment: u32,
    /// What of it is seen.
    pub window: Window,
    /// The allocation to outline.
    pub pinned: Option<AllocationId>,
}

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The picture; it comes as an `ImageBitmap`. Answered by [`Answer::Drawn`].
    Draw(DrawState),
    /// What is under a place of a picture's window, device px. Answered by [`Answer::Tip`].
    Hit {
        /// The picture.
        draw: DrawState,
        /// The place.
        at_px: (f64, f64),
    },
    /// Rows of the list. Answered by [`Answer::Events`].
    Events {
        /// The device.
        device: DeviceIndex,
        /// By which events are said to match.
        filter: FilterId,
        /// The first row: row `m` is the event that leads to moment `m`, row 0 the beginning.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Where a kind of event is. Answered by [`Answer::Moment`].
    Jump {
        /// The device.
        device: DeviceIndex,
        /// What matches.
        filter: FilterId,
        /// From this moment.
        from: u32,
        /// Which way.
        direction: Direction,
        /// To what.
        to: JumpTo,
        /// Counts jumps: the same one can be asked for twice.
        count: u32,
    },
    /// Which moment is at a place of the axis. Answered by [`Answer::Moment`].
    MomentAt {
        /// The device.
        device: DeviceIndex,
        /// The axis.
        axis: Axis,
        /// The place.
        x: f64,
        /// Counts questions, as above.
        count: u32,
    },
}

/// What to look for among the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JumpTo {
    /// What the search matches.
    Match,
    /// Segments that come, go or change.
    Segments,
    /// Failed allocations.
    Oom,
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A picture and what it shows.
    Drawn(Box<Drawn>),
    /// What is under the pointer; `None`: no segment.
    Tip(Option<Box<Tip>>),
    /// Rows of the list.
    Events(Vec<EventLine>),
    /// A moment; `None`: there is none.
    Moment(Option<u32>),
}

/// A rectangle in css px of the whole picture: left, top, right, bottom.
pub type RectCss = [f64; 4];

/// What a picture shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// Its moment.
    pub moment: u32,
    /// Sums of everything.
    pub total: StateSums,
    /// Sums by pool and stream.
    pub groups: Vec<GroupHead>,
    /// What has no place.
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
    /// Its visible parts.
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
    /// Its sums.
    pub sums: StateSums,
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tip {
    /// The block or blocks.
    pub on: TipOn,
    /// The visible parts of that, if it is one block.
    pub rects: Vec<RectCss>,
    /// The segment.
    pub segment: TipSegment,
}

/// The block or blocks under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TipOn {
    /// A block in use or pending free.
    Block {
        /// Its allocation.
        preview: Preview,
        /// What it is doing.
        usage: BlockUse,
        /// Its size, rounding included.
        bytes: u64,
        /// What of that is lost to rounding.
        rounding_bytes: u64,
        /// Where the size is known from.
        source: SizeSource,
    },
    /// A free block.
    Free {
        /// Its address.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// Several blocks in one pixel.
    Several {
        /// Those in use, by call site.
        composition: Composition,
        /// Number of free ones.
        free_blocks: u64,
        /// Bytes of those.
        free_bytes: u64,
    },
}

/// The segment under the pointer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TipSegment {
    /// Its address.
    pub address: u64,
    /// Its sums.
    pub sums: StateSums,
    /// `small, stream 3`: what there is to say of it.
    pub remarks: Vec<String>,
    /// The number from 1 of the event that mapped it.
    pub mapped_by: Option<u32>,
    /// Whose code that was; empty if unknown.
    pub site: String,
}

/// One event in one line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EventLine {
    /// The event.
    pub event: EventRow,
    /// Its call site in words; empty if unknown.
    pub site: String,
    /// Its stream in words; empty for the default one.
    pub stream: String,
    /// Whether the search matches its allocation; `true` while nothing is searched for.
    pub is_match: bool,
}
