//! What downloads ask.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::selection::Moments;
use vramscope_core::model::DeviceIndex;

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// A part of a device as a snapshot of its own. Answered by [`Answer::Snapshot`].
    Snapshot {
        /// The device.
        device: DeviceIndex,
        /// From … to.
        moments: Moments,
        /// Whether only its size is wanted.
        only_size: bool,
    },
    /// Active and reserved bytes at each moment, as CSV. Answered by [`Answer::Csv`].
    Curves {
        /// The device.
        device: DeviceIndex,
        /// From … to.
        moments: Moments,
    },
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A snapshot; attached unless only its size was wanted.
    Snapshot {
        /// The moments that it has of the file's, which may be fewer than asked for.
        moments: Moments,
        /// Its size.
        bytes: u64,
    },
    /// A table; attached.
    Csv {
        /// Its lines without the head.
        rows: u64,
    },
}
