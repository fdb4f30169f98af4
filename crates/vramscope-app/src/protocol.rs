//! What page and worker say to each other.
//!
//! Each message is one JSON text, so that both ends and the tests share these types and nothing else;
//! what is large or no data (a `Blob`, an `ImageBitmap`) travels beside it as the message's attachment.
//!
//! One worker has one file, so no message names it. All that is asked of an open file is a [`Question`]: each
//! is a type with its own answer (see [`Ask`]) and holds all that the answer depends on, the filter included; only
//! a comparison is kept by the worker, and named by number. Every number is computed by the worker: the page shows, formats
//! and lays out.

mod ask;
mod details;
mod facts;
mod pictures;
#[cfg(test)]
mod tests;
pub mod views;

use serde::{Deserialize, Serialize};

pub use vramscope_view::axes::XUnit as Axis;
pub use vramscope_view::colour::ColourMode as ColourBy;
pub use vramscope_view::theme::ThemeName;
pub use vramscope_view::viewport::{Bounds, Viewport};
pub use vramscope_view::views::Picture;

pub use ask::{Answer, Ask, Extra, Question, Slot};
pub use details::{
    CallSite, Composition, Details, DetailsOf, EventPlace, MomentFacts, MomentOf, PlacedMoment,
    Preview, RangeFacts, RangeOf,
};
pub use facts::{
    Axes, DeviceFacts, Failure, FileFacts, Heights, Note, NoteLevel, Opened, Progress, Stage,
};
pub use pictures::{
    DrawRequest, DrawnFrame, FreePreview, Hit, HitOf, HitOn, Legend, LegendEntry, LegendOf, Look,
    Minimap, MinimapOf, OomMark, OutlineColumns, OutlineOf, SegmentPreview, Thing,
};

/// Counts questions, so that an answer can be told from a stale one. Never 0.
pub type RequestId = u32;

/// What the page wants of a worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    /// Answer a question about the open file with [`Reply::Answer`], or not at all if a newer one with the
    /// same `slot` has come.
    Ask {
        /// Given back in the answer.
        request: RequestId,
        /// Who asks.
        slot: Slot,
        /// What is asked.
        question: Box<Question>,
    },
}

/// What a worker says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
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
    /// See [`Request::Ask`]; its [`Extra`] is attached.
    Answer {
        /// The question's number.
        request: RequestId,
        /// Who asked.
        slot: Slot,
        /// The answer; `None` if there is nothing to say, e.g. no such device.
        answer: Option<Answer>,
    },
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
