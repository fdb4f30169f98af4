//! What the search box asks.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::filter::{Completions, Totals};
use vramscope_core::analysis::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use crate::protocol::FilterId;

/// What the words of a filter refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FilterContext {
    /// The moment of the cursor.
    pub cursor: Option<u32>,
    /// The selected range.
    pub range: Option<Moments>,
}

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What has been found. Answered by [`Answer::Found`].
    Found {
        /// The device.
        device: DeviceIndex,
        /// The filter.
        filter: FilterId,
        /// The moment at which live bytes are counted; the device's peak if there is none.
        moment: Option<u32>,
    },
    /// What could be written next. Answered by [`Answer::Completions`].
    Complete {
        /// The device.
        device: DeviceIndex,
        /// What stands in the box.
        text: String,
        /// At which byte of it.
        caret: usize,
    },
    /// The next match. Answered by [`Answer::Next`].
    Next {
        /// The device.
        device: DeviceIndex,
        /// The filter.
        filter: FilterId,
        /// The one before; else it goes from the moment.
        from: Option<AllocationId>,
        /// The cursor's moment.
        moment: Option<u32>,
        /// Whether forward.
        is_forward: bool,
        /// Counts the key presses: pressing again is another question.
        press: u32,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// See [`Question::Found`].
    Found(Found),
    /// See [`Question::Complete`].
    Completions(Completions),
    /// See [`Question::Next`].
    Next(Option<NextMatch>),
}

/// What a filter has found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Sums over the matches; `live_…` at [`moment`](Self::moment).
    pub matches: Totals,
    /// All allocations of the device.
    pub all_count: u64,
    /// Bytes of all that is live at that moment.
    pub all_live_bytes: u64,
    /// Where live bytes are counted.
    pub moment: u32,
    /// Why some of its words find nothing: sentences.
    pub notes: Vec<String>,
}

/// A match.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct NextMatch {
    /// Which.
    pub allocation: AllocationId,
    /// The first moment at which it is live.
    pub moment: u32,
    /// Which of the matches it is, from 1.
    pub place: u64,
}
