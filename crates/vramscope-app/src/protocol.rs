//! What page and worker say to each other.
//!
//! Each message is one JSON text, so that both ends and the tests share these types and nothing else;
//! what is large or no data (a `Blob`, an `ImageBitmap`) travels beside it as the message's attachment.
//!
//! One worker has one file, so no message names it. The worker answers in order; where only the newest
//! question matters ([`Request::Draw`], [`Request::Hit`], [`Request::Outline`]) it skips older ones that
//! still wait, so a page may ask on every mouse move. Every number is computed by the worker: the page
//! shows, formats and lays out.

mod answers;
mod ask;
mod facts;
#[cfg(test)]
mod tests;
pub mod views;

use serde::{Deserialize, Serialize};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

pub use answers::{
    CallSite, Composition, Details, DrawnFrame, EventMark, EventPlace, FrameLine, FreePreview,
    FxDetails, Hit, HitOn, Legend, LegendEntry, Life, MomentFacts, OomMark, OutlineColumns,
    Overview, Preview, RangeFacts, SegmentPreview, StackLines, StackOrigin, Thing,
};
pub use vramscope_view::axes::XUnit as Axis;
pub use vramscope_view::colour::ColourMode as ColourBy;
pub use vramscope_view::theme::ThemeName;
pub use vramscope_view::viewport::{Bounds, Viewport};

pub use ask::{Answer, Ask, Extra, Question, Slot};
pub use facts::{
    Axes, DeviceFacts, Failure, FileFacts, Heights, Note, NoteLevel, Opened, Progress, Stage,
};

/// Counts questions, so that an answer can be told from a stale one. Never 0.
pub type RequestId = u32;

/// What a picture is of: those that have an x axis, and share all that is done to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Picture {
    /// Allocations stacked: y is bytes.
    #[default]
    Timeline,
    /// Segments stacked: y is bytes.
    Segments,
    /// Address × time: y is bytes of the address space that was ever mapped, in lanes.
    Map,
    /// Offset × time: y is bytes of the ideal packing.
    Packing,
}

impl Picture {
    /// Whether a view of this picture shows that one: beside the packing is the map.
    #[must_use]
    pub fn shows(self, other: Self) -> bool {
        self == other || (self, other) == (Self::Packing, Self::Map)
    }
}

/// Counts the texts of the search box, so that a picture says with which it was drawn. 0: none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FilterId(pub u32);

/// Which picture: all but the place and the size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Look {
    /// The device.
    pub device: DeviceIndex,
    /// What it is of.
    pub picture: Picture,
    /// What does not match this filter is dimmed.
    pub filter: FilterId,
    /// How often the packing has got better: so that the picture of an older one is known as that. 0 for
    /// all other pictures.
    pub packing: u32,
    /// The x axis.
    pub axis: Axis,
    /// What the colours say.
    pub colour_by: ColourBy,
    /// Light or dark.
    pub theme: ThemeName,
}

/// A picture to draw.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DrawRequest {
    /// Which picture.
    pub look: Look,
    /// What part of it, and its size in device px.
    pub viewport: Viewport,
}

/// What the page asks of a worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Get used to the work while there is none: the browser compiles code well only once it has run for
    /// a while. Not answered; anything else goes first.
    WarmUp,
    /// Read the attached `Blob`. Answered by [`Reply::Progress`]…, then [`Reply::Opened`] or
    /// [`Reply::Failed`].
    OpenBlob {
        /// The file's name, for messages.
        name: String,
    },
    /// Fetch and read what lies at this address. Answered like [`Request::OpenBlob`].
    OpenUrl {
        /// What to show as the file's name.
        name: String,
        /// Absolute address.
        url: String,
    },
    /// Draw a part of the timeline. Answered by [`Reply::Drawn`] with an `ImageBitmap` or by
    /// [`Reply::NotDrawn`], or not at all if a newer one has come.
    Draw {
        /// Given back in the answer.
        request: RequestId,
        /// What to draw.
        draw: DrawRequest,
    },
    /// The curves of the strip above the timeline. Answered by [`Reply::Overview`].
    Overview {
        /// The device.
        device: DeviceIndex,
        /// Its x axis.
        axis: Axis,
        /// How many columns to cut the whole into, at most.
        columns: u32,
    },
    /// What is under the pointer. Answered by [`Reply::Hit`], or not at all if a newer one has come.
    Hit {
        /// Given back in the answer.
        request: RequestId,
        /// The picture the page shows.
        draw: DrawRequest,
        /// Where in the picture, in device px from the top left.
        x_px: f64,
        /// See `x_px`.
        y_px: f64,
    },
    /// Where in the picture an allocation's band runs. Answered by [`Reply::Outline`], or not at all if a
    /// newer one for the same `slot` has come.
    Outline {
        /// What the outline is for.
        slot: OutlineSlot,
        /// The picture the page shows.
        draw: DrawRequest,
        /// What to outline.
        thing: Thing,
    },
    /// All that is known about an allocation. Answered by [`Reply::Details`].
    Details {
        /// The device.
        device: DeviceIndex,
        /// The allocation.
        allocation: AllocationId,
    },
    /// Search for this from now on; taken before anything else that waits, and not answered: see
    /// [`views::filter`] for what it matches.
    Filter {
        /// Which text it is.
        filter: FilterId,
        /// The text; a wrong one matches everything.
        text: String,
        /// What the words of the text refer to.
        context: views::filter::FilterContext,
    },
    /// A question of one view. Answered by [`Reply::Answer`], or not at all if a newer one with the same
    /// `slot` has come.
    Ask {
        /// Given back in the answer.
        request: RequestId,
        /// Who asks.
        slot: Slot,
        /// What.
        question: Box<Question>,
    },
    /// What is known of a moment. Answered by [`Reply::Moment`].
    Moment {
        /// The device.
        device: DeviceIndex,
        /// The x axis.
        axis: Axis,
        /// The moment.
        moment: u32,
    },
    /// What happens between two places of the x axis. Answered by [`Reply::Range`].
    Range {
        /// The device.
        device: DeviceIndex,
        /// The x axis.
        axis: Axis,
        /// From … to, in the axis's unit.
        x: (f64, f64),
    },
    /// What the colours mean. Answered by [`Reply::Legend`].
    Legend {
        /// Device and colouring.
        look: Look,
        /// How many entries at most, the largest first.
        entries: u32,
    },
}

/// Which of the two outlines that the page can show.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutlineSlot {
    /// What the pointer is over.
    Hover,
    /// What is pinned.
    Pin,
}

/// What a worker answers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The worker listens; sent once.
    Ready,
    /// How far reading has come; at most every 50 ms.
    Progress(Progress),
    /// The file is read and can be asked about.
    Opened(Box<Opened>),
    /// The file is read: it holds no snapshot but graphs, and can be asked [`views::graph`]'s questions.
    OpenedGraphs(Box<views::graph::GraphFile>),
    /// The file cannot be read; nothing else follows.
    Failed(Box<Failure>),
    /// A picture; the `ImageBitmap` is attached.
    Drawn(DrawnFrame),
    /// There is no picture to be had, for want of memory or of the file.
    NotDrawn {
        /// The question.
        request: RequestId,
    },
    /// See [`Request::Overview`].
    Overview(Overview),
    /// See [`Request::Hit`].
    Hit(Box<Hit>),
    /// See [`Request::Outline`].
    Outline(OutlineColumns),
    /// See [`Request::Details`].
    Details(Box<Details>),
    /// See [`Request::Ask`]; its [`Extra`] is attached.
    Answer {
        /// The question.
        request: RequestId,
        /// Who asked.
        slot: Slot,
        /// The answer; `None` if there is nothing to say, e.g. no such device.
        answer: Option<Box<Answer>>,
    },
    /// See [`Request::Moment`].
    Moment {
        /// The device.
        device: DeviceIndex,
        /// The x axis.
        axis: Axis,
        /// What is known.
        facts: MomentFacts,
    },
    /// See [`Request::Range`].
    Range(RangeFacts),
    /// See [`Request::Legend`].
    Legend(Legend),
}

/// A message as JSON.
///
/// # Errors
/// Never for the types of this module: they have no maps with other keys than text.
pub fn to_text<T: Serialize>(message: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(message)
}

/// A message from JSON.
///
/// # Errors
/// When the text is not such a message, which only happens if page and worker are of different versions.
pub fn from_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}
