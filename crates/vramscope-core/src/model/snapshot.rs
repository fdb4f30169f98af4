//! A whole snapshot: the tables together, and where they came from.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    AnnotationTable, BlockTable, ContextTable, EventTable, FrameTable, SegmentTable, StackTable,
    StringTable, Warnings,
};
use crate::ids::{EventId, StringId};

/// A CUDA device index, as in `device_traces`.
pub type DeviceIndex = u32;

/// A wrapping around the snapshot's own bytes, or the snapshot's own encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerKind {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The first snapshot in a zip archive.
    Zip,
    /// A page written by torch's `trace_plot` and its like, or by `vramscope html`; the snapshot is embedded
    /// as base64.
    Html,
    /// A pickle of this protocol.
    Pickle(u8),
    /// JSON of the same schema.
    Json,
    /// Columns, as [`pack`](crate::pack) writes them. What stands behind it is the file they were made from.
    Packed,
}

/// Where the snapshot's bytes came from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// From the outermost wrapping to the encoding.
    pub containers: Vec<ContainerKind>,
    /// Size of the file in bytes, wrappings included.
    pub file_bytes: u64,
    /// Size of the unwrapped pickle or JSON in bytes.
    pub decoded_bytes: u64,
}

/// What wrote the snapshot, from the keys it uses: files carry no version.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Producer {
    /// E.g. `torch 2.10-2.11`, `torch 2.15 or newer`, `torch.cuda.memory_snapshot()`, `_profile_to_snapshot`.
    pub name: String,
    /// The key that decided it, e.g. `user_metadata`.
    pub evidence: String,
}

/// One decoded snapshot, frozen.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// Every text.
    pub strings: StringTable,
    /// Every distinct frame.
    pub frames: FrameTable,
    /// Every distinct stack.
    pub stacks: StackTable,
    /// Every distinct combination of stream, pool and texts.
    pub contexts: ContextTable,
    /// The events of all devices and of the host.
    pub events: EventTable,
    /// Device index → rows of its events, in order of time.
    pub traces: Vec<Range<u32>>,
    /// Rows of the pinned host memory's events (torch ≥ 2.14).
    pub host_trace: Range<u32>,
    /// Segments at the moment of the snapshot.
    pub segments: SegmentTable,
    /// Segments of pinned host memory (torch ≥ 2.14).
    pub host_segments: SegmentTable,
    /// Blocks of both.
    pub blocks: BlockTable,
    /// Named ranges.
    pub annotations: AnnotationTable,
    /// `allocator_settings` as they are; empty when the file has none.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// What stood under unknown keys at the top level.
    pub extras: serde_json::Map<String, serde_json::Value>,
    /// Which keys the file uses, by record.
    pub keys: KeysSeen,
    /// Where it came from.
    pub source: Source,
    /// What wrote it.
    pub producer: Producer,
    /// What was odd about it.
    pub warnings: Warnings,
}

/// Which known keys occurred in each kind of record: a bit per [`Key`](crate::decode::Key).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeysSeen {
    /// In the top-level dict. Empty when the top level is a list.
    pub top: u64,
    /// In segments.
    pub segment: u64,
    /// In blocks.
    pub block: u64,
    /// In trace entries.
    pub event: u64,
}

/// The key under which a captured snapshot says so.
pub(crate) const CAPTURE_KEY: &str = "capture";

/// What stands there, if it names its tool: the mark of a captured snapshot.
pub(crate) fn capture_of(
    extras: &serde_json::Map<String, serde_json::Value>,
) -> Option<&serde_json::Map<String, serde_json::Value>> {
    let capture = extras.get(CAPTURE_KEY)?.as_object()?;
    capture.get("tool")?.is_string().then_some(capture)
}

impl Snapshot {
    /// The devices that have a trace entry or a segment, ascending; where there is none at all, the
    /// ones with an (empty) trace.
    #[must_use]
    pub fn devices(&self) -> Vec<DeviceIndex> {
        let with_events = (0..).zip(&self.traces).filter(|(_, rows)| !rows.is_empty());
        let with_segments = self
            .segments
            .rows
            .iter()
            .filter_map(|segment| u32::try_from(segment.device).ok());
        let mut devices: Vec<_> = with_events
            .map(|(device, _)| device)
            .chain(with_segments)
            .collect();
        devices.sort_unstable();
        devices.dedup();
        if devices.is_empty() {
            devices.extend(0..self.traces.len() as u32);
        }
        devices
    }

    /// The rows of a device's events; empty for a device without a trace.
    #[must_use]
    pub fn trace(&self, device: DeviceIndex) -> Range<u32> {
        self.traces.get(device as usize).cloned().unwrap_or(0..0)
    }

    /// The name of an event's action as the file has it.
    #[must_use]
    pub fn action_name(&self, id: EventId) -> &str {
        let action = self.events.action[id.index()];
        action.name().unwrap_or_else(|| match action {
            super::Action::Other(row) => {
                let name = self.events.other_actions.get(usize::from(row)).copied();
                self.strings.get(name.unwrap_or(StringId(0)))
            }
            _ => "",
        })
    }
}
