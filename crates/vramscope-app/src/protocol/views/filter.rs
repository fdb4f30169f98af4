//! What the search box asks.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::search::filter::{Completions, Filter, Totals};
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

/// A filter by its text, with what its words refer to: all that what it matches depends on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FilterText {
    pub text: String,
    /// The moment of the cursor; `None` also if no word refers to it.
    pub cursor: Option<u32>,
    pub range: Option<Moments>,
}

impl FilterText {
    /// `None` for a text that everything matches: an empty one, or one that cannot be read, of which the
    /// search box complains.
    #[must_use]
    pub fn of(text: &str, cursor: Option<u32>, range: Option<Moments>) -> Option<Self> {
        let filter = Filter::parse(text).ok()?;
        (!filter.is_empty()).then(|| Self {
            text: text.to_owned(),
            cursor: cursor.filter(|_| filter.uses_cursor()),
            range: range.filter(|_| filter.uses_range()),
        })
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// What has been found. Answered by [`Answer::Matches`].
    Matches {
        device: DeviceIndex,
        filter: FilterText,
        /// The moment at which live bytes are counted; the device's peak if there is none.
        moment: Option<u32>,
    },
    /// What could be written next. Answered by [`Answer::Completions`].
    Complete {
        device: DeviceIndex,
        /// What stands in the box.
        text: String,
        /// At which byte of it.
        caret: usize,
    },
    /// The next match. Answered by [`Answer::Next`].
    Next {
        device: DeviceIndex,
        filter: FilterText,
        /// The one before; else it goes from the moment.
        from: Option<AllocationId>,
        moment: Option<u32>,
        is_forward: bool,
        /// Counts the key presses: pressing again is another question.
        press: u32,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Matches(SearchResult),
    Completions(Completions),
    Next(Option<NextMatch>),
}

/// What a filter has found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SearchResult {
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

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct NextMatch {
    pub allocation: AllocationId,
    /// The first moment at which it is live.
    pub moment: u32,
    /// Which of the matches it is, from 1.
    pub place: u64,
}
