//! A whole snapshot: all tables, and their origin.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{
    AnnotationTable, BlockTable, ContextTable, EventTable, FrameTable, SegmentTable, StackTable,
    Streams, StringTable, Warning, Warnings,
};
use crate::ids::{EventId, StringId};
use crate::sorting::SortFew;

/// A CUDA device index, as in `device_traces`.
pub type DeviceIndex = u32;

/// A container around the snapshot, or the snapshot's own encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerKind {
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// The first snapshot in a zip archive.
    Zip,
    /// A page written by torch's `trace_plot` and similar functions, or by `vramscope html`, with the snapshot embedded as
    /// base64.
    Html,
    /// A pickle of this protocol.
    Pickle(u8),
    /// JSON of the same schema.
    Json,
    /// Columns, as written by [`vram_format`](crate::vram_format). The entries after this one describe the file from which
    /// they were made.
    Packed,
}

impl fmt::Display for ContainerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gzip => f.write_str("gzip"),
            Self::Zstd => f.write_str("zstd"),
            Self::Zip => f.write_str("zip"),
            Self::Html => f.write_str("HTML"),
            Self::Pickle(protocol) => write!(f, "pickle protocol {protocol}"),
            Self::Json => f.write_str("JSON"),
            Self::Packed => f.write_str("packed"),
        }
    }
}

/// The origin of the snapshot's bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Source {
    /// The containers, the outermost first, and then the encoding.
    pub containers: Vec<ContainerKind>,
    /// Size of the file in bytes, containers included.
    pub file_bytes: u64,
    /// Size of the unwrapped pickle or JSON in bytes.
    pub decoded_bytes: u64,
}

/// The program that wrote the snapshot, inferred from the keys that it uses, because files state no version.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Producer {
    /// E.g. `torch 2.10-2.11`, `torch 2.15 or newer`, `torch.cuda.memory_snapshot()`, `_profile_to_snapshot`.
    pub name: String,
    /// The key that decided it, e.g. `user_metadata`.
    pub evidence: String,
}

impl Producer {
    /// The oldest possible torch, as major and minor version; `None` if unknown.
    #[must_use]
    pub fn oldest_torch(&self) -> Option<(u32, u32)> {
        let version = self.name.strip_prefix("torch ")?.split(' ').next()?;
        let (major, minor) = version.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// One decoded snapshot, frozen.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// Every distinct text.
    pub strings: StringTable,
    /// Every distinct frame.
    pub frames: FrameTable,
    /// Every distinct stack.
    pub stacks: StackTable,
    /// Every distinct combination of stream, pool and texts.
    pub contexts: ContextTable,
    /// The events of all devices and of the host.
    pub events: EventTable,
    /// By device index: the rows of its events, in order of time.
    pub traces: Vec<Range<u32>>,
    /// Rows of the pinned host memory's events (torch ≥ 2.14).
    pub host_trace: Range<u32>,
    /// Segments at the moment of the snapshot.
    pub segments: SegmentTable,
    /// Segments of pinned host memory (torch ≥ 2.14).
    pub host_segments: SegmentTable,
    /// Blocks of `segments` and `host_segments`.
    pub blocks: BlockTable,
    /// Marks of named ranges.
    pub annotations: AnnotationTable,
    /// `allocator_settings` unchanged; empty if the file has none.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Values of unknown keys at the top level.
    pub extras: serde_json::Map<String, serde_json::Value>,
    /// The keys that the file uses, by kind of record.
    pub keys: KeysSeen,
    /// Its origin.
    pub source: Source,
    /// The program that wrote it.
    pub producer: Producer,
    /// Oddities of the file.
    pub warnings: Warnings,
}

impl Snapshot {
    /// The recorder's own data in a dry run; `None` for snapshots of a GPU.
    #[must_use]
    pub fn dry_run(&self) -> Option<&serde_json::Map<String, serde_json::Value>> {
        self.extras.get(DRY_RUN_KEY)?.as_object()
    }
}

/// The known keys that occurred in each kind of record, as a bit per [`Key`](crate::decode::Key).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeysSeen {
    /// Keys of the top-level dict; 0 if the top level is a list.
    pub top: u64,
    /// Keys of segments.
    pub segment: u64,
    /// Keys of blocks.
    pub block: u64,
    /// Keys of trace entries.
    pub event: u64,
}

pub(crate) const CAPTURE_KEY: &str = "capture";

/// The value of that key, if it names a tool, as in every captured snapshot.
pub(crate) fn capture_of(
    extras: &serde_json::Map<String, serde_json::Value>,
) -> Option<&serde_json::Map<String, serde_json::Value>> {
    let capture = extras.get(CAPTURE_KEY)?.as_object()?;
    capture.get("tool")?.is_string().then_some(capture)
}

/// The top-level key of snapshots that are cut out of a longer one.
pub(crate) const CUT_KEY: &str = "cut";

/// How a device's trace that was cut out of a longer one begins. In the file it is `before`, or `[before, carried]`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CutOff {
    /// Events that were cut off.
    pub(crate) before: u64,
    /// Events at the beginning that repeat what was live then, needed where there are no segments to show it.
    pub(crate) carried: u64,
}

/// How a device's trace begins; `None` if it is not cut.
pub(crate) fn cut_off(
    extras: &serde_json::Map<String, serde_json::Value>,
    device: DeviceIndex,
) -> Option<CutOff> {
    let known = extras.get(CUT_KEY)?.get(device.to_string())?;
    let number = |place: usize| known.get(place)?.as_u64();
    Some(match known.as_u64() {
        Some(before) => CutOff { before, carried: 0 },
        None => CutOff {
            before: number(0)?,
            carried: number(1)?,
        },
    })
}

/// Stores this for each device that is cut.
pub(crate) fn note_cut_off(
    extras: &mut serde_json::Map<String, serde_json::Value>,
    by_device: impl Iterator<Item = (DeviceIndex, Option<CutOff>)>,
) {
    let cut: serde_json::Map<String, serde_json::Value> = by_device
        .filter_map(|(device, cut)| {
            let value = match cut? {
                CutOff { before, carried: 0 } => before.into(),
                CutOff { before, carried } => vec![before, carried].into(),
            };
            Some((device.to_string(), value))
        })
        .collect();
    extras.remove(CUT_KEY);
    if !cut.is_empty() {
        extras.insert(CUT_KEY.to_owned(), cut.into());
    }
}

/// The top-level key of snapshots of a dry run, a dict.
pub(crate) const DRY_RUN_KEY: &str = "dry_run";

/// The top-level key of snapshots that were written from a damaged file.
pub(crate) const DAMAGE_KEY: &str = "damage";

/// The value of that key: the damage of that file, without kinds that are unknown to this version. `None` unless it is a
/// list.
pub(crate) fn damage_of(value: &serde_json::Value) -> Option<Vec<Warning>> {
    let listed = value.as_array()?.iter();
    let known = listed.filter_map(|warning| Warning::deserialize(warning).ok());
    Some(known.filter(|warning| warning.kind.is_damage()).collect())
}

impl Snapshot {
    /// The devices that have a trace entry or a segment, ascending. If there are none, the devices with an (empty)
    /// trace.
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
        devices.sort_few_by(Ord::cmp);
        devices.dedup();
        if devices.is_empty() {
            devices.extend(0..self.traces.len() as u32);
        }
        devices
    }

    /// The streams, numbered in order of first appearance, in traces, in segments and then in annotations.
    #[must_use]
    pub fn streams(&self) -> Streams {
        let of_events = self.contexts.rows().iter().map(|context| context.stream);
        let of_segments = self.segments.rows.iter().filter_map(|row| row.stream);
        let of_annotations = self.annotations.rows.iter().filter_map(|row| row.stream);
        let handles = of_events.chain(of_segments).chain(of_annotations);
        Streams::of(handles, &self.extras)
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
