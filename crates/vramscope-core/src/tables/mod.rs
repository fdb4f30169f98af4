//! A snapshot as flat tables for other programs: events, allocations, frames, stacks, annotations, segments,
//! blocks.
//!
//! A table is a list of [`Field`]s and a function that produces its rows one by one, or the values of each column, so a
//! million rows need no more memory than one. CSV and Parquet are made from the same values. Events are numbered from 1 on
//! each device, which is also the number of the moment that they begin. Allocations are numbered from 1 in stacking order,
//! stacks and frames by their position in the file. [`Value::None`] stands for unknown and absent values.
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
use std::ops::Range;

use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSites};
use crate::analysis::code::frames::clip;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::history::NEVER;
use crate::ids::{StackId, StringId};
use crate::model::{NO_TIME, PoolId, SegmentKind};

pub use csv::{append_csv, csv_header, csv_text};

/// Longest text written, in bytes. Longer texts are cut.
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
    /// The meaning of a value in a few words. Times of day have no unit; sizes are in bytes.
    pub meaning: &'static str,
}

impl Field {
    /// The name in formats with a type for times, where `time_us` is called `time`.
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
    /// Unknown or absent.
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
        time_us
            .and_then(known_time)
            .map_or(Self::None, Self::TimeUs)
    }

    /// The number of the event that begins a moment; [`Value::None`] before the recording and for "never".
    fn moment(moment: u32) -> Self {
        Self::number(known_moment(moment))
    }

    fn text(text: &'a str) -> Self {
        if text.is_empty() {
            Self::None
        } else {
            Self::Text(Cow::Borrowed(clip(text, TEXT_LIMIT_BYTES)))
        }
    }

    fn string(snapshot: &'a Snapshot, id: Option<StringId>) -> Self {
        Self::text(string(snapshot, id))
    }

    fn pool(pool: Option<PoolId>) -> Self {
        pool.map_or(Self::None, |_| Self::Text(pool_text(pool)))
    }

    fn site(sites: &'a CallSites, of: CallSiteId) -> Self {
        let known = sites.sites().get(of.index());
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
        Self::number(known_stack(stack))
    }
}

fn known_time(time_us: i64) -> Option<i64> {
    (time_us != NO_TIME).then_some(time_us)
}

fn known_moment(moment: u32) -> Option<i64> {
    (moment != 0 && moment != NEVER).then(|| moment.into())
}

fn known_stack(stack: StackId) -> Option<i64> {
    stack.has_frames().then(|| stack.0.into())
}

fn string(snapshot: &Snapshot, id: Option<StringId>) -> &str {
    id.map_or("", |id| snapshot.strings.get(id))
}

/// The region of `torch.compile`; empty for `N/A`, which means outside of all regions.
fn compile_context(snapshot: &Snapshot, id: Option<StringId>) -> &str {
    match string(snapshot, id) {
        "N/A" => "",
        region => region,
    }
}

/// A pool as text; empty if it is not known.
fn pool_text(pool: Option<PoolId>) -> Cow<'static, str> {
    match pool {
        None => Cow::Borrowed(""),
        // The pool of nearly all rows.
        Some(PoolId(0, 0)) => Cow::Borrowed("(0 0)"),
        Some(PoolId(a, b)) => Cow::Owned(format!("({a} {b})")),
    }
}

/// The text of a CSV cell, without quotes: numbers in full, addresses in hexadecimal, an empty text for missing values.
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
    /// Memory held from the device during the recording, in pieces.
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

    /// The meaning of a row in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Events => "an event, with what was live and reserved after it",
            Self::Allocations => "one life of an address, also if it began before the recording",
            Self::Frames => "a distinct frame",
            Self::Stacks => "a frame of a distinct stack",
            Self::Annotations => "a named range; its events are from_event < event <= to_event",
            Self::Segments => "a range of memory reserved from the device",
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

/// Receives one row. An error ends the table.
pub type Write<'w, E> = dyn FnMut(&[Value<'_>]) -> Result<(), E> + 'w;

/// Receives a piece of a table. An error ends the table.
pub type Take<'t, E> = dyn FnMut(Piece<'_, '_>) -> Result<(), E> + 't;

type TakeColumns<'t, E> = dyn FnMut(&Columns<'_>) -> Result<(), E> + 't;

/// The values of a column, by row from 0.
pub enum Cells<'c> {
    /// Values of any kind but text and flags; sizes and addresses are reinterpreted as signed.
    Integers(Cell<'c, Option<i64>>),
    /// Texts shared by rows.
    Texts(Texts<'c>),
    /// A separate text in every row.
    Made(Cell<'c, String>),
    /// See [`Kind::Flag`].
    Flags(Cell<'c, bool>),
}

/// Texts shared by rows. A row has no value if its text is empty, or if its number is not that of a text.
pub struct Texts<'c> {
    /// The texts, by number.
    pub all: Vec<&'c str>,
    /// The number of each row's text.
    pub of: Cell<'c, usize>,
}

/// A value by its row.
pub type Cell<'c, T> = Box<dyn Of<T> + 'c>;

/// The values of a column.
pub trait Of<T> {
    /// The value in a row.
    fn at(&self, row: usize) -> T;
    /// Appends the values of some rows, which is faster than one by one.
    fn append(&self, rows: Range<usize>, to: &mut Vec<T>);
}

impl<T, F: Fn(usize) -> T> Of<T> for F {
    fn at(&self, row: usize) -> T {
        self(row)
    }

    fn append(&self, rows: Range<usize>, to: &mut Vec<T>) {
        to.extend(rows.map(self));
    }
}

impl<'c> Cells<'c> {
    fn integers<T: Into<i64>>(of: impl Fn(usize) -> T + 'c) -> Self {
        Self::Integers(Box::new(move |row| Some(of(row).into())))
    }

    fn sizes(of: impl Fn(usize) -> u64 + 'c) -> Self {
        Self::Integers(Box::new(move |row| Some(of(row).cast_signed())))
    }

    fn maybe(of: impl Fn(usize) -> Option<i64> + 'c) -> Self {
        Self::Integers(Box::new(of))
    }

    fn texts(all: impl IntoIterator<Item = &'c str>, of: impl Fn(usize) -> usize + 'c) -> Self {
        let all = all.into_iter().map(|text| clip(text, TEXT_LIMIT_BYTES));
        Self::Texts(Texts {
            all: all.collect(),
            of: Box::new(of),
        })
    }

    fn made(of: impl Fn(usize) -> String + 'c) -> Self {
        Self::Made(Box::new(of))
    }

    fn flags(of: impl Fn(usize) -> bool + 'c) -> Self {
        Self::Flags(Box::new(of))
    }

    /// The value of a row in a column of this kind.
    #[must_use]
    pub fn value(&self, row: usize, kind: Kind) -> Value<'c> {
        match self {
            Self::Texts(texts) => Value::text(texts.all.get(texts.of.at(row)).unwrap_or(&"")),
            Self::Made(of) => Value::Text(Cow::Owned(of.at(row))),
            Self::Flags(of) => Value::Flag(of.at(row)),
            Self::Integers(of) => of.at(row).map_or(Value::None, |value| match kind {
                Kind::Bytes => Value::Bytes(value.cast_unsigned()),
                Kind::Address => Value::Address(value.cast_unsigned()),
                Kind::TimeUs => Value::TimeUs(value),
                Kind::Number | Kind::Text | Kind::Flag => Value::Number(value),
            }),
        }
    }
}

/// The rows of a device in a long table. Writing whole columns is several times as fast as single rows.
pub struct Columns<'c> {
    /// Number of rows.
    pub rows: usize,
    /// One for each field of [`Table::fields`].
    pub cells: Vec<Cells<'c>>,
}

impl Columns<'_> {
    /// Passes the rows of this table to `write`.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn for_each_row<E>(&self, table: Table, write: &mut Write<'_, E>) -> Result<(), E> {
        let kinds = table.fields().into_iter().map(|field| field.kind);
        let columns: Vec<_> = self.cells.iter().zip(kinds).collect();
        let mut values = Vec::with_capacity(columns.len());
        (0..self.rows).try_for_each(|row| {
            values.clear();
            values.extend(columns.iter().map(|(cells, kind)| cells.value(row, *kind)));
            write(&values)
        })
    }
}

/// A piece of a table.
pub enum Piece<'p, 'c> {
    /// A row: one value per field of [`Table::fields`].
    Row(&'p [Value<'c>]),
    /// All rows of a device.
    Columns(&'p Columns<'c>),
}

/// Passes `table` to `take`, one device of `devices` after the other: events and allocations in columns, others by row.
///
/// # Errors
/// The first error of `take`.
pub fn for_each_piece<E>(
    table: Table,
    recording: &Recording,
    devices: &[Device<'_>],
    take: &mut Take<'_, E>,
) -> Result<(), E> {
    let snapshot = &recording.snapshot;
    match table {
        Table::Frames => {
            return frames::frames(snapshot, recording.classes(), &mut |row| {
                take(Piece::Row(row))
            });
        }
        Table::Stacks => return frames::stacks(snapshot, &mut |row| take(Piece::Row(row))),
        _ => {}
    }
    for &device in devices {
        match table {
            Table::Events => events::columns(device, &mut |all| take(Piece::Columns(all)))?,
            Table::Allocations => {
                allocations::columns(device, &mut |all| take(Piece::Columns(all)))?;
            }
            Table::Annotations => annotations::rows(device, &mut |row| take(Piece::Row(row)))?,
            Table::Segments => segments::rows(device, &mut |row| take(Piece::Row(row)))?,
            Table::Blocks => blocks::rows(device, &mut |row| take(Piece::Row(row)))?,
            Table::Frames | Table::Stacks => {}
        }
    }
    Ok(())
}

/// Passes the rows of `table` to `write`, one device of `devices` after the other. Each row has one value per field of
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
    for_each_piece(table, recording, devices, &mut |piece| match piece {
        Piece::Row(values) => write(values),
        Piece::Columns(columns) => columns.for_each_row(table, write),
    })
}
