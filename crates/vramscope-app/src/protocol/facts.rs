//! What is said about a file while it is read and once it is.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;

use super::views::lanes::LineFacts;
use super::{Axis, Bounds, Picture};

/// What a worker is doing with a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Stage {
    /// Fetching it from an address.
    #[default]
    Fetching,
    Reading,
    /// Following the allocations through the events.
    Replaying,
}

/// How far opening a file has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    pub stage: Stage,
    /// Bytes of the file done in this stage.
    pub done_bytes: u64,
    /// Size of the file; `None` if a server does not say.
    pub total_bytes: Option<u64>,
    pub events: u64,
}

/// An open file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Opened {
    pub file: FileFacts,
    /// Its devices, the one with the highest peak first. Empty only for a snapshot without any.
    pub devices: Vec<DeviceFacts>,
    /// What the user should know about what is seen: truncated history, missing stacks, damage.
    pub notes: Vec<Note>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileFacts {
    pub name: String,
    /// Its size on disk.
    pub file_bytes: u64,
    /// Its size unwrapped.
    pub decoded_bytes: u64,
    /// E.g. `gzip, pickle protocol 4`.
    pub format: String,
    /// What wrote it, e.g. `torch 2.10-2.11`.
    pub producer: String,
    /// Events of all devices and the host.
    pub events: u64,
    pub stacks: u64,
    /// Bytes that the decoded file holds in memory.
    pub model_bytes: u64,
    /// Memory of the file's worker in bytes, which is the most it has needed: wasm gives none back.
    pub worker_bytes: u64,
    /// How long reading took, in ms.
    pub read_ms: f64,
}

/// One device of a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub device: DeviceIndex,
    /// Its recorded events.
    pub events: u32,
    /// All allocations known, those from before the recording included.
    pub allocations: u32,
    /// Highest sum of live bytes.
    pub peak_bytes: u64,
    /// The first moment that reaches it.
    pub peak_moment: u32,
    /// Live bytes at the end.
    pub final_bytes: u64,
    pub peak_reserved_bytes: u64,
    /// When the first and last event happened, in µs since the Unix epoch; `None` without times.
    pub time_span_us: Option<(i64, i64)>,
    /// The whole of the timeline on either axis.
    pub axes: Axes,
    /// How high each picture is.
    pub heights: Heights,
    /// What there is to show above and over its picture.
    pub lines: LineFacts,
    pub ooms: u64,
    /// What is special about this device, e.g. "recording began after 12 live allocations".
    pub notes: Vec<Note>,
}

impl DeviceFacts {
    /// A device without anything, for tests to fill in.
    #[cfg(test)]
    pub(crate) fn example() -> Self {
        Self {
            device: 0,
            events: 0,
            allocations: 0,
            peak_bytes: 0,
            peak_moment: 0,
            final_bytes: 0,
            peak_reserved_bytes: 0,
            time_span_us: None,
            axes: Axes {
                events: Bounds::new(1.0, 0),
                time: None,
            },
            heights: Heights::default(),
            lines: LineFacts::default(),
            ooms: 0,
            notes: Vec::new(),
        }
    }

    /// The whole of a picture on an axis.
    #[must_use]
    pub fn bounds(&self, picture: Picture, axis: Axis) -> Bounds {
        let timeline = self.axes.bounds(axis);
        match picture {
            Picture::Timeline => timeline,
            Picture::Segments => Bounds::new(timeline.x_end, self.peak_reserved_bytes),
            Picture::Map => Bounds::new(timeline.x_end, self.heights.map_bytes),
            // On the map's scale, beside which it stands.
            Picture::Packing => {
                let bytes = self.heights.map_bytes.max(self.heights.packing_bytes);
                let bytes = bytes.max(self.peak_bytes);
                Bounds::new(timeline.x_end, bytes)
            }
        }
    }
}

/// How high pictures are that are no stack of allocations or segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Heights {
    /// All lanes of the map, with the gaps between them, in bytes.
    pub map_bytes: u64,
    /// The ideal packing, as soon as the page knows one; 0 until then.
    pub packing_bytes: u64,
}

/// All there is to see of the timeline, on either axis.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Axes {
    pub events: Bounds,
    /// By time; `None` if the recording has no times.
    pub time: Option<Bounds>,
}

impl Axes {
    /// The whole on an axis; by events where there are no times.
    #[must_use]
    pub fn bounds(&self, axis: Axis) -> Bounds {
        match axis {
            Axis::Time => self.time.unwrap_or(self.events),
            Axis::Events => self.events,
        }
    }
}

/// How much a note matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum NoteLevel {
    Info,
    /// Something seen is incomplete or doubtful.
    Warning,
}

/// A sentence about the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub level: NoteLevel,
    /// What was seen and what it means.
    pub text: String,
    /// What to do to record better; empty if nothing helps.
    pub advice: String,
    /// The first places in the file, if it is about places.
    pub places: Vec<String>,
    /// The moment of its device that it is about, if it is about one: a failed allocation.
    pub moment: Option<u32>,
}

/// Why a file could not be opened, or a worker died.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Failure {
    /// One line: what is wrong.
    pub message: String,
    pub advice: String,
    /// Byte offset into the unwrapped data at which it was noticed.
    pub offset: Option<u64>,
    /// The record in which it was noticed; empty at the top.
    pub path: String,
    /// Recognised wrappings, e.g. `gzip, pickle protocol 4`; empty if none was.
    pub format: String,
    /// The first bytes, for what is no known format.
    pub head: Vec<u8>,
    /// Whether this is a fault of ours rather than of the file.
    pub is_internal: bool,
    /// Whether the user asked for it.
    pub is_cancelled: bool,
}
