//! A snapshot as flat tables for other programs: events, allocations, frames, stacks, annotations, segments,
//! blocks.
//!
//! A table is a list of [`Field`]s and a function that hands out its rows one by one, so a million
//! rows need no more memory than one. CSV and Parquet are made from the same rows. Events are numbered from
//! 1 on each device, which is also the moment that they begin. Allocations are numbered from 1 in stacking
//! order, stacks and frames by their place in the file. [`Value::None`] stands for unknown and absent values.
//!
//! Pinned host memory is left out, because it belongs to no device.

mod allocations;
mod annotations;
mod blocks;
mod csv;
pub mod dataset;
mod events;
pub mod fleet;
mod frames;
mod segments;

use std::borrow::Cow;
use std::fmt;

use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::code::frames::clip;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::history::NEVER;
use crate::ids::{StackId, StringId};
use crate::model::{NO_TIME, PoolId, SegmentKind};

pub use csv::{append_csv, csv_header, csv_text};

/// Longest text written, in bytes. Longer ones are cut.
const TEXT_LIMIT_BYTES: usize = 4096;

/// The type of a column. Any value may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A count, a number or a signed handle.
    Number,
    /// A size in bytes.
    Bytes,
    /// A device address, which is a pattern of 64 bits.
    Address,
    /// µs since the Unix epoch.
    TimeUs,
    /// Text with few distinct values.
    Text,
    /// Yes or no.
    Flag,
}

/// A column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The name, which includes the unit if there is one.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// What a value says, in a few words. A time of day has no unit; sizes are bytes.
    pub meaning: &'static str,
}

impl Field {
    /// The name in formats with a type for times: `time_us` is `time` there.
    #[must_use]
    pub fn typed_name(&self) -> &'static str {
        match self.kind {
            Kind::TimeUs => self.name.trim_end_matches("_us"),
            _ => self.name,
        }
    }
}

const fn field(name: &'static str, kind: Kind, meaning: &'static str) -> Field {
    Field {
        name,
        kind,
        meaning,
    }
}

/// One value, of its column's [`Kind`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Not known, or not there.
    None,
    /// See [`Kind::Number`].
    Number(i64),
    /// See [`Kind::Bytes`].
    Bytes(u64),
    /// See [`Kind::Address`].
    Address(u64),
    /// See [`Kind::TimeUs`].
    TimeUs(i64),
    /// See [`Kind::Text`].
    Text(Cow<'a, str>),
    /// See [`Kind::Flag`].
    Flag(bool),
}

impl<'a> Value<'a> {
    fn number<T: Into<i64>>(number: Option<T>) -> Self {
        number.map_or(Self::None, |number| Self::Number(number.into()))
    }

    fn bytes(bytes: Option<u64>) -> Self {
        bytes.map_or(Self::None, Self::Bytes)
    }

    fn time(time_us: Option<i64>) -> Self {
        let known = time_us.filter(|&time| time != NO_TIME);
        known.map_or(Self::None, Self::TimeUs)
    }

    /// The number of the event that begins a moment; [`Value::None`] before the recording and for "never".
    fn moment(moment: u32) -> Self {
        Self::number((moment != 0 && moment != NEVER).then_some(moment))
    }

    /// A text; [`Value::None`] if it is empty.
    fn text(text: &'a str) -> Self {
        if text.is_empty() {
            Self::None
        } else {
            Self::Text(Cow::Borrowed(clip(text, TEXT_LIMIT_BYTES)))
        }
    }

    fn string(snapshot: &'a Snapshot, id: Option<StringId>) -> Self {
        Self::text(id.map_or("", |id| snapshot.strings.get(id)))
    }

    /// The region of `torch.compile`; [`Value::None`] for `N/A`, which means outside of all regions.
    fn compile_context(snapshot: &'a Snapshot, id: Option<StringId>) -> Self {
        match id.map_or("", |id| snapshot.strings.get(id)) {
            "N/A" => Self::None,
            region => Self::text(region),
        }
    }

    fn pool(pool: Option<PoolId>) -> Self {
        match pool {
            None => Self::None,
            // That of nearly all rows.
            Some(PoolId(0, 0)) => Self::Text(Cow::Borrowed("(0 0)")),
            Some(PoolId(a, b)) => Self::Text(Cow::Owned(format!("({a} {b})"))),
        }
    }

    fn site(sites: &'a CallSites, site: CallSiteId) -> Self {
        let known = sites.sites().get(site.index());
        Self::text(known.map_or("", |site| site.label.as_str()))
    }

    fn segment_kind(snapshot: &'a Snapshot, kind: Option<SegmentKind>) -> Self {
        match kind {
            None => Self::None,
            Some(SegmentKind::Small) => Self::text("small"),
            Some(SegmentKind::Large) => Self::text("large"),
            Some(SegmentKind::Other(name)) => Self::string(snapshot, Some(name)),
        }
    }

    fn stack(stack: StackId) -> Self {
        Self::number(stack.has_frames().then_some(stack.0))
    }
}

/// The text of a CSV cell, without quotes: numbers in full, addresses in hexadecimal, the empty text for missing
/// values.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(number) | Self::TimeUs(number) => write!(f, "{number}"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// The tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Table {
    /// The recorded events.
    Events,
    /// The allocations.
    Allocations,
    /// Distinct frames.
    Frames,
    /// The frames of each distinct stack.
    Stacks,
    /// Named ranges.
    Annotations,
    /// Memory held from CUDA during the recording, in pieces.
    Segments,
    /// The blocks of the segments at the end.
    Blocks,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 7] = [
        Self::Events,
        Self::Allocations,
        Self::Frames,
        Self::Stacks,
        Self::Annotations,
        Self::Segments,
        Self::Blocks,
    ];

    /// The name of the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Allocations => "allocations",
            Self::Frames => "frames",
            Self::Stacks => "stacks",
            Self::Annotations => "annotations",
            Self::Segments => "segments",
            Self::Blocks => "blocks",
        }
    }

    /// What a row is, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Events => "an event, with what was active and reserved after it",
            Self::Allocations => "one life of an address, also if it began before the recording",
            Self::Frames => "a distinct frame",
            Self::Stacks => "a frame of a distinct stack",
            Self::Annotations => "a named range; its events are from_event < event <= to_event",
            Self::Segments => "a range of memory reserved from CUDA",
            Self::Blocks => "a block of a segment at the end of the recording",
        }
    }

    /// Its columns.
    #[must_use]
    pub fn fields(self) -> Vec<Field> {
        match self {
            Self::Events => events::FIELDS.to_vec(),
            Self::Allocations => allocations::fields_of_table(),
            Self::Frames => frames::FIELDS.to_vec(),
            Self::Stacks => frames::STACK_FIELDS.to_vec(),
            Self::Annotations => annotations::FIELDS.to_vec(),
            Self::Segments => segments::FIELDS.to_vec(),
            Self::Blocks => blocks::FIELDS.to_vec(),
        }
    }
}

/// Receives one row. Its error ends the table.
pub type Write<'w, E> = dyn FnMut(&[Value<'_>]) -> Result<(), E> + 'w;

/// Hands the rows of `table` to `write`, one device of `devices` after the other. Each row has one value per field of
/// [`Table::fields`].
///
/// # Errors
/// The first error of `write`.
pub fn for_each_row<E>(
    table: Table,
    recording: &Recording,
    devices: &[Device<'_>],
    write: &mut Write<'_, E>,
) -> Result<(), E> {
    match table {
        Table::Frames => return frames::frames(&recording.snapshot, recording.classes(), write),
        Table::Stacks => return frames::stacks(&recording.snapshot, write),
        _ => {}
    }
    for &device in devices {
        match table {
            Table::Events => events::rows(device, write)?,
            Table::Allocations => allocations::rows(device, write)?,
            Table::Annotations => annotations::rows(device, write)?,
            Table::Segments => segments::rows(device, write)?,
            Table::Blocks => blocks::rows(device, write)?,
            Table::Frames | Table::Stacks => {}
        }
    }
    Ok(())
}
