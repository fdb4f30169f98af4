//! The messages between the page and its workers, which are programs of their own: the worker of each file, and the planner of
//! what takes long and is seldom wanted.
//!
//! Each message is one array of bytes (see `wire`), so that both ends and the tests share these types and nothing else.
//! A `Blob`, an `ImageBitmap` or a large array travels beside it as the message's attachment.
//!
//! One worker has one file, so no message names it. Everything that the page wants to know of an open file is a
//! [`Question`]. Each question is a type with its own type of answer (see [`Ask`]) and holds all that the answer
//! depends on, the filter included. Only comparisons are kept by the worker and named by number. The worker computes
//! every number; the page formats them and lays them out. Types of the other crates travel as they are.

mod ask;
pub mod clock;
mod details;
mod facts;
mod live;
pub mod message;
mod pictures;
#[cfg(test)]
mod tests;
pub mod views;
mod wire;

use serde::{Deserialize, Serialize};

pub use vramscope_core::analysis::properties::Property as ColourBy;
pub use vramscope_view::axes::XUnit as Axis;
pub use vramscope_view::theme::ThemeName;
pub use vramscope_view::viewport::{Bounds, Viewport};
pub use vramscope_view::views::Picture;

pub use ask::{Answer, Ask, Extra, Question, Slot, with_extra};
pub use details::{
    AllocationExtent, Composition, Details, DetailsOf, EventAnswer, EventOf, MOST_LISTED, MomentAt,
    MomentFacts, MomentOf, PlacedMoment, Preview, PreviewsOf, RangeFacts, RangeOf,
};
pub use facts::{
    Axes, DeviceFacts, DevicesOfPools, DevicesWithin, Failure, FileFacts, Note, NoteLevel, Opened,
    Progress, Stage, UNASKED_BYTES,
};
pub use live::{Adopt, Adopted, Carried, PlaceOf, Recorded};
pub use message::error_text;
pub use pictures::{
    BandLabels, BandLabelsOf, Curve, DrawRequest, DrawnFrame, Hit, HitOf, HitOn, LegendEntry,
    LegendOf, Look, Minimap, MinimapOf, OomMark, OutlineColumns, OutlineOf, ReservedOf,
    SegmentPreview, Thing,
};
pub use wire::{Unreadable, from_bytes, reply_bytes, to_bytes};

/// The number of a question, by which its answer is known. Never 0.
pub type RequestId = u32;

/// A message from the page to a worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Read the attached `Blob`. Answered by [`Reply::Progress`]…, then [`Reply::Opened`] or
    /// [`Reply::Failed`].
    OpenBlob {
        /// The file's name, for messages.
        name: String,
    },
    /// Plan for the attached `Blob`: a packed snapshot. Only the planner does, and answers what is asked from then on.
    OpenPacked,
    /// Fetch and read what lies at this address. Answered like [`Request::OpenBlob`], unless more than
    /// [`UNASKED_BYTES`] come from a server that does not say how many there are: that fails.
    OpenUrl {
        /// The name to show.
        name: String,
        /// Absolute address.
        url: String,
    },
    /// Fetch and read what lies at this address by now, as the next version of the open file, which stays meanwhile.
    /// Answered by [`Reply::Reloaded`]. [`Adopt`] goes over to it.
    Reload {
        /// The file's name, for messages.
        name: String,
        /// Absolute address.
        url: String,
    },
    /// Keep what the planner found, for drawing and answers: the attached bytes of a [`Found`](views::what_if::Found). Has no answer.
    Take,
    /// Take no more bytes from the server, or (`false`) go on. Has no answer.
    Hold(bool),
    /// Answer a question about the open file with [`Reply::Answer`], or not at all if a newer one with the
    /// same `slot` has come.
    Ask {
        /// The number that the answer bears.
        request: RequestId,
        /// The asker.
        slot: Slot,
        /// The memory pools that it is asked of, as a search; `None` for all.
        within: Option<String>,
        question: Box<Question>,
    },
}

/// A message from a worker to the page.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The worker listens. Sent once, before all other messages.
    Ready,
    /// Something was done, for the page's User Timing marks.
    Mark {
        /// The mark's name after `vramscope:`.
        name: String,
        /// When, in ms since 1970.
        at_ms: f64,
    },
    /// The progress of reading; at most every 50 ms.
    Progress(Progress),
    /// The file is read, holds a snapshot, and can be asked about.
    Opened(Box<Opened>),
    /// The file holds inductor graphs, which are the planner's to read. It is attached, as a `Blob`.
    ForPlanner,
    /// The file is read, holds inductor graphs, and can be asked the questions of [`views::graph`].
    OpenedGraphs(Box<views::graph::GraphFile>),
    /// The file is read, holds ranks, and can be asked the questions of [`views::fleet`].
    OpenedFleet(views::fleet::FleetFile),
    /// The file is read, and is text: all that it tells.
    OpenedText(Box<views::text::TextFile>),
    /// The next version of the file is read; or why it cannot be.
    Reloaded(Option<Box<Failure>>),
    /// The file cannot be read; nothing else follows.
    Failed(Box<Failure>),
    /// The answer to a [`Request::Ask`], with its [`Extra`] attached.
    Answer {
        /// The question's number.
        request: RequestId,
        /// The asker.
        slot: Slot,
        /// `None` if there is no answer, e.g. because the file has no such device.
        answer: Option<Answer>,
    },
}
