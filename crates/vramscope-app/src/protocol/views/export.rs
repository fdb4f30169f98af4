//! What downloads ask.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::model::DeviceIndex;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// A part of a device as a snapshot of its own. Answered by [`Answer::Snapshot`].
    Snapshot {
        device: DeviceIndex,
        moments: Moments,
        /// Whether only its size is wanted.
        only_size: bool,
    },
    /// Active and reserved bytes at each moment, as CSV. Answered by [`Answer::Csv`].
    Curves {
        device: DeviceIndex,
        moments: Moments,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// A snapshot; attached unless only its size was wanted.
    Snapshot {
        /// The moments that it has of the file's, which may be fewer than asked for.
        moments: Moments,
        bytes: u64,
    },
    /// A table; attached.
    Csv {
        /// Its lines without the head.
        rows: u64,
    },
}
