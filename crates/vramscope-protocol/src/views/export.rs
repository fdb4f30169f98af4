//! What downloads ask.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::model::DeviceIndex;
use vramscope_view::plot::views::{Sheet, View};

use super::filter::FilterText;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// A part of a device as a snapshot of its own. Answered by [`Answer::Snapshot`].
    Snapshot {
        device: DeviceIndex,
        moments: Moments,
        /// Whether only its size is wanted.
        only_size: bool,
    },
    /// The whole file, for the planner or to be shared. Answered by [`Answer::Packed`].
    Packed {
        /// Replaces names by hashes with this key.
        key: Option<[u8; 32]>,
    },
    /// Active and reserved bytes at each moment, as CSV. Answered by [`Answer::Csv`].
    Curves {
        device: DeviceIndex,
        moments: Moments,
    },
    /// A view as an SVG file, the same as `vramscope plot` makes. Answered by [`Answer::Picture`].
    Picture {
        device: DeviceIndex,
        view: View,
        sheet: Sheet,
        /// Name of the file in the title.
        file: String,
        /// Allocations that do not match are dimmed.
        filter: Option<FilterText>,
        /// The changed settings whose replay is drawn as a line, if that is known; `None` for none.
        replay: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The SVG file is attached.
    Picture,
    /// A snapshot; attached unless only its size was wanted.
    Snapshot {
        /// The moments that it has of the file's, which may be fewer than asked for.
        moments: Moments,
        bytes: u64,
    },
    /// A packed snapshot (FORMAT.md 5), not compressed; attached.
    Packed,
    /// A table; attached.
    Csv {
        /// Its lines without the head.
        rows: u64,
    },
}
