//! Facts about a file: while it is read, once it is open, or why it is not.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::Leaders;
use vramscope_view::line_facts::LineFacts;

use super::{Axis, Bounds, ColourBy, Picture, Recorded};

/// A stage of opening a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Stage {
    /// Downloading it from an address.
    #[default]
    Fetching,
    Reading,
    /// Following the allocations through the events.
    Replaying,
}

/// The most bytes that are downloaded, in all files of the page's address together, without asking the user.
pub const UNASKED_BYTES: u64 = 2 << 30;

/// The progress of opening a file.
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
    /// Notes on the whole file: truncated history, missing stacks, damage.
    pub notes: Vec<Note>,
    /// The call sites with the distinct colours.
    pub leaders: Leaders,
}

impl Opened {
    /// Whether the page shows more over the first device's timeline than that and reserved memory: failed allocations, the
    /// device's capacity, pools, damage; or has no timeline of it.
    #[must_use]
    pub fn has_more_than_timeline(&self) -> bool {
        let has_more = |facts: &DeviceFacts| {
            let has_timeline = facts.has_trace && facts.allocations > 0;
            !has_timeline
                || facts.ooms.is_some_and(|failed| failed > 0)
                || facts.lines.capacity.is_some()
                || facts.lines.has_pools
        };
        let is_damaged = |note: &Note| note.level == NoteLevel::Damage;
        self.notes.iter().any(is_damaged) || self.devices.first().is_none_or(has_more)
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileFacts {
    pub name: String,
    /// Its size as it is stored.
    pub file_bytes: u64,
    /// Its size without compression and containers.
    pub decoded_bytes: u64,
    /// E.g. `gzip, pickle protocol 4`.
    pub format: String,
    /// The program that wrote it, e.g. `torch 2.10-2.11`.
    pub producer: String,
    /// Events of all devices and the host.
    pub events: u64,
    pub stacks: u64,
    /// Bytes of the decoded file in memory.
    pub model_bytes: u64,
    /// Bytes of the worker's memory, which never shrinks: the most that it has needed. 0 if unknown.
    pub worker_bytes: u64,
    /// Duration of reading, in ms.
    pub read_ms: f64,
    /// What it says of its program; `None` if it was not captured.
    pub recorded: Option<Recorded>,
}

/// Asks for the facts of the devices within the memory pools that are asked about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DevicesWithin {
    /// Those pools, as a search.
    pub pools: String,
}

/// The answer to [`DevicesWithin`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DevicesOfPools {
    pub pools: String,
    /// In the order of [`Opened::devices`]. Their notes and usual colours are not those of the whole devices.
    pub devices: Vec<DeviceFacts>,
}

/// One device of a file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub device: DeviceIndex,
    /// `GPU 0`, or what else it is.
    pub name: String,
    /// Number of recorded events.
    pub events: u32,
    /// Whether the file has more than the final state.
    pub has_trace: bool,
    /// Number of allocations, those from before the recording included.
    pub allocations: u32,
    /// Highest sum of live bytes.
    pub peak_bytes: u64,
    /// The first moment with that many.
    pub peak_moment: u32,
    /// Live bytes at the end.
    pub final_bytes: u64,
    pub peak_reserved_bytes: u64,
    /// The most that was reserved, which a file without segments may state; `None` if it does not tell.
    pub most_reserved_bytes: Option<u64>,
    /// Times of the first and the last event, in µs since the Unix epoch; `None` without times.
    pub time_span_us: Option<(i64, i64)>,
    /// The whole of the timeline on either axis.
    pub axes: Axes,
    /// Height of the map in bytes: all its lanes with the gaps between them.
    pub map_bytes: u64,
    /// Height of the best packing in bytes, once the page knows one; 0 until then.
    pub packing_bytes: u64,
    pub lines: LineFacts,
    /// Number of failed requests; `None` if the file would not record one.
    pub ooms: Option<u64>,
    /// What colours stand for until the user chooses.
    pub colour_by: ColourBy,
    /// The same for segments.
    pub segments_colour_by: ColourBy,
    /// Notes on this device, e.g. "recording began after 12 live allocations".
    pub notes: Vec<Note>,
}

impl DeviceFacts {
    /// The bounds of a picture on an axis.
    #[must_use]
    pub fn bounds(&self, picture: Picture, axis: Axis) -> Bounds {
        let timeline = self.axes.bounds(axis);
        match picture {
            Picture::Timeline => timeline,
            Picture::Segments => Bounds::new(timeline.x_end, self.peak_reserved_bytes),
            Picture::Map => Bounds::new(timeline.x_end, self.map_bytes),
            // It stands beside the map, so both have one scale.
            Picture::Packing => {
                let bytes = self.map_bytes.max(self.packing_bytes);
                let bytes = bytes.max(self.peak_bytes);
                Bounds::new(timeline.x_end, bytes)
            }
        }
    }
}

/// The bounds of the timeline on either axis.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Axes {
    pub events: Bounds,
    /// `None` if the recording has no times.
    pub time: Option<Bounds>,
}

impl Axes {
    /// The bounds on an axis; those of events where there are no times.
    #[must_use]
    pub fn bounds(&self, axis: Axis) -> Bounds {
        match axis {
            Axis::Time => self.time.unwrap_or(self.events),
            Axis::Events => self.events,
        }
    }
}

/// The weight of a note.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum NoteLevel {
    Info,
    /// Part of the pictures or figures is incomplete or doubtful.
    Warning,
    /// The file is damaged: figures may be wrong.
    Damage,
}

/// A remark on the file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    pub level: NoteLevel,
    /// The observation and its meaning, in sentences.
    pub text: String,
    /// Advice for a better recording; empty if there is none.
    pub advice: String,
    /// The first places in the file that it applies to; may be empty.
    pub places: Vec<String>,
    /// The moment of a failed allocation, if it is about one.
    pub moment: Option<u32>,
}

/// The reason why a file could not be opened, or why a worker ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Failure {
    /// The fault in one line.
    pub message: String,
    pub advice: String,
    /// Byte offset of the fault in the data without containers; `None` if unknown.
    pub offset: Option<u64>,
    /// Path of the record with the fault; empty at the top level.
    pub path: String,
    /// Containers that were recognised, e.g. `gzip, pickle protocol 4`; empty if none was.
    pub format: String,
    /// The first bytes of a file of unknown format; else empty.
    pub head: Vec<u8>,
}

impl Failure {
    /// A fault of this program, not of the file.
    #[must_use]
    pub fn internal(what: &str) -> Self {
        Self {
            message: format!("internal error: {what}"),
            advice:
                "Please report this, if you may with the file. Other open files are not affected."
                    .into(),
            ..Self::default()
        }
    }

    /// A file that needs more memory than a page gets. `said` are the words in which that was told.
    #[must_use]
    pub fn no_memory(said: &str) -> Self {
        Self {
            message: "the browser gave no more memory for this file".into(),
            advice: format!(
                "A page can use at most 4 GiB per file. Close other tabs and files, or read this file with \
                 the command line: `vramscope info FILE`. (The reason given: {said})"
            ),
            ..Self::default()
        }
    }
}
