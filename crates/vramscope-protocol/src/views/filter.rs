//! The questions of the search box.

use serde::{Deserialize, Serialize};
pub use vramscope_core::analysis::report::pool_lines::{PoolLine, PoolLines};
use vramscope_core::analysis::search::filter::{Completions, Totals};
pub use vramscope_core::analysis::search::filter::{FilterText, NextMatch};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// Sums over the matches. Answered by [`Answer::Matches`].
    Matches {
        device: DeviceIndex,
        filter: FilterText,
        /// The moment at which live bytes are counted; the device's peak if there is none.
        moment: Option<u32>,
    },
    /// The memory pools to choose from. Answered by [`Answer::Pools`].
    Pools { device: DeviceIndex },
    /// Completions of a text. Answered by [`Answer::Completions`].
    Complete {
        device: DeviceIndex,
        /// The text of the search box.
        text: String,
        /// The caret's place in the text, in bytes.
        caret: usize,
    },
    /// The next match. Answered by [`Answer::Next`].
    Next {
        device: DeviceIndex,
        filter: FilterText,
        /// The match to go on from; `None` = go from the moment.
        from: Option<AllocationId>,
        moment: Option<u32>,
        is_forward: bool,
        /// Counts key presses, so that pressing again is another question.
        press: u32,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Matches(SearchResult),
    Pools(PoolLines),
    Completions(Completions),
    Next(Option<NextMatch>),
}

/// The matches of a filter in figures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SearchResult {
    /// Sums over the matches; `live_…` at [`moment`](Self::moment).
    pub matches: Totals,
    /// Number of all allocations of the device.
    pub all_count: u64,
    /// Requested bytes of all allocations live at that moment.
    pub all_live_bytes: u64,
    /// The moment at which live bytes are counted.
    pub moment: u32,
    /// The reasons why some of its words match nothing, as sentences.
    pub notes: Vec<String>,
}
